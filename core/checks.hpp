// What arguments from Python must satisfy; a ValueError with one sentence where they do not.
#pragma once

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace whence {

inline void require(bool holds, const char* sentence) {
    if (!holds) throw std::invalid_argument(sentence);
}

template <class Array>
void require_size(const Array& array, std::size_t size, const char* name) {
    if (array.size() == size) return;
    throw std::invalid_argument("'" + std::string(name) + "' must hold " + std::to_string(size) + " entries. Got " +
                                std::to_string(array.size()) + " instead.");
}

template <class Array>
void require_finite(const Array& array, const char* name) {
    for (std::size_t i = 0; i < array.size(); ++i) {
        if (!std::isfinite(array.data()[i])) throw std::invalid_argument("'" + std::string(name) + "' must be finite.");
    }
}

}  // namespace whence
