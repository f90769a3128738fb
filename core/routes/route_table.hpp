// Routes through an acyclic network, and what each leaf says about its edges: cheapest routes by dynamic programming.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/large_array.hpp"
#include "forest/grid.hpp"
#include "routes/network.hpp"

namespace whence {

// Numbers that are compared side by side: one by one, each would wait for the one before.
inline constexpr std::size_t kAtOnce = 8;

// The largest of some numbers in size.
template <class Number>
Number largest_size(const Number* numbers, std::size_t count) {
    Number largest[kAtOnce] = {};
    std::size_t i = 0;
    for (; i + kAtOnce <= count; i += kAtOnce)
        for (std::size_t j = 0; j < kAtOnce; ++j) largest[j] = std::max(largest[j], std::abs(numbers[i + j]));
    for (; i < count; ++i) largest[0] = std::max(largest[0], std::abs(numbers[i]));
    return *std::max_element(largest, largest + kAtOnce);
}

// Add up the rows of so many numbers, four at a time: sums are read and written less often.
template <class Row>
void add_rows(std::span<const std::int32_t> numbers, Row row, double* __restrict sums, std::size_t width) {
    std::size_t i = 0;
    for (; i + 4 <= numbers.size(); i += 4) {
        const double *one = row(numbers[i]), *two = row(numbers[i + 1]);
        const double *three = row(numbers[i + 2]), *four = row(numbers[i + 3]);
        for (std::size_t e = 0; e < width; ++e) sums[e] = sums[e] + one[e] + two[e] + three[e] + four[e];
    }
    for (; i < numbers.size(); ++i) {
        const double* own = row(numbers[i]);
        for (std::size_t e = 0; e < width; ++e) sums[e] += own[e];
    }
}

class RouteTable {
public:
    // What edges cost in past observations, one row each, and which observations belong to each leaf.
    struct Observed {
        const double* costs;
        std::size_t edges;
        const LeafSamples& leaves;
        std::span<const double> divisor;  // of the sum of each leaf
    };

    RouteTable(const Observed& observed, Network network)
        : leaves_(observed.leaves.first.size()),
          edges_(observed.edges),
          costs_(large_array<double>(leaves_ * edges_)),
          network_(std::move(network)) {
        for (std::size_t leaf = 0; leaf < leaves_; ++leaf) {
            double* const __restrict own = costs_.get() + leaf * edges_;
            std::fill_n(own, edges_, 0.0);
            add_rows(
                observed.leaves.of(static_cast<std::int32_t>(leaf)),
                [&](std::int32_t sample) { return observed.costs + static_cast<std::size_t>(sample) * edges_; }, own,
                edges_);
            const double divisor = observed.divisor[leaf];
            for (std::size_t e = 0; e < edges_; ++e) own[e] /= divisor;
            dearest_ = std::max(dearest_, largest_size(own, edges_));
        }
    }

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
    std::vector<double> sum(LeafView leaves) const {
        std::vector<double> total(edges_, 0.0);
        add_rows(leaves, [&](std::int32_t leaf) { return costs(leaf); }, total.data(), edges_);
        return total;
    }

    // The least total of a route, and that route.
    double cheapest(const std::vector<double>& total, Route* route = nullptr) const {
        const std::vector<Arc>& arcs = network_.arcs();
        std::vector<double> distance;
        std::vector<std::size_t> next(
            static_cast<std::size_t>(network_.nodes()));  // the arc by which to leave each node
        const double least = network_.cheapest(
            distance, [&](std::size_t a) { return total[arcs[a].edge]; },
            [&](std::size_t a) { next[arcs[a].tail] = a; });
        if (route != nullptr) {
            route->clear();
            for (std::int32_t node = network_.source(); node != Network::target(); node = arcs[next[node]].head)
                route->push_back(arcs[next[node]].edge);
        }
        return least;
    }

    // What each leaf adds to the cost of routes, one row a route.
    std::vector<std::vector<double>> rows(std::span<const Route> routes) const {
        std::vector<std::vector<double>> found(routes.size(), std::vector<double>(leaves_, 0.0));
        // A few leaves at a time: the table is large, and its columns lie far apart.
        for (std::size_t from = 0; from < leaves_; from += 4) {
            // The last ones may be added up more than once.
            const double* own[4];
            for (std::size_t i = 0; i < 4; ++i)
                own[i] = costs(static_cast<std::int32_t>(std::min(from + i, leaves_ - 1)));
            for (std::size_t r = 0; r < routes.size(); ++r) {
                double total[4] = {};
                for (const std::int32_t e : routes[r])
                    for (std::size_t i = 0; i < 4; ++i) total[i] += own[i][e];
                for (std::size_t i = 0; i < 4 && from + i < leaves_; ++i) found[r][from + i] = total[i];
            }
        }
        return found;
    }

private:
    std::size_t leaves_, edges_;
    std::shared_ptr<double[]> costs_;  // by leaf and edge
    double dearest_ = 0.0;
    Network network_;
};

}  // namespace whence
