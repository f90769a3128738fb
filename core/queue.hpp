// The boxes that wait, nearest first, and the restrictions that make each of them, for all threads of a search.
//
// A box is kept as a chain of restrictions (one column, one interval each) up to the whole space, so that a search of
// millions of boxes costs a few numbers a box whatever the dimension.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "open_box.hpp"
#include "shared_heap.hpp"

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

    using Entry = SharedHeap<std::int32_t>::Entry;

    Queue() { heap.push(0.0, WHOLE); }

    SharedHeap<std::int32_t> heap;

    // A new link: the box of `parent` with one column restricted.
    std::int32_t link(std::int32_t parent, std::int32_t column, std::int32_t first, std::int32_t last, EtaRange etas) {
        std::lock_guard lock(mutex_);
        const bool whole = parent == WHOLE;
        chain_.push_back({parent, column, {first, last}, etas, whole ? UNKNOWN : chain_[parent].levels, false,
                          whole ? -1 : chain_[parent].note, whole ? 0 : chain_[parent].plans, -1});
        return static_cast<std::int32_t>(chain_.size()) - 1;
    }

    // The thresholds of a lone rival by which it is judged where the box of a link holds an explanation, an empty range
    // where they are not known; a new link knows what its parent did.
    EtaRange levels(std::int32_t link) const {
        std::lock_guard lock(mutex_);
        return link == WHOLE ? UNKNOWN : chain_[link].levels;
    }
    void set_levels(std::int32_t link, EtaRange levels) {
        std::lock_guard lock(mutex_);
        if (link != WHOLE) chain_[link].levels = levels;
    }

    // What the box of a link knows about plans; a new link knows what its parent did.
    Note note(std::int32_t link) const {
        std::lock_guard lock(mutex_);
        return link == WHOLE || chain_[link].note < 0 ? Note{} : notes_[chain_[link].note];
    }
    void set_note(std::int32_t link, const Note& note) {
        std::lock_guard lock(mutex_);
        chain_[link].note = static_cast<std::int32_t>(notes_.size());
        notes_.push_back(note);
    }

    // What is left of a set of plans in the box of a link; a new link knows what its parent did.
    PlansLeft plans(std::int32_t link) const {
        std::lock_guard lock(mutex_);
        return plans_[link == WHOLE ? 0 : static_cast<std::size_t>(chain_[link].plans)];
    }
    void set_plans(std::int32_t link, PlansLeft plans) {
        std::lock_guard lock(mutex_);
        if (link == WHOLE) {
            plans_[0] = std::move(plans);
            return;
        }
        chain_[link].plans = static_cast<std::int32_t>(plans_.size());
        plans_.push_back(std::move(plans));
    }

    // Keep the leaves that a waiting box may meet, a bit for each, as long as there is room for it.
    void set_reach(std::int32_t link, const std::vector<std::uint64_t>& words) {
        std::lock_guard lock(mutex_);
        if (link == WHOLE) return;
        std::int32_t& at = chain_[link].reach;
        if (at < 0 && !free_.empty()) {
            at = free_.back();
            free_.pop_back();
        } else if (at < 0 && (reaches_.size() + 1) * words.size() <= MOST_WORDS) {
            at = static_cast<std::int32_t>(reaches_.size());
            reaches_.emplace_back();
        }
        if (at >= 0) reaches_[static_cast<std::size_t>(at)] = words;
    }
    // Take them into `words`; false where they were not kept.
    bool take_reach(std::int32_t link, std::vector<std::uint64_t>& words) {
        std::lock_guard lock(mutex_);
        if (link == WHOLE || chain_[link].reach < 0) return false;
        words.swap(reaches_[static_cast<std::size_t>(chain_[link].reach)]);
        free_.push_back(chain_[link].reach);
        chain_[link].reach = -1;
        return true;
    }

    // Lay out the box of a link; false where it is empty.
    bool rebuild(std::int32_t link, Box& box) const {
        if (!box.reset()) return false;
        std::lock_guard lock(mutex_);
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
    EtaRange etas(std::int32_t link) const {
        std::lock_guard lock(mutex_);
        return chain_[link].etas;
    }
    bool strong(std::int32_t link) const {
        std::lock_guard lock(mutex_);
        return link != WHOLE && chain_[link].strong;
    }
    void set_strong(std::int32_t link, EtaRange etas) {
        std::lock_guard lock(mutex_);
        chain_[link].etas = etas;
        chain_[link].strong = true;
    }

private:
    static constexpr EtaRange UNKNOWN = {0, -1};
    // Of all waiting boxes together: 32 MB.
    static constexpr std::size_t MOST_WORDS = std::size_t{1} << 22;

    struct Link {
        std::int32_t parent, column;
        Interval cells;
        EtaRange etas, levels;
        bool strong;
        std::int32_t note;   // -1 for none
        std::int32_t plans;  // which of `plans_`
        std::int32_t reach;  // which of `reaches_`, -1 for none
    };

    std::vector<Link> chain_;
    std::vector<Note> notes_;
    std::vector<PlansLeft> plans_ = {nullptr};  // the first ones are those of the whole space
    std::vector<std::vector<std::uint64_t>> reaches_;
    std::vector<std::int32_t> free_;  // those of `reaches_` that no box needs any more
    mutable std::mutex mutex_;
};

}  // namespace whence
