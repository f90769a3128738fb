// Pairs of past contexts in a box: which is surely nearer, anywhere in it.
//
// Over a box the difference of two distances lies in g_a - g_b plus or minus the distance between the two contexts
// clipped to the box, where g_a sums, over the axes, the larger of half the width and the distance from the middle. An
// open category counts like its one-hot coordinates. Inside the ball, the numeric part cannot leave its value at the
// nearest context by more than twice the ball's reach. Where distances round a circle rise and fall again inside the
// box, all that is known along that axis is the interval of each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/settings.hpp"
#include "neighbours/neighbour_space.hpp"

namespace whence::neighbours {

// Whether the distance of some member rises and falls again along an axis of the box.
inline bool turns_along(const Space& space, int j, double low, double high, std::span<const int> open) {
    const Axis& axis = space.axes[j];
    if (axis.period <= 0.0 || low == high) return false;
    return std::ranges::any_of(open, [&](int member) { return axis.turns(space.point(member)[j], low, high); });
}

class Pairs {
public:
    // Beyond this many contexts a box is split without comparing them pair by pair.
    static constexpr int kMost = 512;

    explicit Pairs(int dimension) : clipped_(static_cast<std::size_t>(dimension) * kMost) {}

    // Compare all open members; `number` holds the numeric part of their distance at the nearest context, and `ball`
    // says by how much a difference can change inside the ball.
    void compare(const Space& space, const Box& box, std::span<const int> open, std::span<const double> number,
                 double ball) {
        const int m = static_cast<int>(open.size());
        const bool several = clip(space, box, open);
        const double separation = space.separation, margin = space.margin;
        for (auto* counts : {nearer, farther, never_farther, never_nearer}) std::fill_n(counts, m, 0);
        for (int a = 0; a < m - 1; ++a) {
            spread_from(space, box, a, m, several);
            Counts own;
            for (int b = a + 1; b < m; ++b) {
                const double middle = middle_[a] - middle_[b], at = number[a] - number[b];
                const double kindred = kindred_[a] - kindred_[b];
                const double most = std::min(middle + apart_[b], at + ball) + kindred + apart_category_[b];
                const double least = std::max(middle - apart_[b], at - ball) + kindred - apart_category_[b];
                count(own, b, least, most, separation, margin);
            }
            add(a, own);
        }
    }

    // The same where scores stand for distances: differences of scores are linear, and inside the ball, which leaves so
    // much `room`, no slope leads farther than the steepest.
    void compare_scores(const Space& space, const Box& box, std::span<const int> open, std::span<const double> number,
                        double room) {
        const int m = static_cast<int>(open.size());
        for (auto* counts : {nearer, farther, never_farther, never_nearer}) std::fill_n(counts, m, 0);
        for (int i = 0; i < m; ++i) {
            const double* const slopes = space.scores.slopes(open[i]);
            for (int j = 0; j < box.dimension(); ++j) clipped_[static_cast<std::size_t>(j) * kMost + i] = slopes[j];
        }
        for (int a = 0; a < m - 1; ++a) {
            slopes_from(space, box, open, a);
            Counts own;
            for (int b = a + 1; b < m; ++b) {
                const double at = number[a] - number[b],
                             ball = room * steepest_[b] * (1.0 + kRounding.steepest) + kRounding.hair;
                const double least = at - std::min(fall_[b], ball) + least_[b];
                const double most = at + std::min(rise_[b], ball) + most_[b];
                count(own, b, least, most, space.separation, space.margin);
            }
            add(a, own);
        }
    }

    // For every member, how many others are surely nearer, or surely farther, by the margin; and how many are never
    // farther, or never nearer, by the separation.
    std::int64_t nearer[kMost], farther[kMost], never_farther[kMost], never_nearer[kMost];

private:
    // Clip every member to the box; whether a category is still open.
    bool clip(const Space& space, const Box& box, std::span<const int> open) {
        const int m = static_cast<int>(open.size());
        bool several = false;
        for (int i = 0; i < m; ++i) {
            middle_[i] = space.base[open[i]];
            kindred_[i] = loose_[i] = 0.0;
        }
        for (int j = 0; j < box.dimension(); ++j) {
            const double low = box.low[j], high = box.high[j];
            double* const clipped = clipped_.data() + static_cast<std::size_t>(j) * kMost;
            if (space.axes[j].kind == Kind::category) {
                several = several || low < high;
                for (int i = 0; i < m; ++i) {
                    const double x = space.point(open[i])[j];
                    const bool inside = low <= x && x <= high;
                    clipped[i] = inside && low < high ? x : -1.0;
                    kindred_[i] += space.apart * (!inside ? 1.0 : low < high ? 0.5 : 0.0);
                }
            } else if (const Axis& axis = space.axes[j]; turns_along(space, j, low, high, open)) {
                for (int i = 0; i < m; ++i) {
                    const Axis::Reach to = axis.reach(space.point(open[i])[j], low, high, low);
                    clipped[i] = low;
                    middle_[i] += 0.5 * (to.near + to.far);
                    loose_[i] += 0.5 * (to.far - to.near);
                }
            } else {
                const double half = 0.5 * (high - low), centre = 0.5 * (low + high);
                for (int i = 0; i < m; ++i) {
                    const double x = axis.seen(space.point(open[i])[j], low, high);
                    clipped[i] = std::min(std::max(x, low), high);
                    middle_[i] += std::max(half, std::abs(x - centre));
                }
            }
        }
        return several;
    }

