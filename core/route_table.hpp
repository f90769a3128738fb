// Routes through an acyclic network, and what each leaf says about its edges: cheapest routes by dynamic programming, and
// lists of the routes that can still be cheap enough in a box.
//
// A route that begins with some edges and is at a node costs at least, over the leaves that a box meets, the sum over trees
// of the least cost so far plus the way on, leaf by leaf. The way on is bounded twice: by each leaf's own cheapest way, and
// by one tree of ways for all leaves (the cheapest ones at the box's projection) with what every edge off that tree gains
// in each tree of the forest. The second is exact for the tree's own routes.
//
// The first is as strong as the trees agree on a route. So they are made to: every tree charges tolls for the edges, which
// add up to nothing over the trees, and those that a tree would take while others do not become dearer for it.
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
    // How many routes there are, in floating point.
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
    struct Tolls {
        std::vector<double> way;  // by node and leaf: the leaf's own cheapest way to the target, with tolls
        double rounding = 0.0;    // by how much sums over trees may be wrong
    };
    // Without tolls; and those that bring the bound for all routes over a box near its largest value. `first_leaf` of
    // each tree, and the end.
    Tolls no_tolls(std::span<const std::int32_t> first_leaf) const;
    Tolls tolls(const Reached& reached, std::span<const std::int32_t> first_leaf, double tau) const;
    // What is left of the cheapest way from the source by leaf.
    std::span<const double> from_source(const Tolls& tolls) const {
        return std::span(tolls.way).subspan(static_cast<std::size_t>(source_) * static_cast<std::size_t>(leaves()),
                                            static_cast<std::size_t>(leaves()));
    }

    struct Listing {
        bool whole = true;          // whether all routes were looked at
        std::vector<Route> routes;  // that can be cheap enough
    };
    // The routes whose bound over the box is at most `tau`, given the totals at its projection; at most so many, by at
    // most so many steps.
    Listing list(const Reached& reached, const Tolls& tolls, const std::vector<double>& here, double tau,
                 std::size_t most, std::int64_t steps) const;

    // A bound for all routes together: the sum over trees of the least of what `ways` says of the leaves, plus `gain`.
    struct Tableau {
        std::vector<double> ways;  // of each reached leaf: the cheapest route of the projection, less the rival
        double gain;               // what edges off its tree can gain, never positive
    };
    Tableau tableau(const Reached& reached, const std::vector<double>& here) const;

private:
    struct Potentials;

    const double* costs_of(std::int32_t leaf) const {
        return costs_->data() + static_cast<std::size_t>(leaf) * static_cast<std::size_t>(edges_);
    }
    // What an edge costs, by leaf.
    const double* edge(std::int32_t edge) const {
        return by_edge_->data() + static_cast<std::size_t>(edge) * static_cast<std::size_t>(leaves());
    }
    std::vector<double> agreed(const Reached& reached, double tau) const;
    Tolls with_ways(const std::vector<double>& toll, std::span<const std::int32_t> first_leaf) const;
    double to_target(const std::vector<double>& total, std::vector<std::int32_t>& next) const;
    Potentials potentials(const Reached& reached, const std::vector<double>& here) const;

    std::shared_ptr<const std::vector<double>> costs_, by_edge_;  // by leaf and edge, and the other way round
    std::int32_t edges_;
    std::vector<Arc> arcs_;
    std::int32_t nodes_, source_, target_;
    std::vector<std::vector<Arc>> leaving_;
};

}  // namespace whence
