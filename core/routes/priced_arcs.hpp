// What the arcs of a network cost in the leaves that a box meets, the tolls of the trees for them, and the cheapest
// ways to the target.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/large_array.hpp"
#include "routes/leaf_slots.hpp"
#include "routes/network.hpp"

namespace whence {

template <class Number>
class PricedArcs {
public:
    // `costs(leaf)` by edge, and `tolls(arc)` by tree.
    template <class Costs, class Tolls>
    PricedArcs(const Network& network, const LeafSlots& slots, Costs costs, Tolls tolls) : PricedArcs(network, slots) {
        const std::size_t arcs = network.arcs().size();
        // A few leaves at a time: what is read and what is written lie in different orders.
        const double* own[kTogether];
        for (std::size_t from = 0; from < count_; from += kTogether) {
            const std::size_t width = std::min(kTogether, count_ - from);
            for (std::size_t i = 0; i < width; ++i) own[i] = costs(slots.leaf[from + i]);
            for (std::size_t a = 0; a < arcs; ++a) {
                const std::int32_t edge = network.arcs()[a].edge;
                Number* const into = cost_.get() + a * count_ + from;
                if (width == kTogether)
                    for (std::size_t i = 0; i < kTogether; ++i) into[i] = static_cast<Number>(own[i][edge]);
                else
                    for (std::size_t i = 0; i < width; ++i) into[i] = static_cast<Number>(own[i][edge]);
            }
        }
        for (std::size_t a = 0; a < arcs; ++a)
            for (std::size_t k = 0; k < trees_; ++k) toll(a)[k] = static_cast<Number>(tolls(a)[slots.tree[k]]);
    }

    // The same on a part of the network: numbers of arcs. It has the ways, too.
    PricedArcs(const PricedArcs& all, const Network& part, std::span<const std::int32_t> arcs)
        : PricedArcs(part, all.slots()) {
        for (std::size_t a = 0; a < arcs.size(); ++a) {
            const auto number = static_cast<std::size_t>(arcs[a]);
            std::copy_n(all.cost(number), count_, cost_.get() + a * count_);
            std::copy_n(all.toll(number), trees_, toll(a));
        }
        find_ways();
    }

    const Network& network() const { return *network_; }
    const LeafSlots& slots() const { return *slots_; }
    const Number* cost(std::size_t arc) const { return cost_.get() + arc * count_; }
    // By tree, in the order of the slots.
    Number* toll(std::size_t arc) { return toll_.get() + arc * trees_; }
    const Number* toll(std::size_t arc) const { return toll_.get() + arc * trees_; }
    // By leaf, after `find_ways`.
    const Number* way(std::int32_t node) const { return way_.get() + static_cast<std::size_t>(node) * count_; }
    const Number* from_source() const { return way(network_->source()); }

    void find_ways() {
        std::fill_n(way_.get(), count_, Number{0});
        for (std::int32_t node = 1; node < network_->nodes(); ++node) {
            Number* const own = way_.get() + static_cast<std::size_t>(node) * count_;
            std::size_t a = network_->first(node);
            if (network_->last(node) - a == 1) {
                extend(a, way(network_->arcs()[a].head), own);
                continue;
            }
            cheaper_of(*slots_, view(a), view(a + 1), own);
            for (a += 2; a < network_->last(node); ++a) {
                extend(a, way(network_->arcs()[a].head), spare_.data());
                for (std::size_t i = 0; i < count_; ++i) own[i] = std::min(own[i], spare_[i]);
            }
        }
    }

    // A way that has cost `before` in every leaf, and goes on by an arc.
    void extend(std::size_t arc, const Number* before, Number* after) const {
        whence::extend(*slots_, cost(arc), toll(arc), before, after);
    }

private:
    static constexpr std::size_t kTogether = 8;

    PricedArcs(const Network& network, const LeafSlots& slots)
        : network_(&network),
          slots_(&slots),
          count_(slots.count()),
          trees_(slots.trees()),
          cost_(large_array<Number>(network.arcs().size() * count_)),
          toll_(large_array<Number>(network.arcs().size() * trees_)),
          way_(large_array<Number>(static_cast<std::size_t>(network.nodes()) * count_)),
          spare_(count_) {}
    ArcView<Number> view(std::size_t arc) const { return {cost(arc), toll(arc), way(network_->arcs()[arc].head)}; }

    const Network* network_;
    const LeafSlots* slots_;
    std::size_t count_, trees_;
    LargeArray<Number> cost_, toll_, way_;  // by arc and leaf, arc and tree, node and leaf
    std::vector<Number> spare_;             // room for a number a leaf
};

}  // namespace whence
