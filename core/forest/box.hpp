// A box: an interval of cells in every column, of which only the allowed cells count.
#pragma once

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
    bool reset();

    // Narrow column j to the cells first..last; false where nothing allowed is left.
    bool restrict(std::int32_t j, std::int32_t first, std::int32_t last);

    // Nearest cell of the box to the start, into `cells`; its distance.
    double project(Cells& cells) const;

    // Narrow to the cells less than `room` farther than the projection `cells`; false where that leaves nothing.
    bool tighten(const Cells& cells, double room);

private:
    bool settle_group(std::int32_t group);
    bool tighten_category(std::int32_t j, std::int32_t cell, double room);

    const Located* located_;
    std::vector<Interval> columns_;
};

}  // namespace whence
