// Room for many numbers, not set to anything. Where the system can, it comes in large pages: small ones are handed out
// one by one, at about a microsecond each, and numbers that are read here and there are found more slowly in them.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace whence {

struct FreeArray {
    void operator()(void* memory) const { std::free(memory); }
};

template <class Number>
using LargeArray = std::unique_ptr<Number[], FreeArray>;

template <class Number>
LargeArray<Number> large_array(std::size_t count) {
    constexpr std::size_t kPage = std::size_t{1} << 21;
    const std::size_t bytes = count * sizeof(Number) + 1;
    void* memory = nullptr;
#ifdef __linux__
    if (bytes >= 2 * kPage) {
        const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
        memory = std::aligned_alloc(kPage, whole);
        if (memory != nullptr) madvise(memory, whole, MADV_HUGEPAGE);  // advice: nothing is lost without
    } else
#endif
        memory = std::malloc(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return LargeArray<Number>(static_cast<Number*>(memory));
}

}  // namespace whence
