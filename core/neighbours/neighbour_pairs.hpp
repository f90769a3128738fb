// Pairs of past contexts in a box: which is surely nearer, anywhere in it.
//
// Over a box the difference of two distances lies in g_a - g_b plus or minus the distance between the two contexts
// clipped to the box, where g_a sums, over the axes, the larger of half the width and the distance from the middle. An
// open category counts like its one-hot coordinates. Inside the ball, the numeric part cannot leave its value at the
// nearest context by more than twice the ball's reach. Where distances round a circle rise and fall again inside the
// box, all that is known along that axis is the interval of each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neighbours/neighbour_space.hpp"

namespace whence::neighbours {

class Pairs {
public:
    // Beyond this many contexts a box is split without comparing them pair by pair.
    static constexpr int kMost = 512;

    explicit Pairs(int dimension) : clipped_(static_cast<std::size_t>(dimension) * kMost) {}

    // Compare all open members; `number` holds the numeric part of their distance at the nearest context, and `ball`
    // says by how much a difference can change inside the ball.
    void compare(const Space& space, const Box& box, std::span<const int> open, std::span<const double> number,
                 double ball);

    // The same where scores stand for distances: differences of scores are linear, and inside the ball, which leaves so
    // much `room`, no slope leads farther than the steepest.
    void compare_scores(const Space& space, const Box& box, std::span<const int> open, std::span<const double> number,
                        double room);

    // For every member, how many others are surely nearer, or surely farther, by the margin; and how many are never
    // farther, or never nearer, by the separation.
    std::int64_t nearer[kMost], farther[kMost], never_farther[kMost], never_nearer[kMost];

private:
    bool clip(const Space& space, const Box& box, std::span<const int> open);
    void spread_from(const Space& space, const Box& box, int a, int m, bool several);
    void slopes_from(const Space& space, const Box& box, std::span<const int> open, int a);
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
