// What several boxes share, and how much memory all of it takes.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace whence {

// Counts the bytes of what it has made, until nobody holds it any more.
class Counted {
public:
    template <class T>
    std::shared_ptr<const T> make(T value, std::size_t bytes) const {
        *bytes_ += bytes + sizeof(T);
        // Whoever holds it last may outlive the counter.
        return {new T(std::move(value)), [count = bytes_, bytes](const T* made) {
                    delete made;
                    *count -= bytes + sizeof(T);
                }};
    }
    template <class Number>
    std::shared_ptr<const std::vector<Number>> make(std::vector<Number> numbers) const {
        const std::size_t bytes = numbers.capacity() * sizeof(Number);
        return make<std::vector<Number>>(std::move(numbers), bytes);
    }

    std::size_t bytes() const { return *bytes_; }

private:
    std::shared_ptr<std::atomic<std::size_t>> bytes_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace whence
