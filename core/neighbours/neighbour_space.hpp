// The space of a nearest-neighbour question, and where boxes in it are split.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "base/settings.hpp"
#include "neighbours/neighbour_axes.hpp"
#include "neighbours/neighbour_rules.hpp"
#include "neighbours/neighbour_scores.hpp"

namespace whence::neighbours {

struct Space {
    std::vector<Axis> axes;
    std::vector<double> points;  // past contexts along the axes, one row each
    std::vector<double> base;    // their distance along the coordinates that cannot move
    int k;                       // number of neighbours
    double separation;           // least gap behind the k-th neighbour
    double margin;               // the slightly larger one that contexts are placed with
    double widest;               // largest distance of the k-th neighbour that counts; infinite for any
    Rules rules = {};            // which contexts can exist
    double apart = 1.0;          // distance of two categories
    Scores scores = {};          // where neighbours are found by squared distances: what stands for these
    Places places = {};          // and where these distances themselves matter: what they are taken between

    int size() const { return static_cast<int>(base.size()); }
    int dimension() const { return static_cast<int>(axes.size()); }
    // Whether neighbours may be too far away to count.
    bool limited() const { return widest < kInfinity; }
    // Whether scores stand for distances.
    bool linear() const { return !scores.empty(); }
    // Distance of a member from a context along the axes, or its score.
    double distance(int member, std::span<const double> context) const;
    // Whether distances from some of the members rise and fall again along an axis of the box.
    bool turns(const Box& box, const std::vector<int>& members) const;
    const double* point(int member) const { return points.data() + static_cast<std::size_t>(member) * axes.size(); }
};

// The smallest interval that holds the allowed values of an axis between `low` and `high`; levels may miss them by a
// hair.
inline Interval allowed_interval(const Axis& axis, double low, double high, double hair) {
    if (axis.kind == Kind::discrete) {
        const auto first = std::ranges::lower_bound(axis.levels, low - hair);
        const auto last = std::ranges::upper_bound(axis.levels, high + hair);
        return first < last ? Interval{*first, *(last - 1)} : Interval{kInfinity, -kInfinity};
    }
    for (const Gap& gap : axis.gaps) {
        if (gap.low < low && low < gap.high) low = gap.high;
        if (gap.low < high && high < gap.high) high = gap.low;
    }
    return {low, high};
}

// The two neighbouring levels of a discrete axis around the middle.
inline Split split_levels(const Axis& axis, int j, double low, double high) {
    const double middle = 0.5 * (low + high);
    double below = low, above = high;
    const auto beyond = std::ranges::upper_bound(axis.levels, middle);
    for (auto at = beyond == axis.levels.begin() ? beyond : beyond - 1; at != axis.levels.end() && at <= beyond; ++at) {
        if (low <= *at && *at < high && std::abs(*at - middle) < std::abs(below - middle)) below = *at;
    }
    const auto next = std::ranges::upper_bound(axis.levels, below);
    if (next != axis.levels.end() && *next < above) above = *next;
    return {j, below, above};
}

// The first gap of an axis that lies between `low` and `high`; null where none does.
inline const Gap* gap_between(const Axis& axis, double low, double high) {
    for (const Gap& gap : axis.gaps) {
        if (gap.inside(low, high)) return &gap;
    }
    return nullptr;
}

// Mean distance of the open members from their mean along an axis, inside the box.
inline double spread_along(const Space& space, int j, double low, double high, const std::vector<int>& open) {
    const double count = std::max<double>(static_cast<double>(open.size()), 1.0);
    double total = 0.0;
    const auto seen = [&](int member) {
        return std::clamp(space.axes[j].seen(space.point(member)[j], low, high), low, high);
    };
    for (const int member : open) total += seen(member);
    const double mean = total / count;
    total = 0.0;
    for (const int member : open) total += std::abs(seen(member) - mean);
    return total / count + 1e-9 * (high - low);
}

// The coordinate of an open member, or the one opposite of it, nearest to the middle of the box; `low` where none lies
// inside.
inline double middle_coordinate(const Space& space, int j, double low, double high, const std::vector<int>& open) {
    const double middle = 0.5 * (low + high);
    double cut = low;
    const auto offer = [&](double x) {
        if (low < x && x < high && std::abs(x - middle) < std::abs(cut - middle)) cut = x;
    };
    const Axis& axis = space.axes[j];
    for (const int member : open) {
        const double x = space.point(member)[j];
        offer(axis.seen(x, low, high));
        if (axis.period > 0.0) offer(axis.opposite(x, low, high));
    }
    return cut;
}

inline double Space::distance(int member, std::span<const double> context) const {
    if (linear()) return base[member] + scores.along(axes, member, context);
    const double* const x = point(member);
    double total = base[member];
    for (int j = 0; j < dimension(); ++j) {
        total += axes[j].kind == Kind::category ? (x[j] == context[j] ? 0.0 : apart) : axes[j].apart(x[j], context[j]);
    }
    return total;
}

inline Axis::Reach Axis::reach_round(double x, double low, double high, double at) const {
    const double copy = seen(x, low, high);
    const bool inside = low <= copy && copy <= high;
    const double near = inside ? 0.0 : std::min(apart(x, low), apart(x, high));
    const double far = turns(x, low, high) ? 0.5 * period : std::max(apart(x, low), apart(x, high));
    return {apart(x, at), near, far};
}

inline bool Space::turns(const Box& box, const std::vector<int>& members) const {
    for (int j = 0; j < dimension(); ++j) {
        if (axes[j].period <= 0.0 || !box.moves(j)) continue;
        for (const int member : members) {
            if (axes[j].turns(point(member)[j], box.low[j], box.high[j])) return true;
        }
    }
    return false;
}

inline bool Box::settle(const Space& space) {
    for (int j = 0; j < dimension(); ++j) {
        if (low[j] > high[j]) return false;
        if (space.axes[j].kind == Kind::category) continue;
        const Interval left = allowed_interval(space.axes[j], low[j], high[j], 0.0);
        if (left.low > left.high) return false;
        low[j] = left.low;
        high[j] = left.high;
    }
    return true;
}

inline double Box::project(const Space& space) {
    double distance = 0.0;
    for (int j = 0; j < dimension(); ++j) {
        const Axis& axis = space.axes[j];
        if (axis.kind == Kind::category) {
            nearest[j] = low[j];
            distance += axis.costs[static_cast<std::size_t>(low[j])];
        } else {
            nearest[j] = std::clamp(axis.start, low[j], high[j]);
            distance += axis.far(nearest[j]);
        }
    }
    return distance;
}

inline double Box::shrink(const Space& space, double room) {
    double lightest = kInfinity;
    for (int j = 0; j < dimension(); ++j) {
        const Axis& axis = space.axes[j];
        if (axis.kind == Kind::category) {
            const double limit = axis.costs[static_cast<std::size_t>(low[j])] + room + kRounding.hair;
            while (high[j] > low[j] && axis.costs[static_cast<std::size_t>(high[j])] > limit) high[j] -= 1.0;
        } else if (moves(j)) {
            const double reach = room / axis.weight + kRounding.hair;
            const Interval left = allowed_interval(axis, std::max(low[j], nearest[j] - reach),
                                                   std::min(high[j], nearest[j] + reach), kRounding.hair);
            // The allowance is for the ball alone: a box must not grow back to a value that was split off from it.
            low[j] = std::max(low[j], left.low);
            high[j] = std::min(high[j], left.high);
            if (moves(j)) lightest = std::min(lightest, axis.weight);
        }
    }
    return room / lightest + kRounding.hair;
}

inline Split split_beyond(const Space& space, int j, double value) {
    const Axis& axis = space.axes[j];
    if (axis.kind != Kind::discrete) return {j, value, std::nextafter(value, kInfinity)};
    const auto next = std::ranges::upper_bound(axis.levels, value);
    return {j, *(next - 1), *next};
}

inline Split choose_split(const Space& space, const Box& box, const std::vector<int>& open) {
    Split best;
    double widest = 0.0;
    for (int j = 0; j < box.dimension(); ++j) {
        const Axis& axis = space.axes[j];
        const double low = box.low[j], high = box.high[j];
        if (low == high) continue;
        if (axis.kind == Kind::category) {
            if (widest < 1.0) {
                const double cut = low == 0.0 ? low : std::floor(0.5 * (low + high));
                best = {j, cut, cut + 1.0};
                widest = 1.0;
            }
            continue;
        }
        const double width = spread_along(space, j, low, high, open);
        if (width <= widest) continue;
        if (axis.kind == Kind::discrete) {
            best = split_levels(axis, j, low, high);
            widest = width;
        } else if (const Gap* gap = gap_between(axis, low, high); gap != nullptr) {
            best = {j, gap->low, gap->high};
            widest = width;
        } else if (const double cut = middle_coordinate(space, j, low, high, open); cut > low) {
            best = {j, cut, cut};
            widest = width;
        }
    }
    return best;
}

// By how much the scores of open members vary along an axis of the box: the mean, and the most.
struct Variation {
    double mean, most;
};

inline Variation variation_along(const Space& space, const Box& box, int j, const std::vector<int>& open,
                                 double mean_slope) {
    Variation found{0.0, 0.0};
    for (const int member : open) {
        double varies;
        if (space.axes[j].kind == Kind::category) {
            const Interval adds = space.scores.span(member, j, box.low[j], box.high[j]);
            varies = adds.high - adds.low;
        } else {
            varies = std::abs(space.scores.slopes(member)[j] - mean_slope) * (box.high[j] - box.low[j]);
        }
        found.mean += varies;
        found.most = std::max(found.most, varies);
    }
    found.mean /= std::max<double>(static_cast<double>(open.size()), 1.0);
    return found;
}

// The same where scores stand for distances, which are linear as they are: where these vary most, less the mean slopes.
// No axis where they vary too little to set any two members apart.
inline Split choose_linear_split(const Space& space, const Box& box, const std::vector<int>& open,
                                 const std::vector<double>& mean) {
    Split best;
    double widest = -1.0, most = 0.0;
    bool category = false;
    for (int j = 0; j < box.dimension(); ++j) {
        if (!box.moves(j)) continue;
        const Axis& axis = space.axes[j];
        const double low = box.low[j], high = box.high[j];
        const Variation varies = variation_along(space, box, j, open, mean[j]);
        most += varies.most;
        category = category || axis.kind == Kind::category;
        // A box too narrow for a middle is not split there.
        const double middle = 0.5 * (low + high);
        if (varies.mean <= widest || (axis.kind == Kind::continuous && !(low < middle && middle < high))) continue;
        widest = varies.mean;
        const Gap* const gap = axis.kind == Kind::continuous ? gap_between(axis, low, high) : nullptr;
        if (axis.kind == Kind::category) {
            const double cut = low == 0.0 ? low : std::floor(middle);
            best = {j, cut, cut + 1.0};
        } else if (axis.kind == Kind::discrete) {
            best = split_levels(axis, j, low, high);
        } else {
            best = gap != nullptr ? Split{j, gap->low, gap->high} : Split{j, middle, middle};
        }
    }
    return !category && most < kSettings.contexts.still * space.separation ? Split{} : best;
}

// Split the widest continuous axis in the middle.
inline Split halves(const Space& space, const Box& box) {
    Split found{0, 0.0, 0.0};
    double widest = 0.0;
    for (int j = 0; j < box.dimension(); ++j) {
        if (space.axes[j].kind == Kind::continuous && box.high[j] - box.low[j] > widest) {
            found.axis = j;
            widest = box.high[j] - box.low[j];
        }
    }
    found.below = found.above = 0.5 * (box.low[found.axis] + box.high[found.axis]);
    return found;
}

}  // namespace whence::neighbours
