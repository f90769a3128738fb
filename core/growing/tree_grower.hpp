// Trees whose splits are chosen for the cost of the decision (Kallus and Mao, "Stochastic optimization forests", 2023).
//
// Of every split that is tried the core knows what the best plans of both sides cost (core/least_costs.hpp), and takes
// the one of least cost. Where no split lowers the cost, since one plan is best on both sides of all of them, the
// outcomes decide: the split that leaves least of their variance, as in any regression tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "growing/least_costs.hpp"

namespace whence {

// A tree as arrays over its nodes, node 0 the root; a leaf has feature -1 and no children (-1).
struct GrownTree {
    std::vector<int> feature, left, right;
    std::vector<double> threshold;  // float32(x) <= threshold goes left
    std::vector<int> missing_left;  // whether NaN does: 1 or 0
};

class TreeGrower {
public:
    struct Limits {
        int max_depth;     // of the leaves
        int min_leaf;      // rows in a leaf
        int tried;         // features that are looked at for a split
        bool by_outcomes;  // whether the outcomes decide where no split lowers the cost
    };

    // Contexts by row and feature, NaN where a number is missing; outcomes by row and column. `least` must outlive the
    // grower.
    TreeGrower(std::span<const float> contexts, std::size_t features, const LeastCosts& least,
               std::vector<double> outcomes, Limits limits);

    std::size_t rows() const { return least_.rows(); }

    // A tree of the rows that have a count, each as often as it says or for so much. Every leaf also holds `min_leaf`
    // of the rows that are marked in `counted`, unless that is empty. The seed chooses the features that are tried.
    GrownTree grow(std::span<const double> count, std::span<const bool> counted, std::uint64_t seed) const;

private:
    friend class Growing;

    std::size_t features_, columns_;
    const LeastCosts& least_;
    std::vector<double> outcomes_;
    Limits limits_;
    std::vector<int> rank_;  // by feature and row: the row's value among all that there are, -1 where it is missing
    std::vector<std::vector<float>> values_;  // by feature: the values, in ascending order
};

}  // namespace whence
