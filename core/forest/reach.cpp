#include "forest/reach.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/numbers.hpp"

namespace whence {

// A step to the side of a split on which the projection does not lie leads as far away as that side is in the column.
// What a column comes to is undone when the part of the tree behind the step has been visited.
void Reach::gather_near(const Box& box, const Cells& cells, double room) {
    std::fill(words_.begin(), words_.end(), 0);
    std::fill(extra_.begin(), extra_.end(), 0.0);
    const Node* nodes = grid_->nodes().data();
    for (const std::int32_t root : grid_->roots()) {
        visits_.assign(1, {root, 0, 0.0, extra_[0]});
        while (!visits_.empty()) {
            const Visit visit = visits_.back();
            visits_.pop_back();
            extra_[visit.column] = visit.in_column;
            if (visit.node < 0) continue;
            const Node* node = &nodes[visit.node];
            for (; node->column >= 0; node = &nodes[cells[node->column] <= node->split ? node->left : node->right])
                put_off(*node, box[node->column], cells[node->column], visit.extra, room);
            mark(node->left);
        }
    }
}

// What a leaf asks for that the projection does not have is its way from there. In every column it holds an allowed
// cell, or it would have no bit.
void Reach::keep_near(const Box& box, const Cells& cells, double room) {
    keep_box(box);
    if (room == kInfinity) return;
    drop_words(0, grid_->words(), [&](std::int32_t leaf) {
        double extra = 0.0;
        for (const PathEntry& entry : grid_->path(leaf)) {
            const std::int32_t j = entry.column, cell = cells[j];
            if (entry.allows(cell) || located_->column(j).group >= 0) continue;
            extra += located_->distance(j, located_->towards(entry, cell)) - located_->distance(j, cell);
        }
        return extra >= room;
    });
}

// Visit the side of a split on which the projection does not lie later, where the box meets it and it is near enough.
void Reach::put_off(const Node& node, Interval interval, std::int32_t cell, double extra, double room) {
    const std::int32_t j = node.column;
    const bool right = cell <= node.split;  // the side to put off
    if (right ? interval.high <= node.split : interval.low > node.split) return;
    double in_column = extra_[j];
    if (located_->column(j).group < 0) {
        const std::int32_t to = right ? located_->up(j, node.split + 1) : located_->down(j, node.split);
        if (to < 0) return;
        in_column = located_->distance(j, to) - located_->distance(j, cell);
    }
    const double total = extra + (in_column - extra_[j]);
    if (total >= room) return;
    visits_.push_back({-1, j, 0.0, extra_[j]});
    visits_.push_back({right ? node.right : node.left, j, total, in_column});
}

void Reach::list(std::int32_t trees, ListedLeaves& into) const {
    into.leaves.clear();
    into.from.assign(1, 0);
    for (std::int32_t t = 0; t < trees; ++t) {
        each(t, [&](std::int32_t leaf) { into.leaves.push_back(leaf); });
        into.from.push_back(static_cast<std::int32_t>(into.leaves.size()));
    }
}

void Reach::keep_box(const Box& box) {
    if (grid_->lanes() > 0) {
        keep_rows(box);
        return;
    }
    drop_words(0, grid_->words(), [&](std::int32_t leaf) {
        for (const PathEntry& entry : grid_->path(leaf)) {
            const Interval& interval = box[entry.column];
            if (entry.low > interval.high || entry.high < interval.low) return true;
        }
        return false;
    });
}

// The same with whole rows of cells, eight columns at once.
void Reach::keep_rows(const Box& box) {
    const std::int32_t lanes = grid_->lanes();
    for (std::int32_t j = 0; j < box.size(); ++j) {
        low_[j] = static_cast<std::int16_t>(box[j].low);
        high_[j] = static_cast<std::int16_t>(box[j].high);
    }
    drop_words(0, grid_->words(), [&](std::int32_t leaf) {
        const std::int16_t *first = grid_->first_cells(leaf), *last = grid_->last_cells(leaf);
        for (std::int32_t l = 0; l < lanes; l += Grid::kLanes) {
            std::int16_t apart = 0;
            for (std::int32_t i = l; i < l + Grid::kLanes; ++i)
                apart |= static_cast<std::int16_t>((first[i] > high_[i]) | (last[i] < low_[i]));
            if (apart != 0) return true;
        }
        return false;
    });
}

bool Hull::narrow_rows(const Reach& reach, Box& box) {
    const std::int32_t lanes = grid_->lanes();
    for (std::int32_t j = 0; j < box.size(); ++j) {
        low_[j] = static_cast<std::int16_t>(box[j].low);
        high_[j] = static_cast<std::int16_t>(box[j].high);
    }
    std::array<std::int16_t, Grid::kMostLanes> least, most;
    for (std::int32_t t = 0; t < grid_->trees(); ++t) {
        least.fill(std::numeric_limits<std::int16_t>::max());
        most.fill(0);
        bool any = false;
        reach.each(t, [&](std::int32_t leaf) {
            const std::int16_t *first = grid_->first_cells(leaf), *last = grid_->last_cells(leaf);
            for (std::int32_t l = 0; l < lanes; l += Grid::kLanes)
                for (std::int32_t i = l; i < l + Grid::kLanes; ++i) {
                    least[i] = std::min(least[i], first[i]);
                    most[i] = std::max(most[i], last[i]);
                }
            any = true;
        });
        if (!any) continue;
        for (std::int32_t l = 0; l < lanes; l += Grid::kLanes)
            for (std::int32_t i = l; i < l + Grid::kLanes; ++i) {
                low_[i] = std::max(low_[i], least[i]);
                high_[i] = std::min(high_[i], most[i]);
            }
    }
    bool smaller = false;
    for (std::int32_t j = 0; j < box.size(); ++j) {
        const Interval to{low_[j], high_[j]};
        smaller |= !(to == box[j]);
        box[j] = to;
    }
    return smaller;
}

bool Hull::narrow(const Reach& reach, Box& box) {
    if (grid_->lanes() > 0) return narrow_rows(reach, box);
    bool smaller = false;
    for (std::int32_t t = 0; t < grid_->trees(); ++t) {
        std::int32_t leaves = 0, columns = 0;
        reach.each(t, [&](std::int32_t leaf) {
            for (const PathEntry& entry : grid_->path(leaf)) {
                Span& span = spans_[entry.column];
                if (leaves == 0) {
                    listed_[columns++] = entry.column;
                    span = {1, entry.low, entry.high};
                } else if (span.seen > 0) {
                    ++span.seen;
                    span.least = std::min(span.least, entry.low);
                    span.most = std::max(span.most, entry.high);
                }
            }
            ++leaves;
        });
        for (std::int32_t i = 0; i < columns; ++i) {
            Span& span = spans_[listed_[i]];
            Interval& interval = box[listed_[i]];
            // Only a column on the path of every leaf narrows the box.
            if (span.seen == leaves) {
                if (span.least > interval.low) {
                    interval.low = span.least;
                    smaller = true;
                }
                if (span.most < interval.high) {
                    interval.high = span.most;
                    smaller = true;
                }
            }
            span.seen = 0;
        }
    }
    return smaller;
}

}  // namespace whence
