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
    // Nodes of all trees, numbered on from tree to tree; of a leaf the column is negative. A context goes to the left
    // where it is at most the threshold; where what is missing goes, a node says itself.
    struct Nodes {
        std::vector<std::int64_t> column;
        std::vector<double> threshold;
        std::vector<std::int64_t> left, right, missing_left;
    };
    // Of a forest: how many trees it has, and its samples, tree by tree and sorted by leaf.
    struct Forest {
        std::int64_t trees;
        std::span<const std::int32_t> order;
    };

    // `roots` are those of all trees; the samples of a node are `size` ones from `first` on in its forest's order.
    Descent(Nodes nodes, std::vector<std::int64_t> roots, std::vector<std::int64_t> first,
            std::vector<std::int64_t> size, std::vector<Forest> forests, std::size_t samples)
        : nodes_(std::move(nodes)),
          roots_(std::move(roots)),
          first_(std::move(first)),
          size_(std::move(size)),
          forests_(std::move(forests)),
          samples_(samples) {
        for (const std::int64_t column : nodes_.column) columns_ = std::max(columns_, column + 1);
    }

    std::size_t columns() const { return static_cast<std::size_t>(columns_); }  // that a context must have
    std::size_t trees() const { return roots_.size(); }
    std::size_t samples() const { return samples_; }
    std::size_t forests() const { return forests_.size(); }

    // The leaf of a context in a tree.
    std::int64_t leaf(std::size_t tree, std::span<const float> row) const;

    // Add to `found`, which has a row of numbers for every forest, the weight of each of its samples: every tree counts
    // alike, and so do the samples of its leaf.
    void add_weights(std::span<const float> row, std::span<double> found) const;

private:
    Nodes nodes_;
    std::vector<std::int64_t> roots_, first_, size_;
    std::vector<Forest> forests_;
    std::size_t samples_;
    std::int64_t columns_ = 0;
};

}  // namespace whence
