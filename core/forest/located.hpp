// The cells of a question: which are allowed, and how far they are from the initial context.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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
    Located(const Grid& grid, std::span<const ColumnLimits> limits);

    // A part of the cells of a question: in each column those between `low` and `high`. Their distance counts cells in
    // one column, from the end that is nearer to the start; the start is any cell, outside the part in that column.
    Located(const Located& whole, const Cells& low, const Cells& high, const Cells& start, std::int32_t column);

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
    std::int32_t cell_of(std::int32_t j, double value, const ColumnLimits& limits) const;
    void place(std::int32_t j, const ColumnLimits& limits);
    void place_levels(std::int32_t j, const ColumnLimits& limits);
    void place_range(std::int32_t j, const ColumnLimits& limits);
    void offer(std::int32_t j, std::int32_t cell, double value, const ColumnLimits& limits);
    void bury();
    void link_allowed(std::int32_t j);
    bool is_dead(std::int32_t leaf) const;

    const Grid& grid_;
    std::vector<Column> columns_;
    std::vector<double> distance_, value_;
    std::vector<std::int32_t> up_, down_;
    std::vector<std::int32_t> bit_of_leaf_;
    bool grouped_ = false;
};

}  // namespace whence
