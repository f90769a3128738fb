#include "forest/plausibility.hpp"

#include <stdexcept>

#include "forest/least_per_tree.hpp"
#include "forest/open_box.hpp"

namespace whence {

Plausibility::Plausibility(const Grid& grid, std::int32_t first, std::vector<double> short_by)
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

double Plausibility::short_by(const Leaves& leaves) const {
    double total = 0.0;
    for (std::size_t t = static_cast<std::size_t>(first_); t < leaves.size(); ++t) total += value(leaves[t]);
    return total;
}

bool Plausibility::bound(OpenBox& open) const {
    const std::int32_t trees = grid_->trees();
    const auto own = [&](std::int32_t, std::int32_t leaf) { return value(leaf); };
    const double total = least_sum(open.reach, first_, trees, own, open.best);
    if (total > 0.0) return false;
    open.plausible_slack = -total;
    drop_dear(open.reach, first_, trees, own, open.best, open.plausible_slack);
    for (std::int32_t t = first_; t < trees; ++t) open.gains[t] = value(open.here[t]) - value(open.best[t]);
    return true;
}

}  // namespace whence
