// A network without cycles, laid out for finding the ways from its nodes to the target.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "base/settings.hpp"

namespace whence {

using Route = std::vector<std::int32_t>;  // its edges

struct Arc {
    std::int32_t tail, edge, head;
    std::int32_t place = 0;  // in the whole network
};

class Network {
public:
    // `arcs` in an order in which all that leave a node's heads come before those that enter it: from the target
    // backwards. Only those count that lie on a route from the source to the target.
    Network(std::span<const Arc> arcs, std::int32_t nodes, std::int32_t source, std::int32_t target) {
        std::vector<char> settled(static_cast<std::size_t>(nodes), 0);
        settled[target] = 1;
        for (const Arc& arc : arcs) {
            if (!settled[arc.head]) throw std::invalid_argument("The arcs must come from the target backwards.");
            settled[arc.tail] = 1;
        }
        lay_out(arcs, nodes, source, target);
        if (!has_route()) throw std::invalid_argument("There must be a route.");
        for (std::size_t a = 0; a < arcs_.size(); ++a) arcs_[a].place = static_cast<std::int32_t>(a);
    }

    // Nodes on routes, numbered from the target, which is 0, so that every arc leads to a smaller number; the source is
    // the last one. None where there is no route.
    std::int32_t nodes() const { return static_cast<std::int32_t>(first_.size()) - 1; }
    std::int32_t source() const { return nodes() - 1; }
    static constexpr std::int32_t target() { return 0; }
    bool has_route() const { return nodes() > 0; }
    // Those that leave a node come together, nodes in their order.
    const std::vector<Arc>& arcs() const { return arcs_; }
    std::size_t first(std::int32_t node) const { return first_[node]; }
    std::size_t last(std::int32_t node) const { return first_[node + 1]; }
    // One more than the largest number of an edge.
    std::int32_t edges() const {
        std::int32_t count = 0;
        for (const Arc& arc : arcs_) count = std::max(count, arc.edge + 1);
        return count;
    }
    // How many routes there are, as a floating-point number: they may be very many.
    double routes() const {
        if (!has_route()) return 0.0;
        std::vector<double> ways(static_cast<std::size_t>(nodes()), 0.0);
        ways[target()] = 1.0;
        for (const Arc& arc : arcs_) ways[arc.tail] += ways[arc.head];
        return ways[source()];
    }
    // The least sum of a number of each arc along a route, `price(a)`, and by node the least one from there to the
    // target; `by(a)` is told each arc that is then the best one to leave its node by.
    template <class Price, class By>
    double cheapest(std::vector<double>& distance, Price price, By by) const {
        distance.assign(static_cast<std::size_t>(nodes()), kInfinity);
        distance[target()] = 0.0;
        for (std::size_t a = 0; a < arcs_.size(); ++a) {
            const double through = price(a) + distance[arcs_[a].head];
            if (through >= distance[arcs_[a].tail]) continue;
            distance[arcs_[a].tail] = through;
            by(a);
        }
        return distance[source()];
    }
    // The longest one's arcs.
    std::int32_t longest() const {
        if (!has_route()) return 0;
        std::vector<std::int32_t> length(static_cast<std::size_t>(nodes()), 0);
        for (const Arc& arc : arcs_) length[arc.tail] = std::max(length[arc.tail], 1 + length[arc.head]);
        return length[source()];
    }
    // What is left where only these arcs may be taken: numbers of arcs, in order.
    Network part(std::span<const std::int32_t> arcs) const {
        std::vector<Arc> some;
        for (const std::int32_t a : arcs) some.push_back(arcs_[a]);
        Network found;
        found.lay_out(some, std::max(nodes(), 1), std::max(source(), 0), target());
        return found;
    }

private:
    Network() = default;

    void lay_out(std::span<const Arc> arcs, std::int32_t nodes, std::int32_t source, std::int32_t target) {
        const auto count = static_cast<std::size_t>(nodes);
        std::vector<char> leads(count, 0), reached(count, 0);  // to the target; from the source
        leads[target] = 1;
        for (const Arc& arc : arcs) leads[arc.tail] |= leads[arc.head];
        reached[source] = leads[source];
        for (auto arc = arcs.rbegin(); arc != arcs.rend(); ++arc)
            reached[arc->head] |= reached[arc->tail] & leads[arc->head];
        // A node comes after all that its arcs lead to: so do the last arcs of each in the order that was given.
        std::vector<std::int32_t> number(count, -1), order;
        for (auto arc = arcs.rbegin(); arc != arcs.rend(); ++arc) {
            if (!reached[arc->tail] || !leads[arc->head] || number[arc->tail] >= 0) continue;
            number[arc->tail] = static_cast<std::int32_t>(order.size());
            order.push_back(arc->tail);
        }
        if (reached[target]) order.push_back(target);
        std::reverse(order.begin(), order.end());
        for (std::size_t k = 0; k < order.size(); ++k) number[order[k]] = static_cast<std::int32_t>(k);
        first_.assign(order.size() + 1, 0);
        const auto kept = [&](const Arc& arc) { return reached[arc.tail] && leads[arc.head]; };
        for (const Arc& arc : arcs)
            if (kept(arc)) ++first_[number[arc.tail] + 1];
        for (std::size_t k = 0; k + 1 < first_.size(); ++k) first_[k + 1] += first_[k];
        arcs_.resize(first_.back());
        std::vector<std::size_t> next(first_.begin(), first_.end());
        for (const Arc& arc : arcs)
            if (kept(arc)) arcs_[next[number[arc.tail]]++] = {number[arc.tail], arc.edge, number[arc.head], arc.place};
    }

    std::vector<Arc> arcs_;
    std::vector<std::size_t> first_;  // of each node's arcs, and the end
};

}  // namespace whence
