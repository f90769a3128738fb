// Tolls: what every tree charges for the arcs of a network, so that trees agree on a route.
//
// The sum over trees of the least that a route can cost, leaf by leaf, bounds all routes over a box at once. It is
// strong where all trees would take the same route, and weak in a large network, where each of them has its own. Tolls
// that add up to nothing over the trees change what no route costs in all trees together. An arc that some trees would
// take becomes dearer for them and cheaper for the others, until they nearly agree: the Lagrangian dual of taking one
// route.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "routes/priced_arcs.hpp"
#include "routes/route_table.hpp"

namespace whence {

// The routes that the trees would take, and how tolls change for that.
class Takers {
public:
    explicit Takers(PricedArcs<float>& prices)
        : prices_(prices),
          network_(prices.network()),
          slots_(prices.slots()),
          without_(slots_.count()),
          takers_(network_.arcs().size()),
          least_(slots_.trees()),
          at_(slots_.trees()),
          leaf_(slots_.trees()) {
        for (std::size_t i = 0; i < without_.size(); ++i) without_[i] = -static_cast<float>(slots_.rival[i]);
    }

    // The bound; every tree takes the cheapest route of its best leaf.
    double take() {
        prices_.find_ways();
        const float* ways = prices_.from_source();
        const double total = least_sum(slots_, ways, without_.data(), least_.data());
        for (std::size_t s = slots_.slots(); s-- > 0;)
            for (std::size_t k = 0; k < slots_.width(s); ++k) {
                const std::size_t i = slots_.from[s] + k;
                if (ways[i] + without_[i] == least_[k]) leaf_[k] = i;
            }
        follow();
        return total;
    }

    // By how much the trees are apart: the squared length of the direction in which tolls change.
    double apart() const {
        const auto trees = static_cast<double>(slots_.trees());
        double total = 0.0;
        for (const std::int32_t n : takers_) total += n - static_cast<double>(n) * n / trees;
        return total;
    }

    void change(double step) {
        const std::size_t trees = slots_.trees();
        for (std::size_t a = 0; a < takers_.size(); ++a) {
            if (takers_[a] == 0) continue;
            const auto less = static_cast<float>(step * takers_[a] / static_cast<double>(trees));
            float* const toll = prices_.toll(a);
            for (std::size_t k = 0; k < trees; ++k) toll[k] -= less;
        }
        const auto more = static_cast<float>(step);
        for (const auto& [a, k] : taken_) prices_.toll(a)[k] += more;
    }

private:
    // All trees go on by one arc, again and again: what they look at is far apart, and so they wait for it together.
    void follow() {
        taken_.clear();
        std::fill(takers_.begin(), takers_.end(), 0);
        std::fill(at_.begin(), at_.end(), network_.source());
        walking_.resize(slots_.trees());
        std::iota(walking_.begin(), walking_.end(), std::size_t{0});
        while (!walking_.empty()) {
            std::size_t left = 0;
            for (const std::size_t k : walking_) {
                const std::size_t on = cheapest_arc(k);
                taken_.emplace_back(on, k);
                ++takers_[on];
                at_[k] = network_.arcs()[on].head;
                if (at_[k] != Network::target()) walking_[left++] = k;
            }
            walking_.resize(left);
        }
    }

    std::size_t cheapest_arc(std::size_t k) const {
        const std::int32_t node = at_[k];
        std::size_t on = network_.first(node);
        if (network_.last(node) - on == 1) return on;
        float least = through(on, k);
        for (std::size_t a = on + 1; a < network_.last(node); ++a) {
            const float other = through(a, k);
            if (other < least) {
                least = other;
                on = a;
            }
        }
        return on;
    }
    float through(std::size_t a, std::size_t k) const {
        return prices_.cost(a)[leaf_[k]] + prices_.toll(a)[k] + prices_.way(network_.arcs()[a].head)[leaf_[k]];
    }

