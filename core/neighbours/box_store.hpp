// The boxes of contexts that wait, and the past contexts that each of them has to look at, which its parts share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/counted.hpp"
#include "base/node_store.hpp"
#include "neighbours/neighbour_space.hpp"

namespace whence::neighbours {

template <class Members>
class BoxStore {
public:
    using Shared = std::shared_ptr<const Members>;

    // Members for the parts of a box, which hold so many bytes beside themselves.
    Shared share(Members members, std::size_t bytes) const { return counted_.make<Members>(std::move(members), bytes); }

    std::int32_t add(const Box& box, Shared members) {
        return nodes_.add({box.low, box.high, box.charged, std::move(members)});
    }
    // Copy a box; it keeps its place until it is forgotten.
    const Shared& load(std::int32_t node, Box& box) const {
        const Node& found = nodes_[node];
        box.low = found.low;
        box.high = found.high;
        box.charged = found.charged;
        return found.members;
    }
    void forget(std::int32_t node) {
        nodes_[node] = {};
        nodes_.forget(node);
    }
    void clear() { nodes_.clear(); }

    // About how much memory they take.
    std::size_t bytes(int dimension) const {
        const std::size_t each = static_cast<std::size_t>(dimension) * (2 * sizeof(double) + sizeof(char));
        return counted_.bytes() + nodes_.bytes() + nodes_.count() * each;
    }

private:
    struct Node {
        std::vector<double> low, high;
        std::vector<char> charged;
        Shared members;
    };

    NodeStore<Node> nodes_;
    Counted counted_;
};

}  // namespace whence::neighbours
