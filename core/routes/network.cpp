#include "routes/network.hpp"

#include <algorithm>
#include <stdexcept>

namespace whence {

Network::Network(std::span<const Arc> arcs, std::int32_t nodes, std::int32_t source, std::int32_t target) {
    std::vector<char> settled(static_cast<std::size_t>(nodes), 0);
    settled[target] = 1;
    for (const Arc& arc : arcs) {
        if (!settled[arc.head]) throw std::invalid_argument("The arcs must come from the target backwards.");
        settled[arc.tail] = 1;
    }
    lay_out(arcs, nodes, source, target);
    for (std::size_t a = 0; a < arcs_.size(); ++a) arcs_[a].place = static_cast<std::int32_t>(a);
}

void Network::lay_out(std::span<const Arc> arcs, std::int32_t nodes, std::int32_t source, std::int32_t target) {
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

double Network::routes() const {
    if (!has_route()) return 0.0;
    std::vector<double> ways(static_cast<std::size_t>(nodes()), 0.0);
    ways[target()] = 1.0;
    for (const Arc& arc : arcs_) ways[arc.tail] += ways[arc.head];
    return ways[source()];
}

std::int32_t Network::longest() const {
    if (!has_route()) return 0;
    std::vector<std::int32_t> length(static_cast<std::size_t>(nodes()), 0);
    for (const Arc& arc : arcs_) length[arc.tail] = std::max(length[arc.tail], 1 + length[arc.head]);
    return length[source()];
}

Network Network::part(std::span<const std::int32_t> arcs) const {
    std::vector<Arc> some;
    for (const std::int32_t a : arcs) some.push_back(arcs_[a]);
    Network found;
    found.lay_out(some, std::max(nodes(), 1), std::max(source(), 0), target());
    return found;
}

}  // namespace whence
