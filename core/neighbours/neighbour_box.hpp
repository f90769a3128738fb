// One box of contexts: which past contexts are surely among the k nearest there, and which surely are not.
//
// A box is examined inside the ball that is still of interest: contexts at most `room` farther from the start than the
// box's nearest one. Relations hold with the separation: if b cannot be nearer than a by the separation anywhere in the
// box, then b being a neighbour implies that a is one.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/select.hpp"
#include "base/settings.hpp"
#include "neighbours/neighbour_criterion.hpp"
#include "neighbours/neighbour_pairs.hpp"
#include "neighbours/neighbour_space.hpp"

namespace whence::neighbours {

// The boundary behind the `need` smallest of the first values, which stay as they are.
inline Boundary boundary_of(const std::vector<double>& values, std::size_t count, int need,
                            std::vector<double>& buffer) {
    std::copy_n(values.begin(), count, buffer.begin());
    return boundary(std::span(buffer).first(count), need);
}

// Past contexts in a box: those that are neighbours everywhere in it, and those that may be.
struct MemberSets {
    std::vector<int> settled, open;
};

enum class Verdict {
    pruned,    // it holds no explanation
    feasible,  // its nearest context is one
    split,     // undecided
    leaf,      // undecided, and no split makes more of it linear
};

class Examiner {
public:
    explicit Examiner(const Space& space)
        : box(space.dimension()),
          here(space.size()),
          buffer(space.size() + space.k + 2),
          space_(space),
          pairs_(space.dimension()),
          number_(space.size()),
          near_(space.size()),
          far_(space.size()) {
        for (auto* list : {&sets.settled, &sets.open, &chosen, &undecided}) list->reserve(space.size() + space.k);
    }

    // Examine `box` with the members in `sets`, up to `radius`; both are left as small as they have become.
    Verdict examine(const Criterion& criterion, double radius) {
        if (!space_.rules.empty() && !space_.rules.narrow(space_, box)) return Verdict::pruned;
        distance = box.project(space_);
        if (radius < distance) return Verdict::pruned;
        // How far distances may get inside the ball, or the room that it has where scores stand for them.
        double reach = box.shrink(space_, radius - distance);
        if (space_.linear()) {
            reach = radius - distance;
            space_.scores.mean(sets.open, mean);
        }
        if (!measure(reach) || !settle_by_intervals()) return Verdict::pruned;
        if (sets.open.size() <= Pairs::kMost) {
            if (space_.linear())
                pairs_.compare_scores(space_, box, sets.open, number_, reach);
            else
                pairs_.compare(space_, box, sets.open, number_, 2.0 * reach);
            if (!settle_by_pairs()) return Verdict::pruned;
        } else {
            chosen = sets.settled;
            undecided = sets.open;
        }
        if (criterion.by_nearness()) criterion.look(space_, box, sets);
        if (criterion.hopeless(chosen, undecided, buffer)) return Verdict::pruned;
        const bool single = box.is_a_point();
        const bool clear = clear_at_nearest(single ? space_.separation : space_.margin);
        const bool exists = space_.rules.empty() || space_.rules.hold(box.nearest);
        if (clear && exists && criterion.satisfied(chosen, box.nearest, buffer)) return Verdict::feasible;
        if (single) return Verdict::pruned;
        // A tree of rules that forbids the nearest context is settled before anything else.
        split = exists || space_.rules.trees_hold(box.nearest) ? Split{} : space_.rules.split(space_, box);
        if (split.axis < 0) {
            split = space_.linear() ? choose_linear_split(space_, box, sets.open, mean)
                                    : choose_split(space_, box, sets.open);
        }
        if (split.axis < 0 && space_.limited() && space_.turns(box, sets.settled)) {
            split = choose_split(space_, box, sets.settled);
        }
        if (criterion.by_nearness()) split = split_by_nearness(split);
        if (split.axis < 0 && !space_.rules.empty()) split = space_.rules.split(space_, box);
        return split.axis < 0 ? Verdict::leaf : Verdict::split;
    }

