#include "forest/located.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "base/numbers.hpp"

namespace whence {

Located::Located(const Grid& grid, std::span<const ColumnLimits> limits)
    : grid_(grid),
      columns_(grid.columns()),
      distance_(grid.cells(), kInfinity),
      value_(grid.cells(), 0.0),
      up_(grid.cells(), -1),
      down_(grid.cells(), -1),
      bit_of_leaf_(grid.bit_of_leaf()) {
    if (!grid.complete()) throw std::invalid_argument("The paths of the grid must be laid out first.");
    if (limits.size() != columns_.size()) throw std::invalid_argument("There must be limits for every column.");
    for (std::int32_t j = 0; j < grid.columns(); ++j) {
        place(j, limits[j]);
        link_allowed(j);
        grouped_ |= columns_[j].group >= 0;
    }
    for (Column& column : columns_)
        for (std::int32_t i = 0; i < grid.columns() && column.group >= 0 && column.home < 0; ++i)
            if (columns_[i].group == column.group && columns_[i].start > 0) column.home = i;
    bury();
}

Located::Located(const Located& whole, const Cells& low, const Cells& high, const Cells& start, std::int32_t column)
    : grid_(whole.grid_),
      columns_(whole.columns_),
      distance_(whole.distance_.size(), kInfinity),
      value_(whole.value_),
      up_(whole.up_.size(), -1),
      down_(whole.down_.size(), -1),
      bit_of_leaf_(grid_.bit_of_leaf()),
      grouped_(whole.grouped_) {
    for (std::int32_t j = 0; j < grid_.columns(); ++j) {
        const std::int32_t base = columns_[j].base;
        columns_[j].start = start[j];
        const std::int32_t edge = start[j] < low[j] ? low[j] : high[j];
        for (std::int32_t k = low[j]; k <= high[j]; ++k)
            if (whole.distance_[base + k] < kInfinity)
                distance_[base + k] = j == column ? kOneCell * std::abs(k - edge) : 0.0;
        link_allowed(j);
        if (columns_[j].first < 0) throw std::invalid_argument("The part must hold an allowed cell in every column.");
    }
    bury();
}

// Leaves without an allowed cell have no bit.
void Located::bury() {
    if (!grouped_ && std::all_of(distance_.begin(), distance_.end(), [](double x) { return x < kInfinity; })) return;
    for (std::int32_t leaf = 0; leaf < grid_.leaves(); ++leaf)
        if (is_dead(leaf)) bit_of_leaf_[leaf] = -1;
}

// Cell in column j of a coordinate: it goes left of a cut that it, as the forest sees it, does not exceed.
std::int32_t Located::cell_of(std::int32_t j, double value, const ColumnLimits& limits) const {
    const float seen = static_cast<float>(value * limits.scale + limits.offset);
    const float* cut = grid_.cut().data() + grid_.first_face(j);
    std::int32_t low = 0, high = grid_.last_cell_of(j);
    while (low < high) {
        const std::int32_t face = (low + high) / 2;
        if (std::isnan(cut[face]) ? limits.below[face] < value : cut[face] < seen)
            low = face + 1;
        else
            high = face;
    }
    return low;
}

void Located::place(std::int32_t j, const ColumnLimits& limits) {
    const std::int32_t base = grid_.first_cell(j), last = grid_.last_cell_of(j);
    const std::int32_t own = cell_of(j, limits.start, limits);
    columns_[j] = {base, own, 0, 0, limits.group, -1};
    if (limits.discrete)
        place_levels(j, limits);
    else
        place_range(j, limits);
    distance_[base + own] = 0.0;
    value_[base + own] = limits.start;
    if (limits.group >= 0 && last > 0) {
        // The whole price of another category is paid where the initial one goes off, none where another goes on.
        double& off = distance_[base];
        double& on = distance_[base + last];
        if (limits.start > 0.0) {
            if (off < kInfinity) off = limits.weight;
        } else if (on < kInfinity) {
            on = 0.0;
        }
    }
}

void Located::place_levels(std::int32_t j, const ColumnLimits& limits) {
    for (const double level : limits.levels) offer(j, cell_of(j, level, limits), level, limits);
}

void Located::place_range(std::int32_t j, const ColumnLimits& limits) {
    const std::int32_t base = grid_.first_cell(j), last = grid_.last_cell_of(j);
    for (std::int32_t k = 0; k <= last; ++k) {
        const double bottom = std::max(k == 0 ? -kInfinity : limits.beyond[k - 1], limits.lower);
        const double top = std::min(k == last ? kInfinity : limits.below[k], limits.upper);
        if (bottom > top) continue;
        const double nearest = std::min(std::max(limits.start, bottom), top);
        distance_[base + k] = limits.weight * std::abs(nearest - limits.start);
        value_[base + k] = nearest;
    }
    // In the forest's units a bound may round into a cell whose ends it just misses.
    for (const double bound : {limits.lower, limits.upper}) offer(j, cell_of(j, bound, limits), bound, limits);
}

void Located::offer(std::int32_t j, std::int32_t cell, double value, const ColumnLimits& limits) {
    const std::int32_t k = grid_.first_cell(j) + cell;
    const double away = limits.weight * std::abs(value - limits.start);
    if (away < distance_[k]) {
        distance_[k] = away;
        value_[k] = value;
    }
}

void Located::link_allowed(std::int32_t j) {
    const std::int32_t base = grid_.first_cell(j), last = grid_.last_cell_of(j);
    std::int32_t seen = -1;
    for (std::int32_t k = 0; k <= last; ++k) {
        if (distance_[base + k] < kInfinity) seen = k;
        down_[base + k] = seen;
    }
    seen = -1;
    for (std::int32_t k = last; k >= 0; --k) {
        if (distance_[base + k] < kInfinity) seen = k;
        up_[base + k] = seen;
    }
    columns_[j].first = up_[base];
    columns_[j].last = down_[base + last];
}

bool Located::is_dead(std::int32_t leaf) const {
    const auto path = grid_.path(leaf);
    for (std::size_t i = 0; i < path.size(); ++i) {
        const PathEntry& entry = path[i];
        const std::int32_t first = up(entry.column, entry.low);
        if (first < 0 || first > entry.high) return true;
        const std::int32_t group = columns_[entry.column].group;
        if (group < 0 || entry.low == 0) continue;
        for (std::size_t k = 0; k < i; ++k)
            if (columns_[path[k].column].group == group && path[k].low > 0) return true;
    }
    return false;
}

}  // namespace whence
