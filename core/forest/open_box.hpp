// The box under way: what is known about it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "forest/reach.hpp"

namespace whence {

// The thresholds of the alternative under which the criterion can still hold in a box; 0..0 for expected costs.
struct EtaRange {
    std::int32_t first = 0, last = 0;

    bool empty() const { return first > last; }
    std::int32_t size() const { return last - first + 1; }
    bool operator==(const EtaRange&) const = default;
    // Without the etas at both ends that are `out(eta)`.
    template <class Out>
    EtaRange without(Out out) const {
        EtaRange left = *this;
        while (!left.empty() && out(left.first)) ++left.first;
        while (!left.empty() && out(left.last)) --left.last;
        return left;
    }
};

struct OpenBox;

// Contexts like those of the past: an isolation forest needs many random splits to set them apart.
//
// Its trees are further trees of the grid, after those of the forest. What a leaf's path is short of the least mean
// length adds up over the trees, and must not be positive in sum.
class Plausibility {
public:
    // For the leaves of the isolation trees, which begin with tree `first`: what each one's path is short of, divided
    // by the number of trees.
    Plausibility(const Grid& grid, std::int32_t first, std::vector<double> short_by)
        : grid_(&grid),
          first_(first),
          first_leaf_(0),
          short_by_(std::move(short_by)) {
        if (first < 1 || first >= grid.trees())
            throw std::invalid_argument("'first' must be a tree of the grid, and not the first one.");
        first_leaf_ = grid.first_leaf(first);
        if (short_by_.size() != static_cast<std::size_t>(grid.leaves() - first_leaf_))
            throw std::invalid_argument("'short_by' must hold one number for each leaf of the isolation trees.");
    }

    const Grid& grid() const { return *grid_; }
    std::int32_t first_tree() const { return first_; }
    double value(std::int32_t leaf) const { return short_by_[leaf - first_leaf_]; }

    // By how much paths are short on average at the leaves of a context, one of every tree of the grid.
    double short_by(const Leaves& leaves) const {
        double total = 0.0;
        for (std::size_t t = static_cast<std::size_t>(first_); t < leaves.size(); ++t) total += value(leaves[t]);
        return total;
    }
    // Bound that over the box and drop the leaves that it rules out; false where nothing is left. The best leaves of
    // the isolation trees and their gains go to the box.
    bool bound(OpenBox& open) const;

private:
    const Grid* grid_;
    std::int32_t first_, first_leaf_;
    std::vector<double> short_by_;
};

class Criterion;

// What a box leaves possible of a set of plans, which its halves begin with.
struct PossiblePlans {
    // Of a network with too many routes for a list: how many leaves the box met, the row of their cheapest ways, the
    // number of its tolls, and the arcs that its routes can take.
    struct Routes {
        std::size_t met;
        std::int32_t ways, tolls;
        std::vector<std::int32_t> arcs;
    };

    std::vector<std::int32_t> numbers;  // of plans in a list
    std::vector<EtaRange> ranges;       // of quantities: of each product the breakpoints that can be best
    std::optional<Routes> routes;
    double cheapest = 0.0, dearest = 0.0;  // prices of a unit that the ranges are about
    // Of quantities: between which breakpoints they can lie where the criterion holds, and where the runs of each
    // product begin and the last ones end; anywhere where there are none.
    std::vector<EtaRange> runs;
    std::vector<std::int32_t> runs_from;
};
using PlansLeft = std::shared_ptr<const PossiblePlans>;  // all of them where there is none

// Room in which a criterion computes, one for every box under way; see the criteria.
struct Scratch {
    virtual ~Scratch() = default;
};

struct OpenBox {
    explicit OpenBox(const Located& located)
        : box(located),
          reach(located),
          cells(located.grid().columns()),
          here(located.grid().trees()),
          best(located.grid().trees()),
          gains(located.grid().trees()) {}

    // Make room for the criterion's rivals and etas.
    void fit(const Criterion& criterion);

    // Judge the projection by the criterion.
    void judge(const Criterion& criterion, double tau);

    // The leaves of the projection in the trees that the criterion is about: the first ones of the grid.
    LeafView counted() const { return LeafView(here).first(static_cast<std::size_t>(trees)); }

    Box box;
    Reach reach;
    EtaRange etas;
    std::int32_t link = -1;  // where its restrictions stand in the chain of the queue
    double key = 0.0;        // proved: nothing in the box is nearer
    PlansLeft plans;

    // Its projection, the nearest cell to the start: distance, leaf of each tree, the rival that the alternative does
    // worst against there, whether it is an explanation, and whether it was excluded.
    Cells cells;
    double near = 0.0;
    Leaves here;
    std::int32_t trees = 0;                   // that the criterion is about
    double over = 0.0;                        // the excess there
    const Plausibility* plausible = nullptr;  // where contexts must be plausible,
    double short_by = 0.0;                    // what that one is short of
    double plausible_slack = 0.0;             // and what the bound over the box leaves
    std::int32_t worst = 0;
    bool stands = false;  // whether the criterion holds there,
    bool holds = false;   // and it is plausible
    bool barred = false;
    std::vector<std::int32_t> levels;  // of each rival, the threshold it is judged by
    std::int32_t eta_here = 0;         // the alternative's threshold there, where it has several

    // Of each rival, the thresholds by which it is judged somewhere in the box; and whether these are what a box around
    // this one has left, and not merely the one before.
    std::vector<EtaRange> level_ranges;
    bool ranges_known = false;

    // What the bound over the box has found: every tree's best leaf, how much better that is than the one at the
    // projection, what the sum of the best leaves leaves of tau, and the eta that it belongs to.
    Leaves best;
    std::vector<double> gains;
    double slack = 0.0;
    std::int32_t eta = 0;
    std::vector<double> prices;       // of each reached leaf, what it is worth under that eta, where the bound says so
    std::vector<double> sums, joint;  // of each eta: the sum over trees, and the largest one of all rivals

    std::unique_ptr<Scratch> scratch;
};

}  // namespace whence
