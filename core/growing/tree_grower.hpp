// Trees whose splits are chosen for the cost of the decision (Kallus and Mao, "Stochastic optimization forests", 2023).
//
// Of every split that is tried the core knows what the best plans of both sides cost (core/least_costs.hpp), and takes
// the one of least cost. Where no split lowers the cost, since one plan is best on both sides of all of them, the
// outcomes decide: the split that leaves least of their variance, as in any regression tree.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/settings.hpp"
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
               std::vector<double> outcomes, Limits limits)
        : features_(features),
          columns_(outcomes.size() / least.rows()),
          least_(least),
          outcomes_(std::move(outcomes)),
          limits_(limits),
          rank_(contexts.size()),
          values_(features) {
        const std::size_t rows = least.rows();
        for (std::size_t f = 0; f < features; ++f) {
            std::vector<float>& values = values_[f];
            for (std::size_t i = 0; i < rows; ++i) {
                if (!std::isnan(contexts[i * features + f])) values.push_back(contexts[i * features + f]);
            }
            std::ranges::sort(values);
            values.erase(std::unique(values.begin(), values.end()), values.end());
            for (std::size_t i = 0; i < rows; ++i) {
                const float value = contexts[i * features + f];
                const auto at = std::ranges::lower_bound(values, value);
                rank_[f * rows + i] = std::isnan(value) ? -1 : static_cast<int>(at - values.begin());
            }
        }
    }

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

// Numbers that look random, the same ones everywhere (splitmix64).
class Draws {
public:
    explicit Draws(std::uint64_t seed) : state_(seed) {}

    int below(int bound) {
        state_ += 0x9E3779B97F4A7C15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        return static_cast<int>((z ^ (z >> 31)) % static_cast<std::uint64_t>(bound));
    }

private:
    std::uint64_t state_;
};

// The number between two neighbouring values that splits them, as scikit-learn takes it.
inline double between(float low, float high) {
    const double middle = 0.5 * (static_cast<double>(low) + static_cast<double>(high));
    // The mean is compared as it is; it must stay below the higher value.
    return middle < static_cast<double>(high) ? middle : static_cast<double>(low);
}

// Variance of the outcomes that is left on both sides of every cut, times the weight of the rows.
inline void variance_of_cuts(std::span<const double> outcomes, std::size_t columns, std::span<const int> rows,
                             std::span<const double> weights, std::span<const int> cuts, std::span<double> left) {
    std::vector<double> all(columns), before(columns);
    double total = 0.0, weight = 0.0, squares = 0.0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::size_t j = 0; j < columns; ++j) all[j] += weights[i] * outcomes[rows[i] * columns + j];
        total += weights[i];
    }
    // Around the mean, so that large outcomes of small spread keep their digits.
    std::vector<double> mean(columns);
    for (std::size_t j = 0; j < columns; ++j) mean[j] = all[j] / total;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::size_t j = 0; j < columns; ++j) {
            const double apart = outcomes[rows[i] * columns + j] - mean[j];
            squares += weights[i] * apart * apart;
        }
    }
    int at = 0;
    for (std::size_t c = 0; c < cuts.size(); ++c) {
        for (; at < cuts[c]; ++at) {
            for (std::size_t j = 0; j < columns; ++j) {
                before[j] += weights[at] * (outcomes[rows[at] * columns + j] - mean[j]);
            }
            weight += weights[at];
        }
        // Both sums around the mean of all are each other's opposite.
        double gained = 0.0;
        for (std::size_t j = 0; j < columns; ++j) gained += before[j] * before[j];
        left[c] = squares - gained * (1.0 / weight + 1.0 / (total - weight));
    }
}

// One tree under way.
class Growing {
public:
    Growing(const TreeGrower& grower, std::span<const double> count, std::span<const bool> counted, std::uint64_t seed)
        : grower_(grower),
          count_(count),
          honest_(!counted.empty()),
          draws_(seed),
          gathered_(grower.least_.gather()),
          features_(grower.features_) {
        for (std::size_t i = 0; i < count.size(); ++i) {
            if (count[i] > 0.0) rows_.push_back(static_cast<int>(i));
            if (honest_ && counted[i]) judged_.push_back(static_cast<int>(i));
        }
        std::iota(features_.begin(), features_.end(), 0);
        keys_.resize(std::max(rows_.size(), judged_.size()));
    }

