// A network without cycles, laid out for finding the ways from its nodes to the target.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace whence {

using Route = std::vector<std::int32_t>;  // its edges

struct Arc {
    std::int32_t tail, edge, head;
    std::int32_t place = 0;  // in the whole network
};

class Network {
public:
    // `arcs` in an order in which all that leave a node's heads come before those that enter it: from the target
    // backwards. Only those count that lie on a route from the source to the target.
    Network(std::span<const Arc> arcs, std::int32_t nodes, std::int32_t source, std::int32_t target);

    // Nodes on routes, numbered from the target, which is 0, so that every arc leads to a smaller number; the source is
    // the last one. None where there is no route.
    std::int32_t nodes() const { return static_cast<std::int32_t>(first_.size()) - 1; }
    std::int32_t source() const { return nodes() - 1; }
    static constexpr std::int32_t target() { return 0; }
    bool has_route() const { return nodes() > 0; }
    // Those that leave a node come together, nodes in their order.
    const std::vector<Arc>& arcs() const { return arcs_; }
    std::size_t first(std::int32_t node) const { return first_[node]; }
    std::size_t last(std::int32_t node) const { return first_[node + 1]; }
    // How many routes there are, as a floating-point number: they may be very many.
    double routes() const;
    // The longest one's arcs.
    std::int32_t longest() const;

    // What is left where only these arcs may be taken: numbers of arcs, in order.
    Network part(std::span<const std::int32_t> arcs) const;

private:
    Network() = default;
    void lay_out(std::span<const Arc> arcs, std::int32_t nodes, std::int32_t source, std::int32_t target);

    std::vector<Arc> arcs_;
    std::vector<std::size_t> first_;  // of each node's arcs, and the end
};

}  // namespace whence
