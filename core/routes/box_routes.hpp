// Routes over the leaves that a box meets: the cheapest one of each leaf under tolls, and lists of those within tau.
//
// A route that begins with some arcs and is at a node costs at least, over the box, the sum over trees of the least
// cost so far plus the way on, leaf by leaf: each leaf's own cheapest way, with tolls.
#pragma once

#include <cstdint>
#include <vector>

#include "routes/tolls.hpp"

namespace whence {

template <class Number>
class BoxRoutes {
public:
    // Prices with their ways, and by how much sums over trees of what a route costs can be wrong.
    BoxRoutes(PricedArcs<Number> prices, double rounding) : prices_(std::move(prices)), rounding_(rounding) {}

    // Of the leaves in their slots: the cheapest route, tolls included. For every route, the sum over trees of the
    // least of them is below what it costs, also with rounding.
    std::vector<double> cheapest() const;

    struct Listing {
        bool whole = true;          // whether all routes were looked at
        std::vector<Route> routes;  // that can be cheap enough
    };
    // The routes whose bound over the box is at most `tau`; at most so many, by at most so many steps.
    Listing list(double tau, std::size_t most, std::int64_t steps) const;

private:
    PricedArcs<Number> prices_;
    double rounding_;
};

}  // namespace whence
