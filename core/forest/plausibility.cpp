#include "forest/plausibility.hpp"

#include <stdexcept>

#include "base/numbers.hpp"
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
    double total = 0.0;
    for (std::int32_t t = first_; t < grid_->trees(); ++t) {
        double least = kInfinity;
        open.reach.each(t, [&](std::int32_t leaf) {
            if (value(leaf) < least) {
                least = value(leaf);
                open.best[t] = leaf;
            }
        });
        total += least;
    }
    if (total > 0.0) return false;
    open.plausible_slack = -total;
    for (std::int32_t t = first_; t < grid_->trees(); ++t) {
        const double most = value(open.best[t]) - total;
        open.reach.drop(t, [&](std::int32_t leaf) { return value(leaf) > most; });
        open.gains[t] = value(open.here[t]) - value(open.best[t]);
    }
    return true;
}

}  // namespace whence