    // How much the difference of two distances can vary in the box, for member a and all later ones.
    void spread_from(const Space& space, const Box& box, int a, int m, bool several) {
        double* const apart = apart_;
        double* const apart_category = apart_category_;
        for (int b = a + 1; b < m; ++b) apart[b] = loose_[a] + loose_[b];
        for (int b = a + 1; b < m; ++b) apart_category[b] = 0.0;
        for (int j = 0; j < box.dimension(); ++j) {
            const double* const clipped = clipped_.data() + static_cast<std::size_t>(j) * kMost;
            const double x = clipped[a];
            if (space.axes[j].kind != Kind::category) {
                if (!box.moves(j)) continue;
                for (int b = a + 1; b < m; ++b) apart[b] += std::abs(x - clipped[b]);
            } else if (several) {
                for (int b = a + 1; b < m; ++b) {
                    const double both = (x >= 0.0 ? 0.5 : 0.0) + (clipped[b] >= 0.0 ? 0.5 : 0.0);
                    if (x != clipped[b]) apart_category[b] += space.apart * both;
                }
            }
        }
    }

    // How the scores of member a and all later ones can differ from their difference at the nearest context: by numbers
    // (at most a rise, at least minus a fall, in the ball no more than the steepest slope allows), and by categories.
    void slopes_from(const Space& space, const Box& box, std::span<const int> open, int a) {
        const int m = static_cast<int>(open.size());
        for (auto* list : {fall_, rise_, steepest_, least_, most_}) std::fill_n(list, m, 0.0);
        for (int j = 0; j < box.dimension(); ++j) {
            if (space.axes[j].kind == Kind::category) {
                for (int b = a + 1; b < m; ++b) {
                    const Interval apart = space.scores.apart(open[a], open[b], j, box.low[j], box.high[j]);
                    least_[b] += apart.low;
                    most_[b] += apart.high;
                }
            } else if (box.moves(j)) {
                const double* const slopes = clipped_.data() + static_cast<std::size_t>(j) * kMost;
                const double back = box.low[j] - box.nearest[j], ahead = box.high[j] - box.nearest[j];
                const double slope = slopes[a], light = 1.0 / space.axes[j].weight;
                for (int b = a + 1; b < m; ++b) {
                    const double difference = slope - slopes[b];
                    const double one = difference * back, other = difference * ahead;
                    rise_[b] += std::max(one, other);
                    fall_[b] -= std::min(one, other);
                    steepest_[b] = std::max(steepest_[b], std::abs(difference) * light);
                }
            }
        }
    }

    // Count what is known of the difference of a member, whose own counts these are, and a later one: between the two.
    struct Counts {
        std::int64_t nearer = 0, farther = 0, never_farther = 0, never_nearer = 0;
    };
    void count(Counts& own, int b, double least, double most, double separation, double margin) {
        const std::int64_t not_farther = most < separation, is_nearer = not_farther & (most <= -margin);
        const std::int64_t not_nearer = least > -separation, is_farther = not_nearer & (least >= margin);
        never_farther[b] += not_farther;
        own.never_nearer += not_farther;
        nearer[b] += is_nearer;
        own.farther += is_nearer;
        own.never_farther += not_nearer;
        never_nearer[b] += not_nearer;
        own.nearer += is_farther;
        farther[b] += is_farther;
    }
    void add(int a, const Counts& own) {
        nearer[a] += own.nearer;
        farther[a] += own.farther;
        never_farther[a] += own.never_farther;
        never_nearer[a] += own.never_nearer;
    }

    std::vector<double> clipped_;  // axes by members; or their slopes
    double middle_[kMost], loose_[kMost], kindred_[kMost], apart_[kMost], apart_category_[kMost];
    double fall_[kMost], rise_[kMost], steepest_[kMost], least_[kMost], most_[kMost];
};

}  // namespace whence::neighbours
