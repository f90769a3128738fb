// Contexts like those of the past: an isolation forest needs many random splits to set them apart.
//
// Its trees are further trees of the grid, after those of the forest. What a leaf's path is short of the least mean
// length adds up over the trees, and must not be positive in sum.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "forest/grid.hpp"

namespace whence {

struct OpenBox;

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

}  // namespace whence
