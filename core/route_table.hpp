// Routes through an acyclic network, and what each leaf says about its edges: cheapest routes by dynamic programming, and
// lists of the routes that can still be cheap enough in a box.
//
// A route that begins with some edges and is at a node costs at least, over the leaves that a box meets, the sum over trees
// of the least cost so far plus the way on, leaf by leaf: each leaf's own cheapest way, with tolls (see tolls.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "grid.hpp"

namespace whence {

using Route = std::vector<std::int32_t>;  // its edges

class RouteTable {
public:
    struct Arc {
        std::int32_t tail, edge, head;
    };
    // `costs` by leaf and edge, divided by the number of trees. `arcs` in an order in which all that leave a node's heads
    // come before those that enter it: from the target backwards.
    RouteTable(std::shared_ptr<const std::vector<double>> costs, std::int32_t edges, std::vector<Arc> arcs,
               std::int32_t nodes, std::int32_t source, std::int32_t target);

    std::int32_t edges() const { return edges_; }
    std::int32_t leaves() const { return static_cast<std::int32_t>(costs_->size() / static_cast<std::size_t>(edges_)); }
    std::int32_t nodes() const { return nodes_; }
    std::int32_t source() const { return source_; }
    std::int32_t target() const { return target_; }
    const std::vector<Arc>& arcs() const { return arcs_; }
    const std::vector<Arc>& leaving(std::int32_t node) const { return leaving_[node]; }
    // What an edge costs, by leaf.
    const double* edge(std::int32_t edge) const {
        return by_edge_->data() + static_cast<std::size_t>(edge) * static_cast<std::size_t>(leaves());
    }
    // How many routes there are, as a floating-point number: they may be very many.
    double routes() const;

    // What every edge costs where each tree has one of these leaves.
    std::vector<double> sum(LeafView leaves) const;
    // The least total of a route, and that route.
    double cheapest(const std::vector<double>& total, Route* route = nullptr) const;
    // What each leaf adds to the cost of a route.
    std::vector<double> row(const Route& route) const;

    // The leaves that a box meets, those of tree t from first[t] on, and what the rival costs in each of them.
    struct Reached {
        std::span<const std::int32_t> leaves;
        std::span<const std::size_t> first;
        std::span<const double> rival;
    };
    struct Listing {
        bool whole = true;          // whether all routes were looked at
        std::vector<Route> routes;  // that can be cheap enough
    };
    // The routes whose bound over the box is at most `tau`, given the cheapest way of each leaf, by node and reached leaf
    // (see Tolls::ways); at most so many, by at most so many steps.
    Listing list(const Reached& reached, const std::vector<double>& ways, double tau, std::size_t most,
                 std::int64_t steps) const;

private:
    const double* costs_of(std::int32_t leaf) const {
        return costs_->data() + static_cast<std::size_t>(leaf) * static_cast<std::size_t>(edges_);
    }
    double to_target(const std::vector<double>& total, std::vector<std::int32_t>& next) const;

    std::shared_ptr<const std::vector<double>> costs_, by_edge_;  // by leaf and edge, and the other way round
    std::int32_t edges_;
    std::vector<Arc> arcs_;
    std::int32_t nodes_, source_, target_;
    std::vector<std::vector<Arc>> leaving_;
};

}  // namespace whence
