#include "bounds/stretches.hpp"

#include <algorithm>

namespace whence {

Stretches::Stretches(const Grid& grid) : grid_(&grid), of_column_(grid.columns()) {
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

std::int32_t Stretches::stretch_at(const Slot& slot, std::int32_t cell) const {
    const auto first = begin_.begin() + slot.first, end = begin_.begin() + slot.last + 1;
    return static_cast<std::int32_t>(std::upper_bound(first, end, cell) - begin_.begin()) - 1;
}

}  // namespace whence
