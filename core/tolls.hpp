// Tolls: what every tree charges for the edges of a network, so that trees agree on a route.
//
// The sum over trees of the least that a route can cost, leaf by leaf, bounds all routes over a box at once. It is strong
// where all trees would take the same route, and weak in a large network, where each of them has its own. Tolls that add
// up to nothing over the trees change what no route costs in all trees together. An edge that some trees would take
// becomes dearer for them and cheaper for the others, until they nearly agree: the Lagrangian dual of taking one route.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "route_table.hpp"

namespace whence {

class Tolls {
public:
    // None at first.
    Tolls(std::shared_ptr<const RouteTable> routes, std::int32_t trees);

    const RouteTable& routes() const { return *routes_; }
    std::size_t trees() const { return trees_; }

    // Raise the bound over the leaves that a box meets, as long as it is at most `tau`, so many times.
    void agree(const RouteTable::Reached& reached, double tau, int rounds);

    // By node and reached leaf: the leaf's own cheapest way to the target, tolls included. For every way from a node to
    // the target, the sum over trees of the least of them is below what it costs, also with rounding.
    std::vector<double> ways(const RouteTable::Reached& reached) const;

private:
    struct Prices;

    std::shared_ptr<const RouteTable> routes_;
    std::size_t trees_;
    std::vector<double> toll_;  // by edge and tree; those of an edge add up to nothing
};

}  // namespace whence