    Box box;
    MemberSets sets;
    double distance = 0.0;     // of the box
    Split split;               // where to split it
    std::vector<double> here;  // distance, or score, of each open member at the nearest context
    std::vector<double> mean;  // where scores stand for distances, the mean slopes, which all scores here are less by
    // Working memory: a set of neighbours, those that can still join it, and numbers.
    std::vector<int> chosen, undecided;
    std::vector<double> buffer;

private:
    // Measure every open member; false where one that is settled is too far away in all of the box.
    bool measure(double reach) {
        const bool linear = space_.linear();
        for (std::size_t i = 0; i < sets.open.size(); ++i) {
            const Span measured = linear ? score_span(sets.open[i], reach) : span(sets.open[i], reach);
            number_[i] = measured.number;
            here[i] = measured.here;
            near_[i] = measured.near;
            far_[i] = measured.far;
        }
        return !space_.limited() ||
               std::ranges::none_of(sets.settled, [&](int member) { return span(member, reach).near > space_.widest; });
    }

    // Drop the members that are surely out, settle those surely in; false where no set of neighbours is left.
    bool settle_by_intervals() {
        const int need = space_.k - static_cast<int>(sets.settled.size());
        const std::size_t m = sets.open.size();
        if (need < 0 || need > static_cast<int>(m)) return false;
        // Whoever is a neighbour is none that is too far away.
        const double out_from = std::min(boundary_of(far_, m, need, buffer).last, space_.widest);
        const double in_until = boundary_of(near_, m, need, buffer).following;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < m; ++i) {
            if (near_[i] - space_.margin >= out_from) continue;
            if (far_[i] + space_.margin <= in_until) {
                sets.settled.push_back(sets.open[i]);
                continue;
            }
            sets.open[kept] = sets.open[i];
            here[kept] = here[i];
            number_[kept] = number_[i];
            ++kept;
        }
        sets.open.resize(kept);
        return sets.settled.size() + kept >= static_cast<std::size_t>(space_.k);
    }

    // Settle by counting relations, and choose what the criterion may take for granted: the separation decides more
    // there. False where no set of neighbours is left.
    bool settle_by_pairs() {
        const int m = static_cast<int>(sets.open.size());
        const int need = space_.k - static_cast<int>(sets.settled.size());
        chosen = sets.settled;
        undecided.clear();
        int kept = 0;
        for (int i = 0; i < m; ++i) {
            const int member = sets.open[i];
            const bool out = pairs_.never_farther[i] >= need, inside = pairs_.never_nearer[i] >= m - need;
            if (out && inside) return false;
            if (inside) {
                chosen.push_back(member);
            } else if (!out) {
                undecided.push_back(member);
            }
            if (pairs_.nearer[i] >= need) continue;
            if (pairs_.farther[i] >= m - need) {
                sets.settled.push_back(member);
                continue;
            }
            sets.open[kept] = member;
            here[kept] = here[i];
            ++kept;
        }
        sets.open.resize(kept);
        return true;
    }

    // Choose the neighbours at the nearest context of the box; whether they are separated there, and near enough.
    bool clear_at_nearest(double separation) {
        const std::size_t m = sets.open.size();
        const Boundary ends = boundary_of(here, m, space_.k - static_cast<int>(sets.settled.size()), buffer);
        if (ends.following - ends.last < separation || ends.last > space_.widest) return false;
        if (space_.limited()) {
            for (const int member : sets.settled) {
                if (space_.distance(member, box.nearest) > space_.widest) return false;
            }
        }
        chosen = sets.settled;
        for (std::size_t i = 0; i < m; ++i) {
            if (here[i] <= ends.last) chosen.push_back(sets.open[i]);
        }
        return true;
    }

    // A member's distance from the nearest context of the box, its numeric part, and the interval of its distances.
    struct Span {
        double number, here, near, far;
    };

