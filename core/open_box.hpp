// The box under way: what is known about it, and room to compute.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "reach.hpp"

namespace whence {

// The thresholds of the alternative under which the criterion can still hold in a box; 0..0 for expected costs.
struct EtaRange {
    std::int32_t first = 0, last = 0;

    bool empty() const { return first > last; }
    std::int32_t size() const { return last - first + 1; }
};

class Criterion;

struct OpenBox {
    explicit OpenBox(const Located& located)
        : box(located),
          reach(located),
          cells(located.grid().columns()),
          here(located.grid().trees()),
          best(located.grid().trees()),
          other(located.grid().trees()),
          gains(located.grid().trees()) {}

    // Make room for this many rivals and etas.
    void fit(std::int32_t rivals, std::int32_t etas) {
        levels.resize(rivals);
        for (auto* numbers : {&sums, &part, &joint, &row, &worst_sums}) numbers->resize(etas);
    }

    // Judge the projection by the criterion.
    void judge(const Criterion& criterion, double tau);

    Box box;
    Reach reach;
    EtaRange etas;
    std::int32_t link = -1;  // where its restrictions stand in the chain of the queue
    double key = 0.0;        // proved: nothing in the box is nearer

    // Its projection, the nearest cell to the start: distance, leaf of each tree, the rival that the alternative does
    // worst against there, whether the criterion holds, and whether it was excluded.
    Cells cells;
    double near = 0.0;
    Leaves here;
    std::int32_t worst = 0;
    bool holds = false;
    bool barred = false;
    std::vector<std::int32_t> levels;  // of each rival, the threshold it is judged by

    // What the bound over the box has found: every tree's best leaf, how much better that is than the one at the
    // projection, what the sum of the best leaves leaves of tau, and the eta that it belongs to.
    Leaves best;
    Leaves other;
    std::vector<double> gains;
    double slack = 0.0;
    std::int32_t eta = 0;

    // For every eta: sums over trees, one tree's part of it, the largest sum of all rivals, the values of a leaf, and
    // the sums against the worst rival.
    std::vector<double> sums, part, joint, row, worst_sums;
};

}  // namespace whence
