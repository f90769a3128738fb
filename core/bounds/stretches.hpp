// The stretches of cells that a tree tells apart in a column, of all trees and the columns that they split.
//
// Stretches are numbered on: those of a tree in a column one after the other, then those of its next column.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "forest/grid.hpp"

namespace whence {

class Stretches {
public:
    // A tree and a column that it splits, with the stretches first..last.
    struct Slot {
        std::int32_t tree, column, first, last;
    };
    // What a leaf allows in a slot: the stretches first..last.
    struct Place {
        std::int32_t slot, first, last;
    };

    explicit Stretches(const Grid& grid) : grid_(&grid), of_column_(grid.columns()) {
        std::vector<std::vector<std::int32_t>> starts(grid.columns());
        std::vector<std::int32_t> slot_of(grid.columns(), -1);
        places_.reserve(grid.path_entries());
        for (std::int32_t t = 0; t < grid.trees(); ++t) {
            first_slot_.push_back(slots());
            for (auto& own : starts) own.clear();
            for (const Node& node : grid.nodes_of(t))
                if (node.column >= 0) starts[node.column].push_back(node.split + 1);
            for (std::int32_t j = 0; j < grid.columns(); ++j) {
                auto& own = starts[j];
                if (own.empty()) continue;
                own.push_back(0);
                std::sort(own.begin(), own.end());
                own.erase(std::unique(own.begin(), own.end()), own.end());
                slot_of[j] = slots();
                of_column_[j].push_back(slots());
                const std::int32_t first = count();
                for (std::size_t i = 0; i < own.size(); ++i) {
                    begin_.push_back(own[i]);
                    end_.push_back(i + 1 < own.size() ? own[i + 1] - 1 : grid.last_cell_of(j));
                }
                slots_.push_back({t, j, first, count() - 1});
            }
            for (std::int32_t leaf = grid.first_leaf(t); leaf < grid.first_leaf(t + 1); ++leaf)
                for (const PathEntry& entry : grid.path(leaf)) {
                    const Slot& own = slots_[slot_of[entry.column]];
                    places_.push_back({slot_of[entry.column], stretch_at(own, entry.low), stretch_at(own, entry.high)});
                }
        }
        first_slot_.push_back(slots());
    }

    const Grid& grid() const { return *grid_; }
    std::int32_t count() const { return static_cast<std::int32_t>(begin_.size()); }
    std::int32_t slots() const { return static_cast<std::int32_t>(slots_.size()); }
    const Slot& slot(std::int32_t s) const { return slots_[s]; }
    // The slots of a tree are first_slot(tree) and those up to first_slot(tree + 1).
    std::int32_t first_slot(std::int32_t tree) const { return first_slot_[tree]; }
    const std::vector<std::int32_t>& slots_of_column(std::int32_t j) const { return of_column_[j]; }

    // The first and the last cell of a stretch.
    std::int32_t begin(std::int32_t stretch) const { return begin_[stretch]; }
    std::int32_t end(std::int32_t stretch) const { return end_[stretch]; }
    // Those of all stretches.
    const std::int32_t* begins() const { return begin_.data(); }
    const std::int32_t* ends() const { return end_.data(); }

    // The stretch of a slot that holds a cell.
    std::int32_t stretch_at(const Slot& slot, std::int32_t cell) const {
        const auto first = begin_.begin() + slot.first, end = begin_.begin() + slot.last + 1;
        return static_cast<std::int32_t>(std::upper_bound(first, end, cell) - begin_.begin()) - 1;
    }
    // Of each entry on the path of a leaf, in the same order.
    std::span<const Place> places(std::int32_t leaf) const {
        const auto path = grid_->path(leaf);
        return {places_.data() + (path.data() - grid_->path(0).data()), path.size()};
    }

private:
    const Grid* grid_;
    std::vector<Slot> slots_;
    std::vector<std::int32_t> first_slot_, begin_, end_;
    std::vector<std::vector<std::int32_t>> of_column_;
    std::vector<Place> places_;
};

}  // namespace whence
