// The leaves that a box meets: a bit for every leaf, 64 a word, the words of a tree together.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

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
    void gather_near(const Box& box, const Cells& cells, double room);

    // The same among the leaves of a box around this one.
    void keep_near(const Box& box, const Cells& cells, double room);

    // Drop the leaves that the box does not meet.
    void keep_box(const Box& box);

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
    void list(std::int32_t trees, ListedLeaves& into) const;

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

    void keep_rows(const Box& box);
    void put_off(const Node& node, Interval interval, std::int32_t cell, double extra, double room);
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

    const Grid& grid() const { return *grid_; }

    // Narrow `box` to them, without regard to which cells are allowed; true where that is less.
    bool narrow(const Reach& reach, Box& box);

private:
    bool narrow_rows(const Reach& reach, Box& box);

    struct Span {
        std::int32_t seen, least, most;
    };

    const Grid* grid_;
    std::vector<Span> spans_;
    std::vector<std::int32_t> listed_;
    std::vector<std::int16_t> low_, high_;  // those of the box, one number a lane
};

}  // namespace whence
