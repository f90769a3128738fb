// The selection of the k-th smallest, which every bound over sets of neighbours needs, and of the worst costs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/settings.hpp"

namespace whence {

// Reorder the values so that the `m` smallest of them come first. Their order depends on the values alone, so that sums
// over them are the same everywhere; std::nth_element leaves it to the library.
inline void smallest_first(std::span<double> values, std::ptrdiff_t m) {
    const auto count = static_cast<std::ptrdiff_t>(values.size());
    if (m <= 0 || m >= count) return;
    double* const v = values.data();
    std::ptrdiff_t left = 0, right = count - 1;
    while (left < right) {
        const double pivot = v[(left + right) / 2];
        std::ptrdiff_t i = left, j = right;
        while (i <= j) {
            while (v[i] < pivot) ++i;
            while (v[j] > pivot) --j;
            if (i <= j) std::swap(v[i++], v[j--]);
        }
        if (m - 1 <= j) {
            right = j;
        } else if (m - 1 >= i) {
            left = i;
        } else {
            return;
        }
    }
}

// The m-th smallest value and the next one; infinite where there is none.
struct Boundary {
    double last = -kInfinity;
    double following = kInfinity;
};

// The boundary behind the `m` smallest values, which are reordered.
inline Boundary boundary(std::span<double> values, std::ptrdiff_t m) {
    smallest_first(values, m);
    Boundary found;
    const auto count = static_cast<std::ptrdiff_t>(values.size());
    for (std::ptrdiff_t i = 0; i < std::min(m, count); ++i) found.last = std::max(found.last, values[i]);
    for (std::ptrdiff_t i = std::max<std::ptrdiff_t>(m, 0); i < count; ++i) {
        found.following = std::min(found.following, values[i]);
    }
    return found;
}

// The mean of the worst costs, and where they begin.
struct Tail {
    double mean, begin;
};

// The worst of some costs, each with its weight, that have so much weight together; they are sorted.
inline Tail worst_of(std::vector<std::pair<double, double>>& costs, double weight) {
    std::ranges::sort(costs, std::ranges::greater{});
    double left = weight, total = 0.0, begin = costs.empty() ? 0.0 : costs.front().first;
    for (const auto& [cost, own] : costs) {
        const double part = std::min(left, own);
        begin = cost;
        total += part * cost;
        left -= part;
        if (left <= 0.0) break;
    }
    return {total / (weight - std::max(left, 0.0)), begin};
}

}  // namespace whence
