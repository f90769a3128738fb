// The smallest value among the leaves of each tree, and its sum over trees: what every bound over a box is made of.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/numbers.hpp"
#include "forest/reach.hpp"

namespace whence {

// The smallest value so far and the leaf that has it; none at first.
struct Least {
    double value = kInfinity;
    std::int32_t leaf = -1;

    void take(double other, std::int32_t of) {
        if (other < value) {
            value = other;
            leaf = of;
        }
    }
};

// The lowest and the highest value so far.
struct Extent {
    double low = kInfinity, high = -kInfinity;

    bool empty() const { return low > high; }
    void take(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
};

// Sum over the trees first..last - 1 of the smallest `value(tree, leaf)` among the reached leaves. The leaves that
// attain it go to `best`, where nothing changes for a tree without any.
template <class Value>
double least_sum(const Reach& reach, std::int32_t first, std::int32_t last, Value value, Leaves& best) {
    double total = 0.0;
    for (std::int32_t t = first; t < last; ++t) {
        Least least;
        reach.each(t, [&](std::int32_t leaf) { least.take(value(t, leaf), leaf); });
        if (least.leaf >= 0) best[t] = least.leaf;
        total += least.value;
    }
    return total;
}

// Drop the leaves that would use up more than the slack if all other trees took their best.
template <class Value>
void drop_dear(Reach& reach, std::int32_t first, std::int32_t last, Value value, const Leaves& best, double slack) {
    for (std::int32_t t = first; t < last; ++t) {
        const double most = value(t, best[t]) + slack;
        reach.drop(t, [&](std::int32_t leaf) { return value(t, leaf) > most; });
    }
}

// The same sum over listed leaves, of `value(i)` for the i-th of them; of tree t it goes to `least(t)`, with its place.
template <class Value, class Use>
double least_sum(const ListedLeaves& listed, Value value, Use least) {
    double total = 0.0;
    for (std::int32_t t = 0; t < listed.trees(); ++t) {
        Least own;
        for (std::int32_t i = listed.from[t]; i < listed.from[t + 1]; ++i) own.take(value(i), i);
        least(t, own);
        total += own.value;
    }
    return total;
}

}  // namespace whence
