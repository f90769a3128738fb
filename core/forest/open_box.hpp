// The box under way: what is known about it, and room to compute.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "forest/plausibility.hpp"
#include "forest/reach.hpp"

namespace whence {

// The thresholds of the alternative under which the criterion can still hold in a box; 0..0 for expected costs.
struct EtaRange {
    std::int32_t first = 0, last = 0;

    bool empty() const { return first > last; }
    std::int32_t size() const { return last - first + 1; }
};

class Criterion;

using PlansLeft = std::shared_ptr<const std::vector<std::int32_t>>;

struct OpenBox {
    explicit OpenBox(const Located& located)
        : box(located),
          reach(located),
          cells(located.grid().columns()),
          here(located.grid().trees()),
          best(located.grid().trees()),
          other(located.grid().trees()),
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

    // What the bound over the box has found: every tree's best leaf, how much better that is than the one at the
    // projection, what the sum of the best leaves leaves of tau, and the eta that it belongs to.
    Leaves best;
    Leaves other;
    std::vector<double> gains;
    double slack = 0.0;
    std::int32_t eta = 0;
    std::vector<double> prices;  // of each reached leaf, what it is worth under that eta, where the bound says so

    // For every eta: sums over trees, one tree's part of it, the largest sum of all rivals, the values of a leaf, and
    // the sums against the worst rival.
    std::vector<double> sums, part, joint, row, worst_sums;

    // The reached leaves of the criterion's trees, what the worst rival takes off each of them, and of each tree the
    // smallest value for every eta of a range.
    ListedLeaves listed;
    std::vector<double> taken_off, taken_off_others, parts;
    std::vector<double>
        at_level;  // what the worst rival costs in each, by its own threshold, where that is asked often
    EtaRange parts_of;

    // What stands for a criterion that is no sum over trees: of each rival and tree a factor, of each rival and leaf a
    // number, and of each rival the thresholds by which it is judged somewhere in the box.
    std::vector<std::vector<double>> tilts, rows;
    std::vector<EtaRange> level_ranges;
    bool ranges_known = false;  // whether these are what a box around this one has left, and not merely the one before
    std::vector<double> low, high;  // room for a number a tree
    std::vector<double> half_sums;  // for every eta, the sums with either half of the levels

    // Of a set of plans, what is left of it in the box: numbers that only the criterion can read. All of it where there
    // are none.
    PlansLeft plans;
    std::int32_t plan = -1;  // the plan that suits the box best, where it is one of a list
};

}  // namespace whence
