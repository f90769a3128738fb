#include "bounds/mixture.hpp"

#include <algorithm>
#include <cmath>

#include "base/numbers.hpp"

namespace whence {

namespace {

// How often the weights of the mixture are corrected, and how much at first.
constexpr int kRounds = 24;
constexpr double kRate = 1.5;

}  // namespace

void Mixture::mix(const OpenBox& open, const Criterion& criterion, std::int32_t eta) {
    list(open, criterion, eta);
    const std::size_t rivals = values_.size();
    alone_.assign(rivals, kInfinity);
    found_.assign(rivals, 1.0 / static_cast<double>(rivals));
    if (std::adjacent_find(tree_.begin(), tree_.end()) == tree_.end()) weigh();
    // Otherwise a tree has no leaf left: the box is empty, whatever the rival.
    write_row(open, criterion);
}

// The weights of the best mixture, by giving more weight to the rivals that do well where the bound is attained.
void Mixture::weigh() {
    const std::size_t rivals = values_.size(), count = leaves_.size();
    best_.resize(tree_.size() - 1);
    double found = -kInfinity;
    for (std::size_t r = 0; r < rivals; ++r) {
        alone_[r] = least(values_[r]);
        if (alone_[r] <= found) continue;
        found = alone_[r];
        found_.assign(rivals, 0.0);
        found_[r] = 1.0;
    }
    weight_.assign(rivals, 1.0 / static_cast<double>(rivals));
    mixed_.resize(count);
    gain_.resize(rivals);
    for (int round = 0; round < kRounds; ++round) {
        std::fill(mixed_.begin(), mixed_.end(), 0.0);
        for (std::size_t r = 0; r < rivals; ++r)
            for (std::size_t i = 0; i < count; ++i) mixed_[i] += weight_[r] * values_[r][i];
        const double bound = least(mixed_);
        if (bound > found) {
            found = bound;
            found_ = weight_;
        }
        for (std::size_t r = 0; r < rivals; ++r) {
            gain_[r] = 0.0;
            for (const std::int32_t i : best_) gain_[r] += values_[r][i];
        }
        const auto [fewest, most] = std::minmax_element(gain_.begin(), gain_.end());
        if (*most <= *fewest) break;
        const double rate = kRate / (std::sqrt(round + 1.0) * (*most - *fewest));
        double total = 0.0;
        for (std::size_t r = 0; r < rivals; ++r) total += weight_[r] *= std::exp(rate * (gain_[r] - *most));
        for (double& weight : weight_) weight /= total;
    }
}

void Mixture::write_row(const OpenBox& open, const Criterion& criterion) {
    const auto write = [&](std::size_t tree, std::int32_t leaf) {
        double total = 0.0;
        for (std::size_t r = 0; r < found_.size(); ++r)
            if (found_[r] > 0.0)
                total += found_[r] * criterion.rival_part(open, static_cast<std::int32_t>(r),
                                                          static_cast<std::int32_t>(tree), leaf);
        row_[leaf] = total;
    };
    for (std::size_t t = 0; t + 1 < tree_.size(); ++t) {
        for (std::int32_t i = tree_[t]; i < tree_[t + 1]; ++i) write(t, leaves_[i]);
        write(t, open.here[t]);
    }
}

// The reached leaves of every tree, and what they are worth against each rival.
void Mixture::list(const OpenBox& open, const Criterion& criterion, std::int32_t eta) {
    leaves_.clear();
    tree_.assign(1, 0);
    for (std::int32_t t = 0; t < open.trees; ++t) {
        open.reach.each(t, [&](std::int32_t leaf) { leaves_.push_back(leaf); });
        tree_.push_back(static_cast<std::int32_t>(leaves_.size()));
    }
    values_.resize(static_cast<std::size_t>(criterion.rivals()));
    for (std::size_t r = 0; r < values_.size(); ++r) {
        values_[r].resize(leaves_.size());
        for (std::int32_t t = 0; t < open.trees; ++t)
            for (std::int32_t i = tree_[t]; i < tree_[t + 1]; ++i)
                values_[r][i] = criterion.worth(open, static_cast<std::int32_t>(r), t, leaves_[i], eta);
    }
}

// Sum over trees of the smallest value; where each tree attains it goes to `best_`.
double Mixture::least(const std::vector<double>& values) {
    double total = 0.0;
    for (std::size_t t = 0; t + 1 < tree_.size(); ++t) {
        const auto at = std::min_element(values.begin() + tree_[t], values.begin() + tree_[t + 1]);
        total += *at;
        best_[t] = static_cast<std::int32_t>(at - values.begin());
    }
    return total;
}

}  // namespace whence