    PricedArcs<float>& prices_;
    const Network& network_;
    const LeafSlots& slots_;
    std::vector<float> without_;                              // what the rival takes off each leaf
    std::vector<std::int32_t> takers_;                        // of each arc
    std::vector<float> least_;                                // of each tree: what its best leaf is worth,
    std::vector<std::int32_t> at_;                            // the node where it is on its route,
    std::vector<std::size_t> leaf_, walking_;                 // and its leaf; trees that are on their way
    std::vector<std::pair<std::size_t, std::size_t>> taken_;  // arcs, and the trees that take them
};

// The numbers of the arcs that lie on a route whose bound is at most so much.
inline std::vector<std::int32_t> arcs_within(const PricedArcs<float>& prices, double most) {
    const Network& network = prices.network();
    const LeafSlots& slots = prices.slots();
    const std::size_t count = slots.count(), arcs = network.arcs().size();
    // By node and leaf: the cheapest way from the source, less the rival.
    const auto spent = large_array<float>(static_cast<std::size_t>(network.nodes()) * count);
    const auto from = [&](std::int32_t node) { return spent.get() + static_cast<std::size_t>(node) * count; };
    std::vector<char> met(static_cast<std::size_t>(network.nodes()), 0), leads(met), kept(arcs, 0);
    std::vector<float> through(count), least(slots.trees());
    met[network.source()] = 1;
    for (std::size_t i = 0; i < count; ++i) from(network.source())[i] = -static_cast<float>(slots.rival[i]);
    for (std::size_t a = arcs; a-- > 0;) {
        const Arc& arc = network.arcs()[a];
        if (!met[arc.tail]) continue;
        prices.extend(a, from(arc.tail), through.data());
        if (least_sum(slots, through.data(), prices.way(arc.head), least.data()) > most) continue;
        kept[a] = 1;
        float* head = from(arc.head);
        if (met[arc.head])
            for (std::size_t i = 0; i < count; ++i) head[i] = std::min(head[i], through[i]);
        else
            std::copy(through.begin(), through.end(), head);
        met[arc.head] = 1;
    }
    // Arcs that lead to none of the others are not on a route.
    std::vector<std::int32_t> found;
    leads[Network::target()] = 1;
    for (std::size_t a = 0; a < arcs; ++a) {
        const Arc& arc = network.arcs()[a];
        if (!kept[a] || !leads[arc.head]) continue;
        leads[arc.tail] = 1;
        found.push_back(static_cast<std::int32_t>(a));
    }
    return found;
}

class Tolls {
public:
    // None at first, on the whole network.
    Tolls(std::shared_ptr<const RouteTable> routes, std::int32_t trees)
        : routes_(std::move(routes)),
          network_(routes_->network()),
          trees_(static_cast<std::size_t>(trees)),
          toll_(network_.arcs().size() * trees_, 0.0) {}

    const Network& network() const { return network_; }
    std::size_t trees() const { return trees_; }

    // What trees agree on over the leaves that a box meets.
    struct Agreement {
        PricedArcs<float> prices;        // with better tolls
        double rounding;                 // by how much sums over trees of what a route costs can be wrong
        double bound = 0.0;              // no route costs less, up to that
        std::vector<std::int32_t> arcs;  // that a route within tau can take: their numbers
    };
    // Raise the bound over these leaves, as long as it is at most `tau`, so many times.
    Agreement agree(const LeafSlots& slots, double tau, int rounds) const {
        Agreement found{prices<float>(slots), 0.0, 0.0, {}};
        PricedArcs<float>& prices = found.prices;
        Takers takers(prices);
        double best = takers.take();
        const double scale = std::abs(best);
        double total = best, factor = kSettings.plans.first_step;
        // The best tolls so far, where they are not the latest.
        std::vector<float> kept;
        for (int round = 0; round < rounds && total <= tau; ++round, factor *= kSettings.plans.next_step) {
            const double apart = takers.apart();
            if (apart < 0.5) break;
            if (total == best) kept.assign(prices.toll(0), prices.toll(network_.arcs().size()));
            takers.change(factor *
                          std::max(tau + kSettings.plans.more * scale - total, kSettings.plans.least_step * scale) /
                          apart);
            total = takers.take();
            best = std::max(best, total);
        }
        if (total < best) {
            std::copy(kept.begin(), kept.end(), prices.toll(0));
            prices.find_ways();
        }
        found.bound = best;
        const double dearest =
            static_cast<double>(largest_size(prices.toll(0), network_.arcs().size() * slots.trees()));
        found.rounding = rounding(dearest, std::numeric_limits<float>::epsilon(), rounds);
        found.arcs = arcs_within(prices, tau + found.rounding);
        return found;
    }