    GrownTree run() {
        std::vector<Node> todo{{0, static_cast<int>(rows_.size()), 0, static_cast<int>(judged_.size()), 0, -1, false}};
        while (!todo.empty()) {
            const Node node = todo.back();
            todo.pop_back();
            const int at = add(node);
            const Split split = node.depth < grower_.limits_.max_depth ? best_split(node) : Split{};
            if (split.feature < 0) continue;
            tree_.feature[at] = split.feature;
            tree_.threshold[at] = threshold(split);
            tree_.missing_left[at] = split.missing_left;
            const int middle = part(rows_, node.first, node.last, split);
            const int judged = part(judged_, node.judged_first, node.judged_last, split);
            // The left child comes next.
            todo.push_back({middle, node.last, judged, node.judged_last, node.depth + 1, at, true});
            todo.push_back({node.first, middle, node.judged_first, judged, node.depth + 1, at, false});
        }
        return std::move(tree_);
    }

private:
    struct Node {
        int first, last;                // its rows
        int judged_first, judged_last;  // its rows that do not grow the tree but count in it
        int depth, parent;
        bool is_right;
    };
    // By the rank of the last value on the left and of the first on the right; where only missing values are there, by
    // the number of values.
    struct Split {
        int feature = -1, last = 0, next = 0;
        bool missing_left = false;
    };
    struct Best {
        Split split;
        double cost = kInfinity;
        void take(double other, const Split& by) {
            if (other < cost) {
                cost = other;
                split = by;
            }
        }
    };

    int rank(int feature, int row) const { return grower_.rank_[feature * grower_.rows() + row]; }

    int add(const Node& node) {
        const int at = static_cast<int>(tree_.feature.size());
        tree_.feature.push_back(-1);
        tree_.left.push_back(-1);
        tree_.right.push_back(-1);
        tree_.threshold.push_back(-2.0);
        tree_.missing_left.push_back(0);
        if (node.parent >= 0) (node.is_right ? tree_.right : tree_.left)[node.parent] = at;
        return at;
    }

    double threshold(const Split& split) const {
        const std::vector<float>& values = grower_.values_[split.feature];
        if (split.next == static_cast<int>(values.size())) return kInfinity;
        return between(values[split.last], values[split.next]);
    }
    // The rank of the last value that goes to the left: rows that do not grow the tree may lie between both sides.
    int last_on_left(const Split& split) const {
        const std::vector<float>& values = grower_.values_[split.feature];
        if (split.next == static_cast<int>(values.size())) return split.next - 1;
        const auto beyond = std::upper_bound(values.begin() + split.last, values.begin() + split.next, threshold(split),
                                             [](double cut, float value) { return cut < static_cast<double>(value); });
        return static_cast<int>(beyond - values.begin()) - 1;
    }

    int part(std::vector<int>& rows, int first, int last, const Split& split) const {
        const int most = last_on_left(split);
        const auto to_left = [&](int row) {
            const int own = rank(split.feature, row);
            return own < 0 ? split.missing_left : own <= most;
        };
        const auto middle = std::stable_partition(rows.begin() + first, rows.begin() + last, to_left);
        return static_cast<int>(middle - rows.begin());
    }

    // Features in random order, until so many that are not constant were looked at and one of them can be split.
    Split best_split(const Node& node) {
        if (node.last - node.first < 2 * grower_.limits_.min_leaf) return {};
        const std::span rows(rows_.data() + node.first, static_cast<std::size_t>(node.last - node.first));
        weights_.clear();
        for (const int row : rows) weights_.push_back(count_[row]);
        const double whole = gathered_->of_all(rows, weights_);
        Best by_cost, by_outcomes;
        int looked = 0;
        const int features = static_cast<int>(features_.size());
        for (int k = 0; k < features && (looked < grower_.limits_.tried || by_cost.split.feature < 0); ++k) {
            std::swap(features_[k], features_[k + draws_.below(features - k)]);
            if (!sorted(node, features_[k], false)) continue;
            ++looked;
            try_cuts(features_[k], false, by_cost, by_outcomes);
            // What is missing may go either way.
            if (absent_ == 0) continue;
            sorted(node, features_[k], true);
            try_cuts(features_[k], true, by_cost, by_outcomes);
        }
        if (by_cost.cost < whole - kRounding.gain * std::abs(whole)) return by_cost.split;
        return by_outcomes.split;
    }

