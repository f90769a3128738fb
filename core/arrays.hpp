// Arrays at the border to Python. Only contiguous arrays of exactly these types come in: nanobind would otherwise make a
// silent copy of another type, and an output would be lost in it. Declare every such argument with ``.noconvert()``.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace whence {

template <class T>
using Vector = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
template <class T>
using Matrix = nanobind::ndarray<const T, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

template <class Array>
auto span_of(const Array& array) {
    return std::span(array.data(), array.size());
}

template <class Array>
auto vector_of(const Array& array) {
    using Number = std::remove_const_t<typename Array::Scalar>;
    return std::vector<Number>(array.data(), array.data() + array.size());
}

// A numpy array that owns a copy of the numbers.
template <class T>
nanobind::object numpy_of(const std::vector<T>& numbers) {
    auto* copy = new std::vector<T>(numbers);
    nanobind::capsule owner(copy, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nanobind::cast(nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(copy->data(), {copy->size()}, owner));
}

// The same for rows of `columns` numbers.
template <class T>
nanobind::object numpy_rows_of(const std::vector<T>& numbers, std::size_t columns) {
    auto* copy = new std::vector<T>(numbers);
    nanobind::capsule owner(copy, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    const std::size_t rows = columns == 0 ? 0 : copy->size() / columns;
    return nanobind::cast(nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<2>>(copy->data(), {rows, columns}, owner));
}

}  // namespace whence
