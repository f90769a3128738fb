#include "reach.hpp"

#include <algorithm>

namespace whence {

void Reach::gather(const Box& box) {
    std::fill(words_.begin(), words_.end(), 0);
    const Node* nodes = grid_->nodes().data();
    const std::int32_t* bit_of_leaf = located_->bit_of_leaf().data();
    std::int32_t* stack = stack_.data();
    for (const std::int32_t root : grid_->roots()) {
        std::size_t size = 0;
        stack[size++] = root;
        while (size > 0) {
            const Node& node = nodes[stack[--size]];
            if (node.column < 0) {
                const std::int32_t bit = bit_of_leaf[node.left];
                if (bit >= 0) words_[bit / 64] |= std::uint64_t{1} << (bit % 64);
                continue;
            }
            const Interval& interval = box[node.column];
            if (interval.low <= node.split) stack[size++] = node.left;
            if (interval.high > node.split) stack[size++] = node.right;
        }
    }
}

void Reach::list(std::int32_t trees, ListedLeaves& into) const {
    into.leaves.clear();
    into.from.assign(1, 0);
    for (std::int32_t t = 0; t < trees; ++t) {
        each(t, [&](std::int32_t leaf) { into.leaves.push_back(leaf); });
        into.from.push_back(static_cast<std::int32_t>(into.leaves.size()));
    }
}

void Reach::keep_column(const Box& box, std::int32_t j) {
    const Interval interval = box[j];
    drop_words(0, grid_->words(), [&](std::int32_t leaf) {
        for (const PathEntry& entry : grid_->path(leaf))
            if (entry.column == j) return entry.low > interval.high || entry.high < interval.low;
        return false;
    });
}

void Reach::drop_far(const Cells& cells, double room) {
    drop_words(0, grid_->words(), [&](std::int32_t leaf) {
        double extra = 0.0;
        for (const PathEntry& entry : grid_->path(leaf)) {
            const std::int32_t cell = cells[entry.column];
            if (entry.allows(cell) || located_->column(entry.column).group >= 0) continue;
            extra += located_->distance(entry.column, located_->towards(entry, cell)) -
                     located_->distance(entry.column, cell);
        }
        return extra >= room;
    });
}

bool Hull::narrow(const Reach& reach, Box& box) {
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
