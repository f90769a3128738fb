// One box of contexts: which past contexts are surely among the k nearest there, and which surely are not.
//
// A box is examined inside the ball that is still of interest: contexts at most `room` farther from the start than the
// box's nearest one. Relations hold with the separation: if b cannot be nearer than a by the separation anywhere in the
// box, then b being a neighbour implies that a is one.
#pragma once

#include <vector>

#include "neighbours/neighbour_criterion.hpp"
#include "neighbours/neighbour_pairs.hpp"
#include "neighbours/neighbour_space.hpp"

namespace whence::neighbours {

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
    explicit Examiner(const Space& space);

    // Examine `box` with the members in `sets`, up to `radius`; both are left as small as they have become.
    Verdict examine(const Criterion& criterion, double radius);
    // Cut `box` to `radius`, which must not be less than its distance, and only compare all pairs of open members.
    const Pairs& compare(double radius);

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
    bool measure(double reach);
    bool settle_by_intervals();
    bool settle_by_pairs();
    bool clear_at_nearest(double separation);
    // A member's distance from the nearest context of the box, its numeric part, and the interval of its distances.
    struct Span {
        double number, here, near, far;
    };
    Span span(int member, double reach) const;
    Span score_span(int member, double room) const;
    // Look at the open members inside the ball; how far they may get, or the room where scores stand for distances.
    double enter(double room);
    void compare_pairs(double reach);
    Split split_by_nearness(Split split) const;

    const Space& space_;
    Pairs pairs_;
    // Of each open member: the numeric part of its distance at the nearest context, and its interval in the box.
    std::vector<double> number_, near_, far_;
};

}  // namespace whence::neighbours
