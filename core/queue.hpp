// The boxes that wait, nearest first, and the restrictions that make each of them.
//
// A box is kept as a chain of restrictions (one column, one interval each) up to the whole space, so that a search of
// millions of boxes costs a few numbers a box whatever the dimension.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "heap.hpp"
#include "open_box.hpp"

namespace whence {

// What a box of an absolute question knows about plans: the rivals that bound it best, and whether the best plan at its
// projection was asked for.
struct Note {
    static constexpr std::size_t KEPT = 6;

    std::array<std::int32_t, KEPT> rivals = {-1, -1, -1, -1, -1, -1};
    bool here = false;
};

class Queue {
public:
    // The chain's first link is -1: the whole space, which waits at the beginning.
    static constexpr std::int32_t WHOLE = -1;

    Queue() { wait(0.0, WHOLE); }

    bool empty() const { return heap_.empty(); }
    std::size_t size() const { return heap_.size(); }
    // No box that waits is nearer; the queue must not be empty.
    double nearest() const { return heap_.top().key; }
    bool nearer_than(double key) const { return !empty() && key > nearest(); }

    void wait(double key, std::int32_t link) { heap_.push(key, link); }
    Heap<std::int32_t>::Entry take() { return heap_.pop(); }

    // A new link: the box of `parent` with one column restricted.
    std::int32_t link(std::int32_t parent, std::int32_t column, std::int32_t first, std::int32_t last, EtaRange etas) {
        chain_.push_back({parent, column, {first, last}, etas, false, parent == WHOLE ? -1 : chain_[parent].note});
        return static_cast<std::int32_t>(chain_.size()) - 1;
    }

    // What the box of a link knows about plans; a new link knows what its parent did.
    Note note(std::int32_t link) const {
        return link == WHOLE || chain_[link].note < 0 ? Note{} : notes_[chain_[link].note];
    }
    void set_note(std::int32_t link, const Note& note) {
        chain_[link].note = static_cast<std::int32_t>(notes_.size());
        notes_.push_back(note);
    }

    // Lay out the box of a link; false where it is empty.
    bool rebuild(std::int32_t link, Box& box) const {
        if (!box.reset()) return false;
        for (; link != WHOLE; link = chain_[link].parent)
            if (!box.restrict(chain_[link].column, chain_[link].cells.low, chain_[link].cells.high)) return false;
        return true;
    }

    bool has(std::int32_t link) const { return link >= WHOLE && link < static_cast<std::int32_t>(chain_.size()); }
    // The columns that a link and those before it restrict.
    std::vector<std::int32_t> columns_of(std::int32_t link) const {
        std::vector<std::int32_t> columns;
        for (; link != WHOLE; link = chain_[link].parent) columns.push_back(chain_[link].column);
        return columns;
    }

    // The etas possible in the box of a link, and whether its strong bound was taken.
    EtaRange etas(std::int32_t link) const { return chain_[link].etas; }
    bool strong(std::int32_t link) const { return link != WHOLE && chain_[link].strong; }
    void set_strong(std::int32_t link, EtaRange etas) {
        chain_[link].etas = etas;
        chain_[link].strong = true;
    }

private:
    struct Link {
        std::int32_t parent, column;
        Interval cells;
        EtaRange etas;
        bool strong;
        std::int32_t note;  // -1 for none
    };

    std::vector<Link> chain_;
    std::vector<Note> notes_;
    Heap<std::int32_t> heap_;
};

}  // namespace whence
