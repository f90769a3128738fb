// Several rivals at once: the alternative must not cost more than any mixture of them, and over a box with many leaves
// a mixture bounds the criterion far better than each of them does by itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/settings.hpp"
#include "criteria/criterion.hpp"
#include "forest/reach.hpp"

namespace whence {

class Mixture {
public:
    explicit Mixture(std::int32_t leaves) : row_(leaves) {}

    // Look for the mixture of all rivals of the criterion that bounds it best over the box, under one threshold of the
    // alternative.
    void mix(const OpenBox& open, const Criterion& criterion, std::int32_t eta) {
        list(open, criterion, eta);
        const std::size_t rivals = values_.size();
        alone_.assign(rivals, kInfinity);
        found_.assign(rivals, 1.0 / static_cast<double>(rivals));
        if (std::adjacent_find(listed_.from.begin(), listed_.from.end()) == listed_.from.end()) weigh();
        // Otherwise a tree has no leaf left: the box is empty, whatever the rival.
        write_row(open, criterion);
    }
    // The mixture as a rival of its own, for the leaves that the box meets and those of its projection.
    const double* row() const { return row_.data(); }
    // The bound of each rival by itself.
    const std::vector<double>& alone() const { return alone_; }

private:
    // The reached leaves of every tree, and what they are worth against each rival.
    void list(const OpenBox& open, const Criterion& criterion, std::int32_t eta) {
        open.reach.list(open.trees, listed_);
        values_.resize(static_cast<std::size_t>(criterion.rivals()));
        for (std::size_t r = 0; r < values_.size(); ++r) {
            values_[r].clear();
            for (std::int32_t t = 0; t < open.trees; ++t)
                for (const std::int32_t leaf : listed_.of(t))
                    values_[r].push_back(criterion.worth(open, static_cast<std::int32_t>(r), t, leaf, eta));
        }
    }

    // The weights of the best mixture, by giving more weight to the rivals that do well where the bound is attained.
    void weigh() {
        const std::size_t rivals = values_.size(), count = listed_.leaves.size();
        best_.resize(static_cast<std::size_t>(listed_.trees()));
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
        for (int round = 0; round < kSettings.forest.mixture_rounds; ++round) {
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
            const double rate = kSettings.forest.mixture_rate / (std::sqrt(round + 1.0) * (*most - *fewest));
            double total = 0.0;
            for (std::size_t r = 0; r < rivals; ++r) total += weight_[r] *= std::exp(rate * (gain_[r] - *most));
            for (double& weight : weight_) weight /= total;
        }
    }

    // Sum over trees of the smallest value; where each tree attains it goes to `best_`.
    double least(const std::vector<double>& values) {
        return least_sum(
            listed_, [&](std::int32_t i) { return values[i]; },
            [&](std::int32_t t, const Least& own) { best_[t] = std::max(own.leaf, listed_.from[t]); });
    }

    void write_row(const OpenBox& open, const Criterion& criterion) {
        const auto write = [&](std::int32_t tree, std::int32_t leaf) {
            double total = 0.0;
            for (std::size_t r = 0; r < found_.size(); ++r)
                if (found_[r] > 0.0)
                    total += found_[r] * criterion.rival_part(open, static_cast<std::int32_t>(r), tree, leaf);
            row_[leaf] = total;
        };
        for (std::int32_t t = 0; t < listed_.trees(); ++t) {
            for (const std::int32_t leaf : listed_.of(t)) write(t, leaf);
            write(t, open.here[t]);
        }
    }

    std::vector<double> row_, alone_;
    ListedLeaves listed_;                      // the leaves that are reached
    std::vector<std::vector<double>> values_;  // by rival and reached leaf
    std::vector<double> found_;                // weight of each rival in the mixture
    std::vector<double> weight_, mixed_, gain_;
    std::vector<std::int32_t> best_;  // where every tree attains the bound, among the reached leaves
};

}  // namespace whence
