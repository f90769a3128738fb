// A box: an interval of cells in every column, of which only the allowed cells count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "forest/located.hpp"

namespace whence {

class Box {
public:
    explicit Box(const Located& located) : located_(&located), columns_(located.columns().size()) {}

    const Interval& operator[](std::int32_t j) const { return columns_[j]; }
    Interval& operator[](std::int32_t j) { return columns_[j]; }
    const Located& located() const { return *located_; }
    std::int32_t size() const { return static_cast<std::int32_t>(columns_.size()); }

    // All that the question allows; false where that is nothing.
    bool reset() {
        for (std::int32_t j = 0; j < size(); ++j) columns_[j] = {located_->column(j).first, located_->column(j).last};
        if (!located_->grouped()) return true;
        for (std::int32_t j = 0; j < size(); ++j)
            if (located_->column(j).group >= 0 && !restrict(j, columns_[j].low, columns_[j].high)) return false;
        return true;
    }

    // Narrow column j to the cells first..last; false where nothing allowed is left.
    bool restrict(std::int32_t j, std::int32_t first, std::int32_t last) {
        Interval& own = columns_[j];
        first = std::max(first, own.low);
        last = std::min(last, own.high);
        if (first > last) return false;
        first = located_->up(j, first);
        last = located_->down(j, last);
        if (first < 0 || last < 0 || first > last) return false;
        own = {first, last};
        const std::int32_t group = located_->column(j).group;
        return group < 0 || settle_group(group);
    }

    // Its intervals as two rows of short numbers: see Grid::first_cells.
    void write_rows(std::int16_t* low, std::int16_t* high) const {
        for (const Interval& own : columns_) {
            *low++ = static_cast<std::int16_t>(own.low);
            *high++ = static_cast<std::int16_t>(own.high);
        }
    }

    // Nearest cell of the box to the start, into `cells`; its distance.
    double project(Cells& cells) const {
        double total = 0.0;
        for (std::int32_t j = 0; j < size(); ++j) {
            cells[j] = std::min(std::max(located_->column(j).start, columns_[j].low), columns_[j].high);
            total += located_->distance(j, cells[j]);
        }
        if (!located_->grouped()) return total;
        // Where the initial category is ruled out, the first one possible goes on.
        for (std::int32_t j = 0; j < size(); ++j) {
            const std::int32_t group = located_->column(j).group;
            if (group < 0 || columns_[j].high == 0) continue;
            bool lit = false;
            for (std::int32_t i = 0; i < size(); ++i) lit |= located_->column(i).group == group && cells[i] > 0;
            if (!lit) cells[j] = columns_[j].high;
        }
        return total;
    }

    // Narrow to the cells less than `room` farther than the projection `cells`; false where that leaves nothing.
    bool tighten(const Cells& cells, double room) {
        if (room <= 0.0) return false;
        for (std::int32_t j = 0; j < size(); ++j) {
            if (located_->column(j).group >= 0) {
                if (!tighten_category(j, cells[j], room)) return false;
                continue;
            }
            const double here = located_->distance(j, cells[j]);
            // Distances grow away from the start, so the cells in reach are an interval around the projection.
            std::int32_t a = cells[j], b = columns_[j].high;
            while (a < b) {
                const std::int32_t middle = (a + b + 1) / 2;
                if (located_->distance(j, located_->up(j, middle)) - here < room)
                    a = middle;
                else
                    b = middle - 1;
            }
            const std::int32_t last = located_->down(j, a);
            a = columns_[j].low, b = cells[j];
            while (a < b) {
                const std::int32_t middle = (a + b) / 2;
                if (located_->distance(j, located_->down(j, middle)) - here < room)
                    b = middle;
                else
                    a = middle + 1;
            }
            columns_[j] = {located_->up(j, b), last};
        }
        return true;
    }

private:
    // One category is always on, and only one.
    bool settle_group(std::int32_t group) {
        std::int32_t on = 0, possible = 0, candidate = -1;
        for (std::int32_t i = 0; i < size(); ++i) {
            if (located_->column(i).group != group) continue;
            if (columns_[i].low > 0) {
                ++on;
                candidate = i;
            }
            if (columns_[i].high > 0) {
                ++possible;
                if (on == 0) candidate = i;
            }
        }
        if (on > 1 || possible == 0) return false;
        if (on == 0 && possible > 1) return true;
        for (std::int32_t i = 0; i < size(); ++i) {
            if (located_->column(i).group != group) continue;
            if (i == candidate)
                columns_[i].low = columns_[i].high;
            else if (columns_[i].high > 0)
                columns_[i].high = 0;
        }
        return true;
    }

    // The initial category stays on where leaving it would cost too much.
    bool tighten_category(std::int32_t j, std::int32_t cell, double room) {
        const bool home = located_->distance(j, cell) == 0.0 && located_->column(j).start > 0 && cell > 0;
        if (!home || columns_[j].low > 0 || located_->distance(j, 0) < room) return true;
        return restrict(j, cell, columns_[j].high);
    }

    const Located* located_;
    std::vector<Interval> columns_;
};

}  // namespace whence
