// How far a value is along its axis, where that is not simply the value itself: the share of the past that it has
// passed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/numbers.hpp"

namespace whence::neighbours {

// A rising function, linear between knots that span the axis; without knots, the value itself.
struct Curve {
    std::vector<double> at, passed;  // the knots, both ascending

    bool empty() const { return at.empty(); }

    double operator()(double x) const { return empty() ? x : between(at, passed, x); }
    // The value that is so far along.
    double back(double along) const { return empty() ? along : between(passed, at, along); }
    // The least slope in an interval; of what lies between two knots, the slope there, wherever the interval ends.
    double slope(double low, double high) const {
        if (empty()) return 1.0;
        double least = kInfinity;
        std::size_t i = segment(at, low);
        do {
            least = std::min(least, (passed[i + 1] - passed[i]) / (at[i + 1] - at[i]));
        } while (++i + 1 < at.size() && at[i] < high);
        return least;
    }
    // Whether a knot lies strictly inside an interval.
    bool bends(double low, double high) const {
        const auto beyond = std::ranges::upper_bound(at, low);
        return beyond != at.end() && *beyond < high;
    }
    // The knot inside an interval that bends which is nearest to the middle.
    double middle(double low, double high) const {
        const double half = 0.5 * (low + high);
        const auto beyond = std::ranges::upper_bound(at, half);
        double found = low;
        for (auto knot = beyond == at.begin() ? beyond : beyond - 1; knot != at.end() && knot <= beyond; ++knot) {
            if (low < *knot && *knot < high && std::abs(*knot - half) < std::abs(found - half)) found = *knot;
        }
        return found;
    }

private:
    // The knots i and i + 1 that a value lies between.
    static std::size_t segment(const std::vector<double>& knots, double x) {
        const auto beyond = std::ranges::upper_bound(knots, x) - knots.begin();
        return static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(beyond - 1, 0, std::ssize(knots) - 2));
    }
    static double between(const std::vector<double>& from, const std::vector<double>& to, double x) {
        const std::size_t i = segment(from, x);
        const double share = (x - from[i]) / (from[i + 1] - from[i]);
        return to[i] + std::clamp(share, 0.0, 1.0) * (to[i + 1] - to[i]);
    }
};

}  // namespace whence::neighbours
