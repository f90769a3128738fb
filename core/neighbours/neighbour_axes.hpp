// The axes of a nearest-neighbour question, one a number and one a category, and boxes along them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace whence::neighbours {

struct Interval {
    double low, high;
};

enum class Kind { continuous, discrete, category };

// An open interval between allowed values that is not allowed itself.
struct Gap {
    double low, high;

    bool inside(double from, double to) const { return from <= low && high <= to; }
};

// An axis that can move, along a line or round a circle. A category axis holds the rank of the category by the cost of
// changing to it, so that every part of the space is a product of intervals.
struct Axis {
    Kind kind;
    double start;   // the initial context
    double weight;  // of a unit of distance
    double lower, upper;
    std::vector<Gap> gaps;       // of a continuous axis, ascending
    std::vector<double> levels;  // allowed values of a discrete axis, ascending
    std::vector<double> costs;   // of every category, ascending
    double period = 0.0;         // after which a number begins again: distances are the short way round; 0 for none

    // How far two values are apart.
    double apart(double x, double y) const {
        const double far = std::abs(x - y);
        return period > 0.0 ? std::min(far, std::abs(period - far)) : far;
    }
    // A value as it is seen from an interval: of what goes round, the one of its copies that is nearest to the middle.
    double seen(double x, double low, double high) const {
        return period > 0.0 ? x + period * std::round((0.5 * (low + high) - x) / period) : x;
    }
    // Whether the value opposite of one that is seen from an interval lies inside: distances from it rise, then fall.
    bool turns(double x, double low, double high) const {
        const double other = period > 0.0 ? opposite(x, low, high) : low;
        return low < other && other < high;
    }
    // The value opposite of it that is nearest to the interval's middle.
    double opposite(double x, double low, double high) const { return seen(x + 0.5 * period, low, high); }
    // Least and largest distance of a value from an interval, and its distance from `at`, which lies inside.
    struct Reach {
        double at, near, far;
    };
    Reach reach(double x, double low, double high, double at) const {
        if (period > 0.0) return reach_round(x, low, high, at);
        return {std::abs(at - x), std::max(std::max(low - x, x - high), 0.0), std::max(x - low, high - x)};
    }
    // Distance of a number from the start.
    double far(double x) const { return weight * std::abs(x - start); }

private:
    Reach reach_round(double x, double low, double high, double at) const;
};

struct Space;

struct Box {
    std::vector<double> low, high;
    std::vector<double> nearest;  // its context nearest to the start
    std::vector<char> charged;    // of each axis, whether it counts as changed; empty where that does not matter

    explicit Box(int dimension) : low(dimension), high(dimension), nearest(dimension) {}

    int dimension() const { return static_cast<int>(low.size()); }
    bool moves(int axis) const { return low[axis] < high[axis]; }
    bool has_open_category(const std::vector<Axis>& axes) const {
        for (int j = 0; j < dimension(); ++j)
            if (axes[j].kind == Kind::category && moves(j)) return true;
        return false;
    }
    bool is_a_point() const { return low == high; }
    bool narrower_than(double width) const {
        for (std::size_t j = 0; j < low.size(); ++j) {
            if (high[j] - low[j] >= width) return false;
        }
        return true;
    }
    // Let every end be an allowed value; false where nothing allowed is left.
    bool settle(const Space& space);
    // Find the nearest context; its distance.
    double project(const Space& space);
    // Cut the box to the ball of contexts at most `room` farther than the nearest one; the largest change of a numeric
    // distance inside the ball.
    double shrink(const Space& space, double room);
};

// Where a box is split: the upper end of the lower part and the lower end of the upper part; no axis where no split
// makes more of it linear.
struct Split {
    int axis = -1;
    double below = 0.0, above = 0.0;
};

// Split an axis behind a value; an axis with levels, between two of them.
Split split_beyond(const Space& space, int axis, double value);

}  // namespace whence::neighbours