    void try_cuts(int feature, bool missing_left, Best& by_cost, Best& by_outcomes) {
        if (cuts_.empty()) return;
        costs_.resize(cuts_.size());
        gathered_->of_cuts(order_, weights_, cuts_, costs_);
        take_best(by_cost, feature, missing_left);
        if (!grower_.limits_.by_outcomes) return;
        variance_of_cuts(grower_.outcomes_, grower_.columns_, order_, weights_, cuts_, costs_);
        take_best(by_outcomes, feature, missing_left);
    }

    void take_best(Best& best, int feature, bool missing_left) const {
        for (std::size_t c = 0; c < cuts_.size(); ++c) best.take(costs_[c], split_at(feature, cuts_[c], missing_left));
    }
    // The split before a place in the order; where nothing is missing in the node, what is goes where more rows do.
    Split split_at(int feature, int cut, bool missing_left) const {
        const int next = rank(feature, order_[cut]), all = static_cast<int>(grower_.values_[feature].size());
        if (absent_ == 0) missing_left = 2 * cut > static_cast<int>(order_.size());
        return {feature, rank(feature, order_[cut - 1]), next < 0 ? all : next, missing_left};
    }

    // The rows of a node by a feature, those without a value first or last, their weights, and where they may be cut;
    // false where the feature is constant.
    bool sorted(const Node& node, int feature, bool missing_left) {
        const int size = node.last - node.first, least = grower_.limits_.min_leaf;
        absent_ = 0;
        for (int i = 0; i < size; ++i) {
            const int row = rows_[node.first + i];
            absent_ += rank(feature, row) < 0;
            keys_[i] = key(feature, row, missing_left);
        }
        std::sort(keys_.begin(), keys_.begin() + size);
        if (keys_[0] >> 32 == keys_[size - 1] >> 32) return false;
        order_.resize(size);
        weights_.resize(size);
        cuts_.clear();
        for (int i = 0; i < size; ++i) {
            order_[i] = static_cast<int>(keys_[i] & 0xFFFFFFFFU);
            weights_[i] = count_[order_[i]];
            // All values on one side and what is missing on the other is one split, not two.
            if (missing_left && i == absent_) continue;
            if (i >= least && size - i >= least && keys_[i] >> 32 != keys_[i - 1] >> 32) cuts_.push_back(i);
        }
        if (honest_) keep_judged(node, feature, missing_left);
        return true;
    }

    // Keep the cuts that leave enough of the rows that count on both sides.
    void keep_judged(const Node& node, int feature, bool missing_left) {
        const int size = node.judged_last - node.judged_first, least = grower_.limits_.min_leaf;
        int known = 0;
        for (int i = 0; i < size; ++i) {
            const int row = judged_[node.judged_first + i];
            if (rank(feature, row) >= 0) keys_[known++] = key(feature, row, false);
        }
        std::sort(keys_.begin(), keys_.begin() + known);
        int before = 0;
        std::erase_if(cuts_, [&](int cut) {
            const Split split = split_at(feature, cut, missing_left);
            const auto last = static_cast<std::uint64_t>(last_on_left(split));
            while (before < known && keys_[before] >> 32 <= last) ++before;
            const int on_left = before + (split.missing_left ? size - known : 0);
            return on_left < least || size - on_left < least;
        });
    }

    // What sorts rows by a feature: from rank 0 on by their values, and what is missing before or behind all of them.
    std::uint64_t key(int feature, int row, bool missing_left) const {
        int own = rank(feature, row);
        if (own < 0)
            own = missing_left ? 0 : static_cast<int>(grower_.values_[feature].size());
        else if (missing_left)
            ++own;
        return static_cast<std::uint64_t>(own) << 32 | static_cast<std::uint32_t>(row);
    }

    const TreeGrower& grower_;
    std::span<const double> count_;
    bool honest_;
    int absent_ = 0;  // rows of the order without a value
    Draws draws_;
    std::unique_ptr<Gathered> gathered_;
    GrownTree tree_;
    std::vector<int> rows_, judged_, features_, order_, cuts_;
    std::vector<std::uint64_t> keys_;
    std::vector<double> weights_, costs_;
};

inline GrownTree TreeGrower::grow(std::span<const double> count, std::span<const bool> counted,
                                  std::uint64_t seed) const {
    return Growing(*this, count, counted, seed).run();
}

}  // namespace whence
