#include "tolls.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace whence {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
constexpr float FAR = std::numeric_limits<float>::infinity();
// Sums of as many prices as there are nodes, over the trees, are wrong by less than this share of the largest for each.
constexpr double ROUNDING = 1e-15;
// A step leads towards a bound that is more than enough by such a share of what it began with, but not less than such a
// share; the first one by this factor, every further one by less.
constexpr double MORE = 0.02, LEAST_STEP = 0.05, FIRST = 1.1, NEXT = 0.95;

}  // namespace

// What edges and ways cost in the leaves that a box meets, and the routes that the trees would take. Any tolls are valid:
// they are found with half the digits.
struct Tolls::Prices {
    Prices(const RouteTable& table, const RouteTable::Reached& reached, const std::vector<double>& toll)
        : routes(table),
          leaves(reached),
          count(reached.leaves.size()),
          trees(reached.first.size() - 1),
          price(static_cast<std::size_t>(table.edges()) * count),
          way(static_cast<std::size_t>(table.nodes()) * count),
          taken(static_cast<std::size_t>(table.edges()) * trees),
          takers(static_cast<std::size_t>(table.edges())) {
        for (std::size_t e = 0; e < takers.size(); ++e) {
            const double* cost = routes.edge(static_cast<std::int32_t>(e));
            for (std::size_t t = 0; t < trees; ++t)
                for (std::size_t i = leaves.first[t]; i < leaves.first[t + 1]; ++i)
                    price[e * count + i] = static_cast<float>(cost[leaves.leaves[i]] + toll[e * trees + t]);
        }
    }

    // The bound; every tree takes the cheapest route of its best leaf.
    double take() {
        find_ways();
        std::fill(taken.begin(), taken.end(), 0);
        std::fill(takers.begin(), takers.end(), 0);
        const float* source = way.data() + static_cast<std::size_t>(routes.source()) * count;
        double total = 0.0;
        for (std::size_t t = 0; t < trees; ++t) {
            std::size_t best = leaves.first[t];
            double least = INFINITE;
            for (std::size_t i = leaves.first[t]; i < leaves.first[t + 1]; ++i)
                if (source[i] - leaves.rival[i] < least) {
                    least = source[i] - leaves.rival[i];
                    best = i;
                }
            total += least;
            if (least < INFINITE) follow(t, best);
        }
        return total;
    }

    void find_ways() {
        std::fill(way.begin(), way.end(), FAR);
        std::fill_n(way.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(routes.target()) * count), count,
                    0.0f);
        for (const RouteTable::Arc& arc : routes.arcs()) {
            float* tail = way.data() + static_cast<std::size_t>(arc.tail) * count;
            const float* head = way.data() + static_cast<std::size_t>(arc.head) * count;
            const float* own = price.data() + static_cast<std::size_t>(arc.edge) * count;
            for (std::size_t i = 0; i < count; ++i) tail[i] = std::min(tail[i], own[i] + head[i]);
        }
    }

    void follow(std::size_t tree, std::size_t leaf) {
        for (std::int32_t node = routes.source(); node != routes.target();) {
            const RouteTable::Arc* on = nullptr;
            float cheapest = FAR;
            for (const RouteTable::Arc& arc : routes.leaving(node)) {
                const float through = price[static_cast<std::size_t>(arc.edge) * count + leaf] +
                                      way[static_cast<std::size_t>(arc.head) * count + leaf];
                if (on == nullptr || through < cheapest) {
                    on = &arc;
                    cheapest = through;
                }
            }
            taken[static_cast<std::size_t>(on->edge) * trees + tree] = 1;
            ++takers[on->edge];
            node = on->head;
        }
    }

    // By how much the trees are apart: the squared length of the direction in which tolls change.
    double apart() const {
        double total = 0.0;
        for (const std::int32_t n : takers) total += n - static_cast<double>(n) * n / static_cast<double>(trees);
        return total;
    }

    void change(double step, std::vector<double>& toll) {
        for (std::size_t e = 0; e < takers.size(); ++e) {
            if (takers[e] == 0) continue;
            const double share = takers[e] / static_cast<double>(trees);
            for (std::size_t t = 0; t < trees; ++t) {
                const double more = step * (taken[e * trees + t] - share);
                toll[e * trees + t] += more;
                for (std::size_t i = leaves.first[t]; i < leaves.first[t + 1]; ++i)
                    price[e * count + i] += static_cast<float>(more);
            }
        }
    }

    const RouteTable& routes;
    const RouteTable::Reached& leaves;
    std::size_t count, trees;
    std::vector<float> price, way;     // by edge, or node, and reached leaf
    std::vector<char> taken;           // by edge and tree
    std::vector<std::int32_t> takers;  // of each edge
};

Tolls::Tolls(std::shared_ptr<const RouteTable> routes, std::int32_t trees)
    : routes_(std::move(routes)),
      trees_(static_cast<std::size_t>(trees)),
      toll_(static_cast<std::size_t>(routes_->edges()) * trees_, 0.0) {}

void Tolls::agree(const RouteTable::Reached& reached, double tau, int rounds) {
    Prices prices(*routes_, reached, toll_);
    std::vector<double> toll = toll_;
    double best = -INFINITE, scale = 0.0, factor = FIRST;
    for (int round = 0; round <= rounds; ++round, factor *= NEXT) {
        const double total = prices.take();
        if (round == 0) scale = std::abs(total);
        if (total > best) {
            best = total;
            toll_ = toll;
        }
        const double apart = prices.apart();
        if (round == rounds || total > tau || apart < 0.5) break;
        prices.change(factor * std::max(tau + MORE * scale - total, LEAST_STEP * scale) / apart, toll);
    }
}

std::vector<double> Tolls::ways(const RouteTable::Reached& reached) const {
    const std::size_t count = reached.leaves.size();
    std::vector<double> way(static_cast<std::size_t>(routes_->nodes()) * count, INFINITE);
    std::fill_n(way.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(routes_->target()) * count), count,
                0.0);
    double largest = 0.0;
    for (const RouteTable::Arc& arc : routes_->arcs()) {
        double* tail = way.data() + static_cast<std::size_t>(arc.tail) * count;
        const double* head = way.data() + static_cast<std::size_t>(arc.head) * count;
        const double* cost = routes_->edge(arc.edge);
        const double* toll = toll_.data() + static_cast<std::size_t>(arc.edge) * trees_;
        for (std::size_t t = 0; t < trees_; ++t)
            for (std::size_t i = reached.first[t]; i < reached.first[t + 1]; ++i) {
                const double price = cost[reached.leaves[i]] + toll[t];
                largest = std::max(largest, std::abs(price));
                tail[i] = std::min(tail[i], price + head[i]);
            }
    }
    const double rounding = ROUNDING * largest * static_cast<double>(routes_->nodes());  // of each tree
    for (double& one : way) one -= rounding;
    return way;
}

}  // namespace whence
