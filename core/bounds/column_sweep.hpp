// The loops over a column in which potentials spend their time: leaves side by side, with half the digits.
//
// Whatever the potentials are, the bound that is made of them holds, so they need not be precise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace whence {

// Leaves of a tree are padded to a multiple of this many.
constexpr std::size_t kLanes = 8;

// A tree and a column that it tells cells apart in: the stretches that meet the box, and the leaves of the tree.
struct SlotView {
    std::int32_t stretches;
    std::size_t lanes;
    const std::int32_t *begin, *end;  // first and last cell, by stretch
    const float* bars;                // by stretch and leaf: 0 where the leaf holds the stretch, otherwise infinite
    float* potential;                 // by stretch; infinite where no cell is left
    float* least;                     // of the potentials of the leaf's stretches, by leaf
    float* price;                     // by leaf; nothing that compares where it is dropped
    float* marginal;                  // room for a number a stretch
};

// The least potential of each leaf's stretches.
void find_least(const SlotView& slot);

// Collect what the cells low..high of a column cost all trees that tell them apart at least, and share it out among
// these, from the first one to the last. `distance` is infinite where a cell is not left, or is found not to be; there
// is room for two numbers a cell, and one more.
void sweep_column(std::span<const SlotView> slots, std::int32_t low, std::int32_t high, double* distance,
                  double* collected, float* residual);

}  // namespace whence
