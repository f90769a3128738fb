// The leaves of one context in all trees of several forests, and the weights that follow from them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace whence {

class Descent {
public:
    // A node of a tree; nodes are numbered on from tree to tree. A context goes to the left where it is at most the
    // threshold, the largest float that is not above that of the tree; where what is missing goes, the node says
    // itself. All that a step needs lies together, and takes little room: a context goes through thousands of trees.
    struct Node {
        float threshold;
        std::int32_t left, right;  // of a leaf: where its samples begin in its forest's order, and how many there are
        std::int32_t column : 31;  // negative: a leaf
        bool missing_left : 1;
    };
    // Of a forest: how many trees it has, and its samples, tree by tree and sorted by leaf.
    struct Forest {
        std::int64_t trees;
        std::span<const std::int32_t> order;
    };

    // `roots` are those of all trees.
    Descent(std::vector<Node> nodes, std::vector<std::int64_t> roots, std::vector<Forest> forests, std::size_t samples)
        : nodes_(std::move(nodes)),
          roots_(std::move(roots)),
          forests_(std::move(forests)),
          samples_(samples) {
        for (const Node& node : nodes_) columns_ = std::max<std::int32_t>(columns_, node.column + 1);
    }

    std::size_t columns() const { return static_cast<std::size_t>(columns_); }  // that a context must have
    std::size_t trees() const { return roots_.size(); }
    std::size_t samples() const { return samples_; }
    std::size_t forests() const { return forests_.size(); }

    // The leaves of a context in all trees.
    void leaves(std::span<const float> row, std::span<std::int32_t> found) const;

    // Add to `found`, which has a row of numbers for every forest, the weight of each of its samples: every tree counts
    // alike, and so do the samples of its leaf.
    void add_weights(std::span<const float> row, std::span<double> found) const;

private:
    template <bool missing>
    void descend(std::span<const float> row, std::span<std::int32_t> found) const;

    std::vector<Node> nodes_;
    std::vector<std::int64_t> roots_;
    std::vector<Forest> forests_;
    std::size_t samples_;
    std::int32_t columns_ = 0;
};

}  // namespace whence
