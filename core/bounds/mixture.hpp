// Several rivals at once: the alternative must not cost more than any mixture of them, and over a box with many leaves
// a mixture bounds the criterion far better than each of them does by itself.
#pragma once

#include <cstdint>
#include <vector>

#include "criteria/criterion.hpp"
#include "forest/least_per_tree.hpp"

namespace whence {

class Mixture {
public:
    explicit Mixture(std::int32_t leaves) : row_(leaves) {}

    // Look for the mixture of all rivals of the criterion that bounds it best over the box, under one threshold of the
    // alternative.
    void mix(const OpenBox& open, const Criterion& criterion, std::int32_t eta);

    // The mixture as a rival of its own, for the leaves that the box meets and those of its projection.
    const double* row() const { return row_.data(); }
    std::int32_t leaves() const { return static_cast<std::int32_t>(row_.size()); }
    // Weight of each rival in the mixture.
    const std::vector<double>& weight() const { return found_; }
    // The bound of each rival by itself.
    const std::vector<double>& alone() const { return alone_; }

private:
    void list(const OpenBox& open, const Criterion& criterion, std::int32_t eta);
    void weigh();
    double least(const std::vector<double>& values);
    void write_row(const OpenBox& open, const Criterion& criterion);

    std::vector<double> row_, alone_;
    ListedLeaves listed_;                      // the leaves that are reached
    std::vector<std::vector<double>> values_;  // by rival and reached leaf
    std::vector<double> found_;                // weight of each rival in the mixture
    std::vector<double> weight_, mixed_, gain_;
    std::vector<std::int32_t> best_;  // where every tree attains the bound, among the reached leaves
};

}  // namespace whence
