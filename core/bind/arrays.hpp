// Arrays between numpy and the core: taken only as they are, since a silent copy would lose what is written to it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "bind/bindings.hpp"

namespace whence::arrays {

namespace nb = nanobind;

template <class T>
using VectorOf = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using MatrixOf = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

using Vector = VectorOf<double>;
using Matrix = MatrixOf<double>;
using Ints = VectorOf<std::int64_t>;
using WritableVector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Array>
auto view(const Array& array) {
    return std::span(array.data(), array.size());
}

template <class Array>
auto copied(const Array& array) {
    return std::vector<std::remove_const_t<typename Array::Scalar>>(array.data(), array.data() + array.size());
}

[[noreturn]] inline void refuse(const std::string& sentence) { throw nb::value_error(sentence.c_str()); }

inline void require(bool holds, const std::string& sentence) {
    if (!holds) refuse(sentence);
}

inline void require(bool holds, const char* sentence) {
    if (!holds) refuse(sentence);
}

template <class Array>
void require_size(const Array& array, std::size_t size, const char* name) {
    if (array.size() != size) {
        refuse("The '" + std::string(name) + "' array must hold " + std::to_string(size) + " entries. Got " +
               std::to_string(array.size()) + " instead.");
    }
}

template <class Array>
void require_finite(const Array& array, const char* name) {
    for (std::size_t i = 0; i < array.size(); ++i) {
        require(std::isfinite(array.data()[i]), "The '" + std::string(name) + "' array must be finite.");
    }
}

// A new numpy array with these values.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(const T* values, std::size_t size) {
    T* const data = new T[size];
    for (std::size_t i = 0; i < size; ++i) data[i] = values[i];
    nb::capsule owner(data, [](void* memory) noexcept { delete[] static_cast<T*>(memory); });
    return {data, {size}, owner};
}

inline auto to_numpy(const std::vector<double>& values) { return to_numpy(values.data(), values.size()); }

inline auto to_numpy(const std::vector<int>& values) {
    const std::vector<std::int64_t> wide(values.begin(), values.end());
    return to_numpy(wide.data(), wide.size());
}

// The same in rows of `columns` numbers each.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<2>> to_numpy_rows(const std::vector<T>& values, std::size_t columns) {
    T* const data = new T[values.size()];
    std::copy(values.begin(), values.end(), data);
    nb::capsule owner(data, [](void* memory) noexcept { delete[] static_cast<T*>(memory); });
    return {data, {columns == 0 ? 0 : values.size() / columns, columns}, owner};
}

}  // namespace whence::arrays
