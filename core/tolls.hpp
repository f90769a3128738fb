// Tolls: what every tree charges for the arcs of a network, so that trees agree on a route.
//
// The sum over trees of the least that a route can cost, leaf by leaf, bounds all routes over a box at once. It is strong
// where all trees would take the same route, and weak in a large network, where each of them has its own. Tolls that add
// up to nothing over the trees change what no route costs in all trees together. An arc that some trees would take
// becomes dearer for them and cheaper for the others, until they nearly agree: the Lagrangian dual of taking one route.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "priced_arcs.hpp"
#include "route_table.hpp"

namespace whence {

class Tolls {
public:
    // None at first, on the whole network.
    Tolls(std::shared_ptr<const RouteTable> routes, std::int32_t trees);

    // The same on a part of the network: numbers of arcs, in order.
    Tolls on(std::span<const std::int32_t> arcs) const;

    const RouteTable& routes() const { return *routes_; }
    const Network& network() const { return network_; }
    std::size_t trees() const { return trees_; }

    // Raise the bound over the leaves that a box meets, as long as it is at most `tau`, so many times. Returns the numbers
    // of the arcs that a route within `tau` can take.
    std::vector<std::int32_t> agree(const LeafSlots& slots, double tau, int rounds);

    template <class Number>
    PricedArcs<Number> prices(const LeafSlots& slots) const;

    // By how much the sum over trees of what routes of so many arcs cost can be wrong, with numbers of this precision.
    double rounding(double longest, double epsilon) const;

private:
    Tolls(std::shared_ptr<const RouteTable> routes, Network network, std::size_t trees, std::vector<double> toll,
          double dearest)
        : routes_(std::move(routes)),
          network_(std::move(network)),
          trees_(trees),
          toll_(std::move(toll)),
          dearest_(dearest) {}
    void keep(const PricedArcs<float>& prices);

    std::shared_ptr<const RouteTable> routes_;
    Network network_;
    std::size_t trees_;
    std::vector<double> toll_;  // by arc and tree; those of an arc add up to nothing
    double dearest_ = 0.0;      // none of them is larger
};

}  // namespace whence
