// The leaves of one context in all trees of several forests, and the weights that follow from them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace whence {

// Trees that are gone down side by side: while the node of one is fetched from memory, others go on.
inline constexpr std::size_t kTogether = 16;

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
    void leaves(std::span<const float> row, std::span<std::int32_t> found) const {
        for (std::size_t t = 0; t < roots_.size(); ++t) found[t] = static_cast<std::int32_t>(roots_[t]);
        if (std::any_of(row.begin(), row.end(), [](float value) { return std::isnan(value); }))
            descend<true>(row, found);
        else
            descend<false>(row, found);
    }

    // Add to `found`, which has a row of numbers for every forest, the weight of each of its samples: every tree counts
    // alike, and so do the samples of its leaf.
    void add_weights(std::span<const float> row, std::span<double> found) const {
        std::vector<std::int32_t> leaves(trees());
        this->leaves(row, leaves);
        std::size_t tree = 0;
        for (const Forest& forest : forests_) {
            const std::size_t end = tree + static_cast<std::size_t>(forest.trees);
            for (; tree < end; ++tree) {
                const Node& leaf = nodes_[leaves[tree]];
                const std::int32_t first = leaf.left, size = leaf.right;
                const double share = 1.0 / static_cast<double>(forest.trees * size);
                const std::int32_t* own = forest.order.data() + first;
                for (std::int32_t k = 0; k < size; ++k) found[own[k]] += share;
            }
            found = found.subspan(samples_);
        }
    }

private:
    template <bool missing>
    void descend(std::span<const float> row, std::span<std::int32_t> found) const {
        for (std::size_t first = 0; first < found.size(); first += kTogether) {
            const auto at = found.subspan(first, std::min(kTogether, found.size() - first));
            for (bool moved = true; moved;) {
                moved = false;
                for (std::int32_t& here : at) {
                    const Node& node = nodes_[here];
                    if (node.column < 0) continue;
                    const float value = row[node.column];
                    const bool to_left = missing && std::isnan(value) ? node.missing_left : value <= node.threshold;
                    here = to_left ? node.left : node.right;
                    moved = true;
                }
            }
        }
    }

    std::vector<Node> nodes_;
    std::vector<std::int64_t> roots_;
    std::vector<Forest> forests_;
    std::size_t samples_;
    std::int32_t columns_ = 0;
};

}  // namespace whence
