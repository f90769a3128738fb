// The exact nearest explanation of a nearest-neighbour policy: best-first over boxes of contexts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "heap.hpp"
#include "neighbour_box.hpp"
#include "neighbour_criterion.hpp"
#include "neighbour_leaf.hpp"
#include "neighbour_space.hpp"

namespace whence::neighbours {

// Boxes still to be examined, nearest first.
class Tree {
public:
    struct Node {
        std::vector<double> low, high;
        std::shared_ptr<const MemberSets> sets;  // the two parts of a box share those of the whole
    };

    void clear();
    void push(double key, const Box& box, std::shared_ptr<const MemberSets> sets);
    // Put a box back that was taken last.
    void put_back(double key, int node) { heap_.push(key, node); }
    // Take the nearest box; it keeps its place until it is forgotten.
    Heap<int>::Entry take() { return heap_.pop(); }
    void forget(int node);

    bool empty() const { return heap_.empty(); }
    double nearest() const { return heap_.top().key; }
    const Node& operator[](int node) const { return nodes_[node]; }

private:
    Heap<int> heap_;
    std::vector<Node> nodes_;
    std::vector<int> free_;
};

enum class Progress {
    spent,      // the boxes that were allowed
    candidate,  // the nearest explanation is proved nearest
    exhausted,  // nothing nearer than the radius is left
};

// What one thread needs to look at boxes.
struct Worker {
    explicit Worker(const Space& space) : examiner(space), leaf(space), found(space.axes.size()) {}

    // Extra distance of the best explanation in the box that was loaded, written to `found`, and of the nearest place
    // that is undecided.
    LeafSolver::Outcome look(const Space& space, const Criterion& criterion, double radius);

    Examiner examiner;
    LeafSolver leaf;
    std::vector<double> found;
};

class NeighbourSearch {
public:
    NeighbourSearch(Space space, std::unique_ptr<Criterion> criterion);
    NeighbourSearch(const NeighbourSearch&) = delete;
    NeighbourSearch& operator=(const NeighbourSearch&) = delete;

    const Space& space() const { return space_; }
    Criterion& criterion() { return *criterion_; }
    Worker& worker() { return *workers_.front(); }

    // Begin again with the whole space.
    void restart();
    // Examine at most `boxes` boxes nearer than `radius`, which may only shrink until a restart: what lies beyond it is
    // cut off. Several threads share the tree, each with a box of its own; a candidate is proved nearest all the same.
    Progress advance(std::int64_t boxes, double radius, int threads = 1);
    // Whether a context is an explanation.
    bool stands(std::span<const double> context);
    // Forget the explanation that was met.
    void forget_met();

    // Boxes examined since the last restart.
    std::int64_t nodes() const { return nodes_; }
    // Distance of the nearest box left; infinite for none.
    double bound() const;
    // The last candidate, and the nearest explanation met on the way, without proof.
    const std::vector<double>& candidate() const { return candidate_; }
    const std::vector<double>& met() const { return met_; }
    double met_distance() const { return met_distance_; }

private:
    // A box that was taken off the tree.
    struct Taken {
        double key;
        int node;
        std::shared_ptr<const MemberSets> sets;
    };

    Taken take(Worker& worker);
    bool settle(Worker& worker, const Taken& taken, LeafSolver::Outcome outcome, double radius, double under_way);
    void add_parts(Worker& worker, double least, double radius);
    Progress advance_together(std::int64_t boxes, double radius, int threads);

    Space space_;
    std::unique_ptr<Criterion> criterion_;
    std::vector<std::unique_ptr<Worker>> workers_;
    Tree tree_;
    std::vector<double> candidate_, met_;
    double met_distance_;
    std::vector<double> columns_;  // past contexts, axis by axis
    std::int64_t nodes_ = 0;
    double solved_ = 0.0;  // distance of the nearest explanation that several threads have put back to the tree
};

}  // namespace whence::neighbours
