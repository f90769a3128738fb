#include "route_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace whence {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
// Sums of as many prices as a route has edges, over the trees, are wrong by less than this share of them.
constexpr double ROUNDING = 1e-15;
// How often tolls are changed, and by how much of what is missing: the bound aims at a little more than is needed, and a
// step at no less than such a share of what it began with.
constexpr int ROUNDS = 30;
constexpr double MORE = 0.02, LEAST_STEP = 0.05;

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

// By node and reached leaf: the way to the target along the tree of the projection; by node: what other edges can gain.
struct RouteTable::Potentials {
    std::vector<double> way;
    std::vector<double> gain;
};

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

RouteTable::Tolls RouteTable::no_tolls(std::span<const std::int32_t> first_leaf) const {
    return with_ways(std::vector<double>(static_cast<std::size_t>(edges_) * (first_leaf.size() - 1), 0.0), first_leaf);
}

RouteTable::Tolls RouteTable::tolls(const Reached& reached, std::span<const std::int32_t> first_leaf,
                                    double tau) const {
    return with_ways(agreed(reached, tau), first_leaf);
}

// The cheapest ways of all leaves with these tolls.
RouteTable::Tolls RouteTable::with_ways(const std::vector<double>& toll, std::span<const std::int32_t> first_leaf) const {
    const std::size_t count = static_cast<std::size_t>(leaves()), trees = first_leaf.size() - 1;
    Tolls made{std::vector<double>(static_cast<std::size_t>(nodes_) * count, INFINITE)};
    std::fill_n(made.way.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(target_) * count), count, 0.0);
    double largest = 0.0;
    for (const Arc& arc : arcs_) {
        double* tail = made.way.data() + static_cast<std::size_t>(arc.tail) * count;
        const double* head = made.way.data() + static_cast<std::size_t>(arc.head) * count;
        const double* cost = edge(arc.edge);
        const double* tolls = toll.data() + static_cast<std::size_t>(arc.edge) * trees;
        for (std::size_t t = 0; t < trees; ++t) {
            const double own = tolls[t];
            for (std::int32_t l = first_leaf[t]; l < first_leaf[t + 1]; ++l) {
                const double price = cost[l] + own;
                largest = std::max(largest, std::abs(price));
                tail[l] = std::min(tail[l], price + head[l]);
            }
        }
    }
    made.rounding = ROUNDING * largest * static_cast<double>(nodes_) * static_cast<double>(trees);
    return made;
}

// Tolls by edge and tree, by subgradients: every tree takes the cheapest route of its best leaf, and an edge becomes
// dearer for those that take it and cheaper for the others.
std::vector<double> RouteTable::agreed(const Reached& reached, double tau) const {
    const std::size_t count = reached.leaves.size(), trees = reached.first.size() - 1;
    const auto edges = static_cast<std::size_t>(edges_);
    // Tolls of any size will do: they are found with half the digits.
    std::vector<float> price(edges * count), way(static_cast<std::size_t>(nodes_) * count);
    for (std::size_t e = 0; e < edges; ++e) {
        const double* cost = edge(static_cast<std::int32_t>(e));
        for (std::size_t i = 0; i < count; ++i) price[e * count + i] = static_cast<float>(cost[reached.leaves[i]]);
    }
    std::vector<double> toll(edges * trees, 0.0), best_toll = toll;
    std::vector<char> taken(edges * trees, 0);
    std::vector<std::int32_t> takers(edges, 0);
    double best = -INFINITE, scale = 0.0;
    for (int round = 0; round < ROUNDS; ++round) {
        std::fill(way.begin(), way.end(), std::numeric_limits<float>::infinity());
        std::fill_n(way.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(target_) * count), count, 0.0f);
        for (const Arc& arc : arcs_) {
            float* tail = way.data() + static_cast<std::size_t>(arc.tail) * count;
            const float* head = way.data() + static_cast<std::size_t>(arc.head) * count;
            const float* own = price.data() + static_cast<std::size_t>(arc.edge) * count;
            for (std::size_t i = 0; i < count; ++i) tail[i] = std::min(tail[i], own[i] + head[i]);
        }
        std::fill(taken.begin(), taken.end(), 0);
        std::fill(takers.begin(), takers.end(), 0);
        const float* source = way.data() + static_cast<std::size_t>(source_) * count;
        double total = 0.0;
        for (std::size_t t = 0; t < trees; ++t) {
            std::size_t chosen = reached.first[t];
            double least = INFINITE;
            for (std::size_t i = reached.first[t]; i < reached.first[t + 1]; ++i)
                if (source[i] - reached.rival[i] < least) {
                    least = source[i] - reached.rival[i];
                    chosen = i;
                }
            total += least;
            for (std::int32_t node = source_; node != target_;) {
                const Arc* on = nullptr;
                float cheapest = std::numeric_limits<float>::infinity();
                for (const Arc& arc : leaving_[node]) {
                    const float through = price[static_cast<std::size_t>(arc.edge) * count + chosen] +
                                          way[static_cast<std::size_t>(arc.head) * count + chosen];
                    if (on == nullptr || through < cheapest) {
                        on = &arc;
                        cheapest = through;
                    }
                }
                taken[static_cast<std::size_t>(on->edge) * trees + t] = 1;
                ++takers[on->edge];
                node = on->head;
            }
        }
        if (round == 0) scale = std::abs(total);
        if (total > best) {
            best = total;
            best_toll = toll;
        }
        if (getenv("TOLLS")) fprintf(stderr, "%d %.4f\n", round, total);
        double apart = 0.0;  // squared length of the step's direction
        for (const std::int32_t n : takers) apart += n - static_cast<double>(n) * n / static_cast<double>(trees);
        if (total > tau || apart < 0.5) break;
        const double step = std::max(tau + MORE * scale - total, LEAST_STEP * scale) / apart;
        for (std::size_t e = 0; e < edges; ++e) {
            if (takers[e] == 0 || takers[e] == static_cast<std::int32_t>(trees)) continue;
            const double share = takers[e] / static_cast<double>(trees);
            for (std::size_t t = 0; t < trees; ++t) {
                const double more = step * (taken[e * trees + t] - share);
                toll[e * trees + t] += more;
                for (std::size_t i = reached.first[t]; i < reached.first[t + 1]; ++i)
                    price[e * count + i] += static_cast<float>(more);
            }
        }
    }
    return best_toll;
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

