#include "descent.hpp"

#include <cmath>

namespace whence {

std::int64_t Descent::leaf(std::size_t tree, std::span<const float> row) const {
    std::int64_t at = roots_[tree];
    while (nodes_.column[at] >= 0) {
        const double value = row[nodes_.column[at]];
        const bool to_left = std::isnan(value) ? nodes_.missing_left[at] != 0 : value <= nodes_.threshold[at];
        at = to_left ? nodes_.left[at] : nodes_.right[at];
    }
    return at;
}

void Descent::add_weights(std::span<const float> row, std::span<double> found) const {
    std::size_t tree = 0;
    for (const Forest& forest : forests_) {
        for (std::int64_t i = 0; i < forest.trees; ++i) {
            const std::int64_t leaf = this->leaf(tree++, row);
            const double share = 1.0 / static_cast<double>(forest.trees * size_[leaf]);
            const std::int32_t* own = forest.order.data() + first_[leaf];
            for (std::int64_t k = 0; k < size_[leaf]; ++k) found[own[k]] += share;
        }
        found = found.subspan(samples_);
    }
}

}  // namespace whence
