// Tolls: what every tree charges for the arcs of a network, so that trees agree on a route.
//
// The sum over trees of the least that a route can cost, leaf by leaf, bounds all routes over a box at once. It is
// strong where all trees would take the same route, and weak in a large network, where each of them has its own. Tolls
// that add up to nothing over the trees change what no route costs in all trees together. An arc that some trees would
// take becomes dearer for them and cheaper for the others, until they nearly agree: the Lagrangian dual of taking one
// route.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "routes/priced_arcs.hpp"
#include "routes/route_table.hpp"

namespace whence {

class Tolls {
public:
    // None at first, on the whole network.
    Tolls(std::shared_ptr<const RouteTable> routes, std::int32_t trees);

    const RouteTable& routes() const { return *routes_; }
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
    Agreement agree(const LeafSlots& slots, double tau, int rounds) const;

    // Those that were agreed on, on the arcs that are left; and these as they are, on some arcs, by place in the whole
    // network, in order. All of them lie on routes.
    Tolls after(const Agreement& agreed) const;
    Tolls on(std::span<const std::int32_t> places) const;

    template <class Number>
    PricedArcs<Number> prices(const LeafSlots& slots) const;
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
    double rounding(double dearest, double epsilon, int changes) const;

    std::shared_ptr<const RouteTable> routes_;
    Network network_;
    std::size_t trees_;
    std::vector<double> toll_;  // by arc and tree; those of an arc add up to nothing
    double dearest_ = 0.0;      // none of them is larger
};

}  // namespace whence
