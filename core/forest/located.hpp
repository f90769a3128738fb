// The cells of a question: which are allowed, and how far they are from the initial context.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <vector>

#include "base/settings.hpp"
#include "forest/grid.hpp"

namespace whence {

// What the question says about one column of the forest's input, which is coordinate * scale + offset. A discrete
// column has only the values `levels`; columns with the same `group` (>= 0) are the categories of one feature.
struct ColumnLimits {
    double start, lower, upper, weight, scale, offset;
    std::int32_t group;
    bool discrete;
    std::span<const double> levels;
    // Of each face of the column: the last coordinate below it, and the first one beyond it, which round to either
    // side.
    std::span<const double> below, beyond;
};

// A column in cells: where its cells begin, the cell of the initial context, the first and last allowed cell, its group
// of categories (-1 for numbers) and, for a category, the column of the initial category (-1 where there is none).
struct Column {
    std::int32_t base, start, first, last, group, home;
};

class Located {
public:
    Located(const Grid& grid, std::span<const ColumnLimits> limits)
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

    // A part of the cells of a question: in each column those between `low` and `high`. Their distance counts cells in
    // one column, from the end that is nearer to the start; the start is any cell, outside the part in that column.
    Located(const Located& whole, const Cells& low, const Cells& high, const Cells& start, std::int32_t column)
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
            if (columns_[j].first < 0)
                throw std::invalid_argument("The part must hold an allowed cell in every column.");
        }
        bury();
    }

    const Grid& grid() const { return grid_; }
    const Column& column(std::int32_t j) const { return columns_[j]; }
    const std::vector<Column>& columns() const { return columns_; }
    bool grouped() const { return grouped_; }

    // Distance of one cell where cells are counted: so little that a search is in no hurry along the column.
    static constexpr double kOneCell = 1.0 / 65536.0;

    // Of a cell of column j: its weighted distance from the start, infinite where it is not allowed, and the nearest
    // allowed cell at or above, and at or below, -1 where there is none.
    double distance(std::int32_t j, std::int32_t cell) const { return distance_[columns_[j].base + cell]; }
    std::int32_t up(std::int32_t j, std::int32_t cell) const { return up_[columns_[j].base + cell]; }
    std::int32_t down(std::int32_t j, std::int32_t cell) const { return down_[columns_[j].base + cell]; }

    // The cell that a path entry asks for, seen from one that it does not allow.
    std::int32_t towards(const PathEntry& entry, std::int32_t cell) const {
        return cell < entry.low ? up(entry.column, entry.low) : down(entry.column, entry.high);
    }
    // Distance and nearest value of all cells, one column after the other.
    const std::vector<double>& distances() const { return distance_; }
    const std::vector<double>& values() const { return value_; }
    // Bit of every leaf, -1 where it holds no allowed cell: between two allowed values, or in two categories at once.
    const std::vector<std::int32_t>& bit_of_leaf() const { return bit_of_leaf_; }

    double distance_of(const Cells& cells) const {
        double total = 0.0;
        for (std::size_t j = 0; j < cells.size(); ++j) total += distance(static_cast<std::int32_t>(j), cells[j]);
        return total;
    }

private:
    // Cell in column j of a coordinate: it goes left of a cut that it, as the forest sees it, does not exceed.
    std::int32_t cell_of(std::int32_t j, double value, const ColumnLimits& limits) const {
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

    void place(std::int32_t j, const ColumnLimits& limits) {
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

    void place_levels(std::int32_t j, const ColumnLimits& limits) {
        for (const double level : limits.levels) offer(j, cell_of(j, level, limits), level, limits);
    }

    void place_range(std::int32_t j, const ColumnLimits& limits) {
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

    void offer(std::int32_t j, std::int32_t cell, double value, const ColumnLimits& limits) {
        const std::int32_t k = grid_.first_cell(j) + cell;
        const double away = limits.weight * std::abs(value - limits.start);
        if (away < distance_[k]) {
            distance_[k] = away;
            value_[k] = value;
        }
    }
    // Leaves without an allowed cell have no bit.
    void bury() {
        if (!grouped_ && std::all_of(distance_.begin(), distance_.end(), [](double x) { return x < kInfinity; }))
            return;
        for (std::int32_t leaf = 0; leaf < grid_.leaves(); ++leaf)
            if (is_dead(leaf)) bit_of_leaf_[leaf] = -1;
    }

    void link_allowed(std::int32_t j) {
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

    bool is_dead(std::int32_t leaf) const {
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

    const Grid& grid_;
    std::vector<Column> columns_;
    std::vector<double> distance_, value_;
    std::vector<std::int32_t> up_, down_;
    std::vector<std::int32_t> bit_of_leaf_;
    bool grouped_ = false;
};

}  // namespace whence
