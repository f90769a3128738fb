// Routes through an acyclic network, and what each leaf says about its edges: cheapest routes by dynamic programming.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/large_array.hpp"
#include "forest/grid.hpp"
#include "routes/network.hpp"

namespace whence {

class RouteTable {
public:
    // What edges cost in past observations, one row each, and which observations belong to each leaf.
    struct Observed {
        const double* costs;
        std::size_t edges;
        std::span<const std::int32_t> samples;
        std::span<const std::int64_t> first, size;  // of each leaf
        std::span<const double> divisor;            // of the sum of each leaf
    };
    RouteTable(const Observed& observed, Network network);

    std::int32_t edges() const { return static_cast<std::int32_t>(edges_); }
    std::int32_t leaves() const { return static_cast<std::int32_t>(leaves_); }
    const Network& network() const { return network_; }
    // What the edges cost in a leaf.
    const double* costs(std::int32_t leaf) const { return costs_.get() + static_cast<std::size_t>(leaf) * edges_; }

    // The largest cost there is, whatever its sign.
    double dearest() const { return dearest_; }
    // Whether sums of many costs stay well within the range of numbers with half the digits.
    bool suits_floats() const { return dearest_ == 0.0 || (dearest_ > 1e-25 && dearest_ < 1e25); }

    // What every edge costs where each tree has one of these leaves.
    std::vector<double> sum(LeafView leaves) const;
    // The least total of a route, and that route.
    double cheapest(const std::vector<double>& total, Route* route = nullptr) const;
    // What each leaf adds to the cost of routes, one row a route.
    std::vector<std::vector<double>> rows(std::span<const Route> routes) const;

private:
    std::size_t leaves_, edges_;
    std::shared_ptr<double[]> costs_;  // by leaf and edge
    double dearest_ = 0.0;
    Network network_;
};

}  // namespace whence
