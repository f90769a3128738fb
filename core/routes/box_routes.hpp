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
    std::vector<double> cheapest() const {
        const LeafSlots& slots = prices_.slots();
        const double less = rounding_ / static_cast<double>(slots.trees());
        std::vector<double> found(slots.count());
        for (std::size_t i = 0; i < found.size(); ++i) found[i] = static_cast<double>(prices_.from_source()[i]) - less;
        return found;
    }

    struct Listing {
        bool whole = true;          // whether all routes were looked at
        std::vector<Route> routes;  // that can be cheap enough
    };
    // The routes whose bound over the box is at most `tau`; at most so many, by at most so many steps.
    Listing list(double tau, std::size_t most, std::int64_t steps) const {
        const Network& network = prices_.network();
        const LeafSlots& slots = prices_.slots();
        const std::size_t count = slots.count();
        struct Step {
            std::size_t next, last;  // arc to try, and the end of them
        };
        const auto from = [&](std::int32_t node) { return Step{network.first(node), network.last(node)}; };
        Listing listing;
        Route route;
        std::vector<Step> stack{from(network.source())};
        // By length of the route so far: its cost in every leaf, less the rival.
        std::vector<std::vector<Number>> spent(1, std::vector<Number>(count));
        std::vector<Number> least(slots.trees());
        for (std::size_t i = 0; i < count; ++i) spent[0][i] = -static_cast<Number>(slots.rival[i]);
        while (!stack.empty()) {
            Step& top = stack.back();
            if (top.next == top.last) {
                stack.pop_back();
                if (!route.empty()) route.pop_back();
                continue;
            }
            if (--steps < 0) {
                listing.whole = false;
                return listing;
            }
            const std::size_t a = top.next++;
            const Arc& arc = network.arcs()[a];
            if (spent.size() == stack.size()) spent.emplace_back(count);
            Number* cost = spent[stack.size()].data();
            prices_.extend(a, spent[stack.size() - 1].data(), cost);
            if (least_sum(slots, cost, prices_.way(arc.head), least.data()) > tau + rounding_) continue;
            route.push_back(arc.edge);
            if (arc.head != Network::target()) {
                stack.push_back(from(arc.head));
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

private:
    PricedArcs<Number> prices_;
    double rounding_;
};

}  // namespace whence
