#include "forest/descent.hpp"

#include <cmath>

namespace whence {

namespace {

// Trees that are gone down side by side: while the node of one is fetched from memory, others go on.
constexpr std::size_t kTogether = 16;
// Trees ahead of which the samples of a leaf are fetched from memory.
constexpr std::size_t kAhead = 12;

// Where the compiler knows how: have what lies there fetched, without waiting for it.
inline void fetch([[maybe_unused]] const std::int32_t* at) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(at);
#endif
}

}  // namespace

template <bool missing>
void Descent::descend(std::span<const float> row, std::span<std::int32_t> found) const {
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

void Descent::leaves(std::span<const float> row, std::span<std::int32_t> found) const {
    for (std::size_t t = 0; t < roots_.size(); ++t) found[t] = static_cast<std::int32_t>(roots_[t]);
    if (std::any_of(row.begin(), row.end(), [](float value) { return std::isnan(value); }))
        descend<true>(row, found);
    else
        descend<false>(row, found);
}

void Descent::add_weights(std::span<const float> row, std::span<double> found) const {
    std::vector<std::int32_t> leaves(trees());
    this->leaves(row, leaves);
    std::size_t tree = 0;
    for (const Forest& forest : forests_) {
        const std::size_t end = tree + static_cast<std::size_t>(forest.trees);
        for (; tree < end; ++tree) {
            if (tree + kAhead < end) fetch(forest.order.data() + nodes_[leaves[tree + kAhead]].left);
            const Node& leaf = nodes_[leaves[tree]];
            const std::int32_t first = leaf.left, size = leaf.right;
            const double share = 1.0 / static_cast<double>(forest.trees * size);
            const std::int32_t* own = forest.order.data() + first;
            for (std::int32_t k = 0; k < size; ++k) found[own[k]] += share;
        }
        found = found.subspan(samples_);
    }
}

}  // namespace whence
