// Routes over the leaves that a box meets: the cheapest one of each leaf under tolls, and lists of those within tau.
//
// A route that begins with some arcs and is at a node costs at least, over the box, the sum over trees of the least cost so
// far plus the way on, leaf by leaf: each leaf's own cheapest way, with tolls.
#pragma once

#include <cstdint>
#include <vector>

#include "tolls.hpp"

namespace whence {

class BoxRoutes {
public:
    BoxRoutes(const Tolls& tolls, const LeafSlots& slots);

    // Of the leaves in their slots: the cheapest route, tolls included. For every route, the sum over trees of the least of
    // them is below what it costs, also with rounding.
    const std::vector<double>& cheapest() const { return cheapest_; }

    struct Listing {
        bool whole = true;          // whether all routes were looked at
        std::vector<Route> routes;  // that can be cheap enough
    };
    // The routes whose bound over the box is at most `tau`; at most so many, by at most so many steps.
    Listing list(double tau, std::size_t most, std::int64_t steps) const;

private:
    PricedArcs<double> prices_;
    double rounding_;  // of sums over all trees
    std::vector<double> cheapest_;
};

}  // namespace whence