    // Those that were agreed on, on the arcs that are left; and these as they are, on some arcs, by place in the whole
    // network, in order. All of them lie on routes.
    Tolls after(const Agreement& agreed) const {
        Network part = network_.part(agreed.arcs);
        const std::vector<std::size_t>& tree = agreed.prices.slots().tree;
        std::vector<double> toll(agreed.arcs.size() * trees_);
        double dearest = 0.0;
        for (std::size_t a = 0; a < agreed.arcs.size(); ++a) {
            const float* found = agreed.prices.toll(static_cast<std::size_t>(agreed.arcs[a]));
            // Without what rounding has left of the sum over trees.
            double sums[4] = {0.0, 0.0, 0.0, 0.0};
            for (std::size_t k = 0; k < trees_; ++k) sums[k % 4] += static_cast<double>(found[k]);
            const double mean = (sums[0] + sums[1] + sums[2] + sums[3]) / static_cast<double>(trees_);
            double* const own = toll.data() + a * trees_;
            for (std::size_t k = 0; k < trees_; ++k) own[tree[k]] = static_cast<double>(found[k]) - mean;
            dearest = std::max(dearest, largest_size(own, trees_));
        }
        return {routes_, std::move(part), trees_, std::move(toll), dearest};
    }

    Tolls on(std::span<const std::int32_t> places) const {
        std::vector<std::int32_t> arcs;
        std::vector<double> toll;
        toll.reserve(places.size() * trees_);
        auto next = places.begin();
        for (std::size_t a = 0; a < network_.arcs().size() && next != places.end(); ++a) {
            if (network_.arcs()[a].place != *next) continue;
            ++next;
            arcs.push_back(static_cast<std::int32_t>(a));
            toll.insert(toll.end(), toll_.data() + a * trees_, toll_.data() + (a + 1) * trees_);
        }
        return {routes_, network_.part(arcs), trees_, std::move(toll), dearest_};
    }

    template <class Number>
    PricedArcs<Number> prices(const LeafSlots& slots) const {
        return {network_, slots, [&](std::int32_t leaf) { return routes_->costs(leaf); },
                [&](std::size_t a) { return toll_.data() + a * trees_; }};
    }
    // The same for prices with all digits.
    double rounding() const { return rounding(dearest_, std::numeric_limits<double>::epsilon(), 0); }

private:
    Tolls(std::shared_ptr<const RouteTable> routes, Network network, std::size_t trees, std::vector<double> toll,
          double dearest)
        : routes_(std::move(routes)),
          network_(std::move(network)),
          trees_(trees),
          toll_(std::move(toll)),
          dearest_(dearest) {}

    // Sums along a route of prices, which changed so often, and over the trees: each is wrong by less than a digit of
    // the most that it can come to.
    double rounding(double dearest, double epsilon, int changes) const {
        const double longest = network_.longest();
        const double along = epsilon * (longest + changes + 4.0);
        const double over_trees = std::numeric_limits<double>::epsilon() * static_cast<double>(trees_);
        return static_cast<double>(trees_) * (routes_->dearest() + dearest) * longest * (along + over_trees);
    }

    std::shared_ptr<const RouteTable> routes_;
    Network network_;
    std::size_t trees_;
    std::vector<double> toll_;  // by arc and tree; those of an arc add up to nothing
    double dearest_ = 0.0;      // none of them is larger
};

}  // namespace whence