RouteTable::Potentials RouteTable::potentials(const Reached& reached, const std::vector<double>& here) const {
    const std::size_t count = reached.leaves.size();
    std::vector<std::int32_t> next;
    to_target(here, next);
    Potentials found{std::vector<double>(static_cast<std::size_t>(nodes_) * count, 0.0),
                     std::vector<double>(static_cast<std::size_t>(nodes_), INFINITE)};
    found.gain[target_] = 0.0;
    std::vector<char> known(static_cast<std::size_t>(nodes_), 0);
    known[target_] = 1;
    // A node's own arcs come together, after those of all its heads.
    for (std::size_t a = 0; a < arcs_.size(); ++a) {
        const Arc& arc = arcs_[a];
        double* tail = found.way.data() + static_cast<std::size_t>(arc.tail) * count;
        if (!known[arc.tail]) {
            known[arc.tail] = 1;
            const Arc& chosen = arcs_[next[arc.tail]];
            const double* head = found.way.data() + static_cast<std::size_t>(chosen.head) * count;
            const double* cost = edge(chosen.edge);
            for (std::size_t i = 0; i < count; ++i) tail[i] = cost[reached.leaves[i]] + head[i];
        }
        double gain = 0.0;
        if (static_cast<std::int32_t>(a) != next[arc.tail]) {
            const double* head = found.way.data() + static_cast<std::size_t>(arc.head) * count;
            const double* cost = edge(arc.edge);
            gain = least_sum(reached.first, [&](std::size_t i) { return cost[reached.leaves[i]] + head[i] - tail[i]; });
        }
        found.gain[arc.tail] = std::min(found.gain[arc.tail], gain + found.gain[arc.head]);
    }
    return found;
}

RouteTable::Tableau RouteTable::tableau(const Reached& reached, const std::vector<double>& here) const {
    const Potentials found = potentials(reached, here);
    const std::size_t count = reached.leaves.size();
    Tableau made{std::vector<double>(count), found.gain[source_]};
    for (std::size_t i = 0; i < count; ++i)
        made.ways[i] = found.way[static_cast<std::size_t>(source_) * count + i] - reached.rival[i];
    return made;
}

RouteTable::Listing RouteTable::list(const Reached& reached, const Tolls& tolls, const std::vector<double>& here,
                                     double tau, std::size_t most, std::int64_t steps) const {
    const Potentials found = potentials(reached, here);
    const std::size_t count = reached.leaves.size(), all = static_cast<std::size_t>(leaves());
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
        const double* own_cost = edge(arc.edge);
        for (std::size_t i = 0; i < count; ++i) cost[i] = before[i] + own_cost[reached.leaves[i]];
        const double* way = found.way.data() + static_cast<std::size_t>(arc.head) * count;
        const double* own = tolls.way.data() + static_cast<std::size_t>(arc.head) * all;
        const double along = found.gain[arc.head] +
                             least_sum(reached.first, [&](std::size_t i) { return cost[i] + way[i]; });
        if (along > tau) continue;
        // What the trees charge for the edges so far adds up to nothing.
        const double apart = least_sum(reached.first, [&](std::size_t i) { return cost[i] + own[reached.leaves[i]]; });
        if (apart > tau + tolls.rounding) continue;
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
