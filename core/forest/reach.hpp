// The leaves that a box meets: a bit for every leaf, 64 a word, the words of a tree together.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/settings.hpp"
#include "forest/box.hpp"

namespace whence {

// The leaves of some trees one after the other, for whoever goes over them again and again.
struct ListedLeaves {
    Leaves leaves;
    std::vector<std::int32_t> from;  // where those of each tree begin, and where the last ones end

    LeafView of(std::int32_t tree) const {
        return LeafView(leaves).subspan(static_cast<std::size_t>(from[tree]),
                                        static_cast<std::size_t>(from[tree + 1] - from[tree]));
    }
    std::int32_t trees() const { return static_cast<std::int32_t>(from.size()) - 1; }
};

class Reach {
public:
    explicit Reach(const Located& located)
        : located_(&located),
          grid_(&located.grid()),
          words_(grid_->words()),
          low_(static_cast<std::size_t>(grid_->lanes())),
          high_(low_.size()),
          extra_(static_cast<std::size_t>(grid_->columns())) {}

    const Located& located() const { return *located_; }
    std::int32_t trees() const { return grid_->trees(); }

    // All leaves that hold an allowed cell of the box, whatever else was dropped before, but those that are `room` or
    // more away from its projection `cells`.
    // A step to the side of a split on which the projection does not lie leads as far away as that side is in the
    // column. What a column comes to is undone when the part of the tree behind the step has been visited.
    void gather_near(const Box& box, const Cells& cells, double room) {
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

    // The same among the leaves of a box around this one.
    // What a leaf asks for that the projection does not have is its way from there. In every column it holds an allowed
    // cell, or it would have no bit.
    void keep_near(const Box& box, const Cells& cells, double room) {
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

    // Drop the leaves that the box does not meet.
    void keep_box(const Box& box) {
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

    // Call `use(leaf)` for the leaves of a tree that are reached.
    template <class Use>
    void each(std::int32_t tree, Use use) const {
        for (std::int32_t w = grid_->first_word(tree); w < grid_->first_word(tree + 1); ++w)
            for (std::uint64_t bits = words_[w]; bits != 0; bits &= bits - 1)
                use(grid_->leaf_of_bit(64 * w + std::countr_zero(bits)));
    }
    // The bits of all leaves that are reached; and keep only those that others hold, too.
    const std::vector<std::uint64_t>& words() const { return words_; }
    std::vector<std::uint64_t>& words() { return words_; }
    void keep(const std::vector<std::uint64_t>& words) {
        for (std::size_t w = 0; w < words_.size(); ++w) words_[w] &= words[w];
    }
    // The leaves of the first trees that are reached.
    void list(std::int32_t trees, ListedLeaves& into) const {
        into.leaves.clear();
        into.from.assign(1, 0);
        for (std::int32_t t = 0; t < trees; ++t) {
            each(t, [&](std::int32_t leaf) { into.leaves.push_back(leaf); });
            into.from.push_back(static_cast<std::int32_t>(into.leaves.size()));
        }
    }

    // Drop the leaves of a tree for which `dropped(leaf)` is true.
    template <class Dropped>
    void drop(std::int32_t tree, Dropped dropped) {
        drop_words(grid_->first_word(tree), grid_->first_word(tree + 1), dropped);
    }

private:
    // A part of a tree that is still to be visited: its first node, how far from the projection it is, and what that
    // comes to in the column of the step that leads there. Without a node, what it came to before the step.
    struct Visit {
        std::int32_t node, column;
        double extra, in_column;
    };

    // The same with whole rows of cells, eight columns at once.
    void keep_rows(const Box& box) {
        const std::int32_t lanes = grid_->lanes();
        box.write_rows(low_.data(), high_.data());
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

    // Visit the side of a split on which the projection does not lie later, where the box meets it and it is near
    // enough.
    void put_off(const Node& node, Interval interval, std::int32_t cell, double extra, double room) {
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

    void mark(std::int32_t leaf) {
        const std::int32_t bit = located_->bit_of_leaf()[leaf];
        if (bit >= 0) words_[bit / 64] |= std::uint64_t{1} << (bit % 64);
    }

    template <class Dropped>
    void drop_words(std::int32_t first, std::int32_t last, Dropped dropped) {
        for (std::int32_t w = first; w < last; ++w) {
            std::uint64_t kept = words_[w];
            for (std::uint64_t bits = kept; bits != 0; bits &= bits - 1)
                if (dropped(grid_->leaf_of_bit(64 * w + std::countr_zero(bits)))) kept &= ~(bits & (0 - bits));
            words_[w] = kept;
        }
    }

    const Located* located_;
    const Grid* grid_;
    std::vector<std::uint64_t> words_;
    std::vector<Visit> visits_;
    std::vector<std::int16_t> low_, high_;  // those of a box, one number a lane
    std::vector<double> extra_;             // of each column: how far from the projection
};

// The cells that the reached leaves of every tree leave of a box.
class Hull {
public:
    explicit Hull(const Grid& grid) : grid_(&grid), spans_(grid.columns()), listed_(grid.columns()) {
        for (auto* lanes : {&low_, &high_}) lanes->resize(static_cast<std::size_t>(grid.lanes()));
    }

    // Narrow `box` to them, without regard to which cells are allowed; true where that is less.
    bool narrow(const Reach& reach, Box& box) {
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

private:
    bool narrow_rows(const Reach& reach, Box& box) {
        const std::int32_t lanes = grid_->lanes();
        box.write_rows(low_.data(), high_.data());
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

    struct Span {
        std::int32_t seen, least, most;
    };

    const Grid* grid_;
    std::vector<Span> spans_;
    std::vector<std::int32_t> listed_;
    std::vector<std::int16_t> low_, high_;  // those of the box, one number a lane
};

// ---- the smallest value among the leaves of each tree, and its sum over trees: what every bound over a box is made of
// ----

// The smallest value so far and the leaf that has it; none at first.
struct Least {
    double value = kInfinity;
    std::int32_t leaf = -1;

    void take(double other, std::int32_t of) {
        if (other < value) {
            value = other;
            leaf = of;
        }
    }
};

// The lowest and the highest value so far.
struct Extent {
    double low = kInfinity, high = -kInfinity;

    bool empty() const { return low > high; }
    void take(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
};

// Sum over the trees first..last - 1 of the smallest `value(tree, leaf)` among the reached leaves. The leaves that
// attain it go to `best`, where nothing changes for a tree without any.
template <class Value>
double least_sum(const Reach& reach, std::int32_t first, std::int32_t last, Value value, Leaves& best) {
    double total = 0.0;
    for (std::int32_t t = first; t < last; ++t) {
        Least least;
        reach.each(t, [&](std::int32_t leaf) { least.take(value(t, leaf), leaf); });
        if (least.leaf >= 0) best[t] = least.leaf;
        total += least.value;
    }
    return total;
}

// Drop the leaves that would use up more than the slack if all other trees took their best.
template <class Value>
void drop_dear(Reach& reach, std::int32_t first, std::int32_t last, Value value, const Leaves& best, double slack) {
    for (std::int32_t t = first; t < last; ++t) {
        const double most = value(t, best[t]) + slack;
        reach.drop(t, [&](std::int32_t leaf) { return value(t, leaf) > most; });
    }
}

// The same sum over listed leaves, of `value(i)` for the i-th of them; of tree t it goes to `least(t)`, with its place.
template <class Value, class Use>
double least_sum(const ListedLeaves& listed, Value value, Use least) {
    double total = 0.0;
    for (std::int32_t t = 0; t < listed.trees(); ++t) {
        Least own;
        for (std::int32_t i = listed.from[t]; i < listed.from[t + 1]; ++i) own.take(value(i), i);
        least(t, own);
        total += own.value;
    }
    return total;
}

}  // namespace whence
