// Neighbours by squared distances of a norm with an inner product, such as the Euclidean one.
//
// Two squared distances from a context differ by a linear function of it: what they have in common is left out, and
// what is left of each is its score. The k nearest are the k with the least scores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "neighbours/neighbour_axes.hpp"

namespace whence::neighbours {

class Scores {
public:
    Scores() = default;
    // `slopes` has a row a member and a column an axis, 0 for a category; `entries` has a row a member, and holds what
    // each category of each category axis adds, axis by axis.
    Scores(const std::vector<Axis>& axes, std::vector<double> slopes, std::vector<double> entries)
        : dimension_(axes.size()),
          slopes_(std::move(slopes)),
          entries_(std::move(entries)) {
        for (const Axis& axis : axes) {
            first_.push_back(width_);
            if (axis.kind == Kind::category) width_ += axis.costs.size();
        }
    }
    // Whether distances are plain ones instead.
    bool empty() const { return dimension_ == 0; }
    const double* slopes(int member) const { return slopes_.data() + static_cast<std::size_t>(member) * dimension_; }
    // What the categories of an axis add to the score of a member.
    const double* entries(int member, int axis) const {
        return entries_.data() + static_cast<std::size_t>(member) * width_ + first_[axis];
    }
    // What a context adds to the base of a member.
    double along(const std::vector<Axis>& axes, int member, std::span<const double> context) const {
        const double* const slope = slopes(member);
        double total = 0.0;
        for (std::size_t j = 0; j < dimension_; ++j) {
            total += axes[j].kind == Kind::category
                         ? entries(member, static_cast<int>(j))[static_cast<std::size_t>(context[j])]
                         : slope[j] * context[j];
        }
        return total;
    }

    // The mean slopes of some members, which tell what their scores have in common.
    void mean(std::span<const int> members, std::vector<double>& slopes_of_all) const {
        slopes_of_all.assign(dimension_, 0.0);
        for (const int member : members) {
            const double* const slope = slopes(member);
            for (std::size_t j = 0; j < dimension_; ++j) slopes_of_all[j] += slope[j];
        }
        const double count = std::max<double>(static_cast<double>(members.size()), 1.0);
        for (double& slope : slopes_of_all) slope /= count;
    }

private:
    std::size_t dimension_ = 0, width_ = 0;
    std::vector<double> slopes_, entries_;
    std::vector<std::size_t> first_;  // where the entries of an axis begin
};

}  // namespace whence::neighbours
