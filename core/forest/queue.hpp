// The boxes that wait, nearest first, and the restrictions that make each of them, for all threads of a search.
//
// A box is kept as a chain of restrictions (one column, one interval each) up to the whole space, so that a search of
// millions of boxes costs a few numbers a box whatever the dimension.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/node_store.hpp"
#include "base/settings.hpp"
#include "base/shared_heap.hpp"
#include "forest/open_box.hpp"

namespace whence {

// What a box of an absolute question knows about plans: the rivals that bound it best, and whether the best plan at its
// projection was asked for.
struct Note {
    static constexpr std::size_t kKept = 6;

    std::array<std::int32_t, kKept> rivals = {-1, -1, -1, -1, -1, -1};
    bool here = false;
};

class Queue {
public:
    // The chain's first link is -1: the whole space, which waits at the beginning.
    static constexpr std::int32_t kWhole = -1;

    using Entry = SharedHeap<std::int32_t>::Entry;

    Queue() { heap.push(0.0, kWhole); }

    SharedHeap<std::int32_t> heap;

    // A new link: the box of `parent` with one column restricted. Whoever makes it holds it, and releases it in the
    // end, unless it is handed on to the heap, whose taker then holds it; a parent stays as long as one of its parts
    // does.
    std::int32_t link(std::int32_t parent, std::int32_t column, std::int32_t first, std::int32_t last, EtaRange etas) {
        std::lock_guard lock(mutex_);
        Link made{parent, column, {first, last}, of(parent)};
        made.known.etas = etas;
        made.known.strong = false;
        if (parent != kWhole) ++chain_[parent].holders;
        return chain_.add(std::move(made));
    }
    // One more holds a link, and one less: what nobody holds is forgotten, and so is what it alone held.
    void hold(std::int32_t link) {
        std::lock_guard lock(mutex_);
        if (link != kWhole) ++chain_[link].holders;
    }
    void release(std::int32_t link) {
        std::lock_guard lock(mutex_);
        while (link != kWhole && --chain_[link].holders == 0) {
            Link& gone = chain_[link];
            if (gone.reach >= 0) reaches_.forget(gone.reach);
            gone.known = {};
            chain_.forget(link);
            link = gone.parent;
        }
    }

    // What the box of a link knows, which its parts begin with.
    struct Known {
        EtaRange etas;              // possible in it
        EtaRange levels = {0, -1};  // by which a lone rival is judged at its explanations; empty where that is unknown
        bool strong = false;        // whether its strong bound was taken
        std::shared_ptr<const Note> note;
        PlansLeft plans;
    };
    Known known(std::int32_t link) const {
        std::lock_guard lock(mutex_);
        return of(link);
    }
    // Let it know more: `learn(known)` writes it down.
    template <class Learn>
    void teach(std::int32_t link, Learn learn) {
        std::lock_guard lock(mutex_);
        learn(link == kWhole ? whole_ : chain_[link].known);
    }
    void set_note(std::int32_t link, const Note& note) {
        teach(link, [&](Known& known) { known.note = std::make_shared<const Note>(note); });
    }
    // Keep the leaves that a waiting box may meet, a bit for each, as long as there is room for it.
    void set_reach(std::int32_t link, const std::vector<std::uint64_t>& words) {
        std::lock_guard lock(mutex_);
        if (link == kWhole) return;
        std::int32_t& at = chain_[link].reach;
        if (at < 0 && (reaches_.any_free() || (reaches_.size() + 1) * words.size() <= kSettings.forest.kept_words))
            at = reaches_.take();
        if (at >= 0) reaches_[at] = words;
    }
    // Take them into `words`; false where they were not kept.
    bool take_reach(std::int32_t link, std::vector<std::uint64_t>& words) {
        std::lock_guard lock(mutex_);
        if (link == kWhole || chain_[link].reach < 0) return false;
        words.swap(reaches_[chain_[link].reach]);
        reaches_.forget(chain_[link].reach);
        chain_[link].reach = -1;
        return true;
    }
    // Lay out the box of a link; false where it is empty.
    bool rebuild(std::int32_t link, Box& box) const {
        if (!box.reset()) return false;
        std::lock_guard lock(mutex_);
        for (; link != kWhole; link = chain_[link].parent)
            if (!box.restrict(chain_[link].column, chain_[link].cells.low, chain_[link].cells.high)) return false;
        return true;
    }
    bool has(std::int32_t link) const {
        return link == kWhole ||
               (link >= 0 && link < static_cast<std::int32_t>(chain_.size()) && chain_[link].holders > 0);
    }
    // About how much memory the boxes take, apart from the plans that they have left: see Criterion::bytes.
    std::size_t bytes() const {
        const std::size_t waiting = heap.bytes();
        std::lock_guard lock(mutex_);
        const std::size_t words = reaches_.size() == 0 ? 0 : reaches_.size() * reaches_[0].capacity();
        return waiting + chain_.bytes() + chain_.count() * sizeof(Note) + words * sizeof(std::uint64_t);
    }

private:
    struct Link {
        std::int32_t parent, column;
        Interval cells;
        Known known;
        std::int32_t holders = 1;  // who works on it or has it wait, and its parts
        std::int32_t reach = -1;   // which of `reaches_`, -1 for none
    };

    const Known& of(std::int32_t link) const { return link == kWhole ? whole_ : chain_[link].known; }

    NodeStore<Link> chain_;
    Known whole_;
    NodeStore<std::vector<std::uint64_t>> reaches_;
    mutable std::mutex mutex_;
};

}  // namespace whence