    Span span(int member, double reach) const {
        const int q = box.dimension();
        const double* const point = space_.point(member);
        double number = space_.base[member];
        double less = 0.0, more = 0.0, category = 0.0, category_near = 0.0, category_far = 0.0;
        for (int j = 0; j < q; ++j) {
            const double x = point[j], low = box.low[j], high = box.high[j];
            if (space_.axes[j].kind == Kind::category) {
                category += x == low ? 0.0 : space_.apart;
                if (low <= x && x <= high) {
                    category_far += low == high ? 0.0 : space_.apart;
                } else {
                    category_near += space_.apart;
                    category_far += space_.apart;
                }
            } else {
                const Axis::Reach to = space_.axes[j].reach(x, low, high, box.nearest[j]);
                number += to.at;
                less += to.at - to.near;
                more += to.far - to.at;
            }
        }
        return {number, number + category, number - std::min(less, reach) + category_near,
                number + std::min(more, reach) + category_far};
    }

    // The same of a score: over the box it leaves its value at the nearest context by no more than its slopes allow
    // there, and inside the ball by no more than the steepest of them does.
    Span score_span(int member, double room) const {
        const double* const slopes = space_.scores.slopes(member);
        double number = space_.base[member];
        double less = 0.0, more = 0.0, steepest = 0.0, hair = 0.0, category = 0.0, category_near = 0.0,
               category_far = 0.0;
        for (int j = 0; j < box.dimension(); ++j) {
            const double low = box.low[j], high = box.high[j];
            if (space_.axes[j].kind == Kind::category) {
                const Interval adds = space_.scores.span(member, j, low, high);
                category += space_.scores.entries(member, j)[static_cast<std::size_t>(low)];
                category_near += adds.low;
                category_far += adds.high;
            } else {
                const double slope = slopes[j] - mean[j], nearest = box.nearest[j];
                number += slope * nearest;
                if (low == high) continue;
                const double down = slope * (low - nearest), up = slope * (high - nearest);
                less -= std::min(down, up);
                more += std::max(down, up);
                steepest = std::max(steepest, std::abs(slope) / space_.axes[j].weight);
                hair = std::max(hair, std::abs(slope) * kRounding.hair);
            }
        }
        const double reach = room * steepest + hair;
        return {number, number + category, number - std::min(less, reach) + category_near,
                number + std::min(more, reach) + category_far};
    }

    // Where neighbours count by how near they are, they matter even if it is clear who they are: a category is settled
    // first, and a split along an axis that is narrow beside another, as the neighbours see it, gives way to that one.
    Split split_by_nearness(Split split) const {
        int widest = -1;
        double most = 0.0;
        const auto width = [&](int j) {
            return (box.high[j] - box.low[j]) * (space_.places.empty() ? 1.0 : space_.places.steep(j));
        };
        for (int j = 0; j < box.dimension(); ++j) {
            if (!box.moves(j)) continue;
            if (space_.axes[j].kind == Kind::category) return {j, box.low[j], box.low[j] + 1.0};
            if (widest < 0 || width(j) > most) {
                widest = j;
                most = width(j);
            }
        }
        if (widest < 0 || (split.axis >= 0 && width(split.axis) >= kSettings.contexts.narrow_beside * most))
            return split;
        const Axis& axis = space_.axes[widest];
        const double middle = 0.5 * (box.low[widest] + box.high[widest]);
        if (axis.kind == Kind::discrete) return split_beyond(space_, widest, middle);
        const Gap* const gap = gap_between(axis, box.low[widest], box.high[widest]);
        if (gap != nullptr) return {widest, gap->low, gap->high};
        // Where all is linear, small programs know more than halves do.
        return split.axis < 0 ? split : Split{widest, middle, middle};
    }

    const Space& space_;
    Pairs pairs_;
    // Of each open member: the numeric part of its distance at the nearest context, and its interval in the box.
    std::vector<double> number_, near_, far_;
};

}  // namespace whence::neighbours
