// The exact nearest explanation of a nearest-neighbour policy: best-first over boxes of contexts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/best_first.hpp"
#include "base/deadline.hpp"
#include "forest/few_changes.hpp"
#include "neighbours/changing_axes.hpp"
#include "neighbours/neighbour_box.hpp"
#include "neighbours/neighbour_criterion.hpp"
#include "neighbours/neighbour_leaf.hpp"
#include "neighbours/neighbour_space.hpp"
#include "neighbours/waiting_boxes.hpp"

namespace whence::neighbours {

using Waiting = WaitingBoxes<MemberSets>;

// A context, and its distance; infinite where there is none.
struct Found {
    double distance;
    std::vector<double> context;

    explicit Found(int dimension);
    // Keep the nearer one.
    void improve(double distance, const std::vector<double>& context);
};

// When threads return to their caller.
struct Allowance {
    Deadline pause{};  // no box is begun after it
    Deadline ends{};   // nor is one under way looked at any closer: what is known of it by then has to do
    std::int64_t numbers = LeafSolver::Patience{}.numbers;  // that linear programs of one box may look at
};

// One thread of the search.
class NeighbourWorker {
public:
    NeighbourWorker(const Space& space, const Criterion& criterion, Waiting& waiting, const FewChanges* few);

    // Examine a box; whether it is solved and no other that waits is nearer: that is a candidate. Explanations met on
    // the way go to `met`.
    bool examine(Waiting::Open& open, double radius, const Allowance& allowance);

    Found candidate, met;
    Examiner examiner;
    LeafSolver leaf;

private:
    bool categories_decided() const;
    LeafSolver::Outcome solve(Verdict verdict, double radius, const Allowance& allowance);
    void add_parts(double least, double radius);
    void add_choices(int axis, double least, double radius);

    const Space& space_;
    const Criterion& criterion_;
    Waiting& waiting_;
    ChangingAxes changing_;
    std::vector<double> solution_;  // nearest explanation of the box under way
};

enum class Progress {
    spent,      // the boxes or the time that were allowed
    candidate,  // the nearest explanation is proved nearest
    exhausted,  // nothing nearer than the radius is left
};

class NeighbourSearch {
public:
    // Where `few` is given, only some axes may change together.
    NeighbourSearch(Space space, std::unique_ptr<Criterion> criterion, std::unique_ptr<const FewChanges> few = nullptr);
    NeighbourSearch(const NeighbourSearch&) = delete;
    NeighbourSearch& operator=(const NeighbourSearch&) = delete;

    const Space& space() const { return space_; }
    Criterion& criterion() { return *criterion_; }
    NeighbourWorker& worker() { return *workers_.front(); }

    // Begin again with the whole space.
    void restart();
    // Examine at most `boxes` boxes nearer than `radius`, which may only shrink until a restart: what lies beyond it is
    // cut off. Several threads share the tree, each with a box of its own; a candidate is proved nearest all the same.
    Progress advance(std::int64_t boxes, double radius, int threads, const Allowance& allowance);
    // Whether a context is an explanation.
    bool stands(std::span<const double> context);
    // Forget the explanation that was met.
    void forget_met() { met_.distance = kInfinity; }

    // Boxes examined since the last restart.
    std::int64_t nodes() const { return nodes_; }
    std::size_t bytes() const { return waiting_.bytes(space_.dimension()); }
    // Distance of the nearest box left; infinite for none.
    double bound() const { return waiting_.bound(); }
    // The last candidate, and the nearest explanation met on the way, without proof.
    const std::vector<double>& candidate() const { return candidate_; }
    const std::vector<double>& met() const { return met_.context; }
    double met_distance() const { return met_.distance; }

private:
    bool work(Budget& budget, double radius, int threads, const Allowance& allowance);

    Space space_;
    std::unique_ptr<Criterion> criterion_;
    std::unique_ptr<const FewChanges> few_;
    Waiting waiting_;
    std::vector<std::unique_ptr<NeighbourWorker>> workers_;
    std::vector<double> candidate_;
    Found met_;
    std::vector<double> columns_;  // past contexts, or slopes of their scores, axis by axis
    std::int64_t nodes_ = 0;
};

}  // namespace whence::neighbours
