#include "route_table.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace whence {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

// Sum over trees of the least value among the reached leaves.
template <class Value>
double least_sum(std::span<const std::size_t> first, Value value) {
    double total = 0.0;
    for (std::size_t t = 0; t + 1 < first.size(); ++t) {
        double least = INFINITE;
        for (std::size_t i = first[t]; i < first[t + 1]; ++i) least = std::min(least, value(i));
        total += least;
    }
    return total;
}

}  // namespace

RouteTable::RouteTable(std::shared_ptr<const std::vector<double>> costs, std::int32_t edges, std::vector<Arc> arcs,
                       std::int32_t nodes, std::int32_t source, std::int32_t target)
    : costs_(std::move(costs)),
      edges_(edges),
      arcs_(std::move(arcs)),
      nodes_(nodes),
      source_(source),
      target_(target),
      leaving_(static_cast<std::size_t>(nodes)) {
    std::vector<char> settled(static_cast<std::size_t>(nodes), 0);
    settled[target_] = 1;
    for (const Arc& arc : arcs_) {
        if (!settled[arc.head]) throw std::invalid_argument("The arcs must come from the target backwards.");
        settled[arc.tail] = 1;
        leaving_[arc.tail].push_back(arc);
    }
    if (!settled[source_]) throw std::invalid_argument("There must be a route.");
    const auto count = static_cast<std::size_t>(leaves());
    auto turned = std::make_shared<std::vector<double>>(costs_->size());
    // A few edges at a time, so that what is written stays at hand.
    constexpr std::size_t TOGETHER = 8;
    const auto width = static_cast<std::size_t>(edges_);
    for (std::size_t from = 0; from < width; from += TOGETHER)
        for (std::size_t l = 0; l < count; ++l)
            for (std::size_t e = from; e < std::min(width, from + TOGETHER); ++e)
                (*turned)[e * count + l] = (*costs_)[l * width + e];
    by_edge_ = std::move(turned);
}

double RouteTable::routes() const {
    std::vector<double> ways(static_cast<std::size_t>(nodes_), 0.0);
    ways[target_] = 1.0;
    for (const Arc& arc : arcs_) ways[arc.tail] += ways[arc.head];
    return ways[source_];
}

std::vector<double> RouteTable::sum(LeafView leaves) const {
    std::vector<double> total(static_cast<std::size_t>(edges_), 0.0);
    for (const std::int32_t leaf : leaves) {
        const double* own = costs_of(leaf);
        for (std::size_t e = 0; e < total.size(); ++e) total[e] += own[e];
    }
    return total;
}

// The least total from every node, of which that of the source; the arc, by its place, by which to leave each.
double RouteTable::to_target(const std::vector<double>& total, std::vector<std::int32_t>& next) const {
    std::vector<double> distance(static_cast<std::size_t>(nodes_), INFINITE);
    distance[target_] = 0.0;
    next.assign(static_cast<std::size_t>(nodes_), -1);
    for (std::size_t a = 0; a < arcs_.size(); ++a) {
        const Arc& arc = arcs_[a];
        const double through = total[arc.edge] + distance[arc.head];
        if (through < distance[arc.tail]) {
            distance[arc.tail] = through;
            next[arc.tail] = static_cast<std::int32_t>(a);
        }
    }
    return distance[source_];
}

double RouteTable::cheapest(const std::vector<double>& total, Route* route) const {
    std::vector<std::int32_t> next;
    const double least = to_target(total, next);
    if (route != nullptr) {
        route->clear();
        for (std::int32_t node = source_; node != target_; node = arcs_[next[node]].head)
            route->push_back(arcs_[next[node]].edge);
    }
    return least;
}

std::vector<double> RouteTable::row(const Route& route) const {
    std::vector<double> found(static_cast<std::size_t>(leaves()), 0.0);
    for (const std::int32_t e : route) {
        const double* cost = edge(e);
        for (std::size_t l = 0; l < found.size(); ++l) found[l] += cost[l];
    }
    return found;
}

RouteTable::Listing RouteTable::list(const Reached& reached, const std::vector<double>& ways, double tau,
                                     std::size_t most, std::int64_t steps) const {
    const std::size_t count = reached.leaves.size();
    struct Step {
        std::int32_t node;
        std::size_t next;  // arc to try
    };
    Listing listing;
    Route route;
    std::vector<Step> stack{{source_, 0}};
    // By length of the route so far: its cost in every reached leaf, less the rival.
    std::vector<std::vector<double>> spent(1, std::vector<double>(count));
    for (std::size_t i = 0; i < count; ++i) spent[0][i] = -reached.rival[i];
    while (!stack.empty()) {
        Step& top = stack.back();
        if (top.next == leaving_[top.node].size()) {
            stack.pop_back();
            if (!route.empty()) route.pop_back();
            continue;
        }
        if (--steps < 0) {
            listing.whole = false;
            return listing;
        }
        const Arc arc = leaving_[top.node][top.next++];
        if (spent.size() == stack.size()) spent.emplace_back(count);
        const std::vector<double>& before = spent[stack.size() - 1];
        std::vector<double>& cost = spent[stack.size()];
        const double* own = edge(arc.edge);
        for (std::size_t i = 0; i < count; ++i) cost[i] = before[i] + own[reached.leaves[i]];
        const double* rest = ways.data() + static_cast<std::size_t>(arc.head) * count;
        if (least_sum(reached.first, [&](std::size_t i) { return cost[i] + rest[i]; }) > tau) continue;
        route.push_back(arc.edge);
        if (arc.head != target_) {
            stack.push_back({arc.head, 0});
            continue;
        }
        if (listing.routes.size() == most) {
            listing.whole = false;
            return listing;
        }
        listing.routes.push_back(route);
        route.pop_back();
    }
    return listing;
}

}  // namespace whence
