// Arrays between numpy and the core: taken only as they are, since a silent copy would lose what is written to it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace whence::arrays {

namespace nb = nanobind;

template <class T>
using VectorOf = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using MatrixOf = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

using Vector = VectorOf<double>;
using Matrix = MatrixOf<double>;
using Ints = VectorOf<std::int64_t>;
using Integers = VectorOf<std::int32_t>;
using WritableVector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Array>
auto view(const Array& array) {
    return std::span(array.data(), array.size());
}

template <class Array>
auto copied(const Array& array) {
    return std::vector<std::remove_const_t<typename Array::Scalar>>(array.data(), array.data() + array.size());
}

template <class Array>
auto copied(const std::optional<Array>& array) {
    return array ? copied(*array) : decltype(copied(*array))();
}

// An argument that is an array, which is never converted.
inline auto operator""_array(const char* name, std::size_t) { return nb::arg(name).noconvert(); }

inline void require(bool holds, const char* sentence) {
    if (!holds) throw nb::value_error(sentence);
}
inline void require(bool holds, const std::string& sentence) { require(holds, sentence.c_str()); }

// Arrays, each followed by its name.
template <class Array, class... More>
void require_sizes(std::size_t size, const Array& array, const char* name, const More&... more) {
    if (array.size() != size)
        require(false, "The '" + std::string(name) + "' array must hold " + std::to_string(size) + " entries. Got " +
                           std::to_string(array.size()) + " instead.");
    if constexpr (sizeof...(more) > 0) require_sizes(size, more...);
}
template <class Array, class... More>
void require_finite(const Array& array, const char* name, const More&... more) {
    for (const auto number : view(array))
        if (!std::isfinite(number)) require(false, "The '" + std::string(name) + "' array must be finite.");
    if constexpr (sizeof...(more) > 0) require_finite(more...);
}
// Every number of an array must be one of 0, 1, ..., count - 1.
template <class Array, class Count>
void require_below(const Array& array, Count count, const char* sentence) {
    for (const auto number : view(array))
        require(number >= 0 && static_cast<std::int64_t>(number) < static_cast<std::int64_t>(count), sentence);
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

// A property that is a new array: nanobind would otherwise tie it to its object.
template <class T>
nb::object array_of(const std::vector<T>& numbers) {
    return nb::cast(to_numpy(numbers.data(), numbers.size()));
}
// The property of a class that is a list of numbers, or makes one.
template <class Class, class Member>
auto as_array(Member Class::* member) {
    return [member](const Class& self) { return array_of(std::invoke(member, self)); };
}

}  // namespace whence::arrays
