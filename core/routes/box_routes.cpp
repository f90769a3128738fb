#include "routes/box_routes.hpp"

namespace whence {

template <class Number>
std::vector<double> BoxRoutes<Number>::cheapest() const {
    const LeafSlots& slots = prices_.slots();
    const double less = rounding_ / static_cast<double>(slots.trees());
    std::vector<double> found(slots.count());
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = static_cast<double>(prices_.from_source()[i]) - less;
    return found;
}

template <class Number>
typename BoxRoutes<Number>::Listing BoxRoutes<Number>::list(double tau, std::size_t most, std::int64_t steps) const {
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

template class BoxRoutes<float>;
template class BoxRoutes<double>;

}  // namespace whence
