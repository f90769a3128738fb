// Neighbours by distances of a norm with an inner product, such as the Euclidean one: scores and places.
//
// Two squared distances from a context differ by a linear function of it: what they have in common is left out, and
// what is left of each is its score. The k nearest are the k with the least scores.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "base/settings.hpp"
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
    // What the categories of a part of an axis add, at least and at most.
    Interval span(int member, int axis, double low, double high) const {
        const double* const own = entries(member, axis);
        const auto [least, most] =
            std::minmax_element(own + static_cast<std::size_t>(low), own + static_cast<std::size_t>(high) + 1);
        return {*least, *most};
    }
    // By how much more they add to the score of one member than to that of another.
    Interval apart(int one, int other, int axis, double low, double high) const {
        const double *const mine = entries(one, axis), *const its = entries(other, axis);
        Interval found{kInfinity, -kInfinity};
        for (auto rank = static_cast<std::size_t>(low); rank <= static_cast<std::size_t>(high); ++rank) {
            found.low = std::min(found.low, mine[rank] - its[rank]);
            found.high = std::max(found.high, mine[rank] - its[rank]);
        }
        return found;
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

// Contexts and past ones as places whose distance is that of the neighbours, where these count by how near they are.
class Places {
public:
    Places() = default;
    // `members` has a row a member, `columns` a row an axis (0 for a category) by which a unit moves the place, `ranks`
    // a row a category of every category axis, which it moves the place by, and `origin` is where all that begins.
    Places(const std::vector<Axis>& axes, std::vector<double> members, std::vector<double> columns,
           std::vector<double> ranks, std::vector<double> origin)
        : width_(origin.size()),
          members_(std::move(members)),
          columns_(std::move(columns)),
          ranks_(std::move(ranks)),
          origin_(std::move(origin)),
          products_(axes.size() * axes.size()) {
        std::size_t first = 0;
        for (const Axis& axis : axes) {
            first_.push_back(first);
            if (axis.kind == Kind::category) first += axis.costs.size();
        }
        const int q = static_cast<int>(axes.size());
        for (int j = 0; j < q; ++j) {
            for (int i = 0; i < q; ++i)
                products_[static_cast<std::size_t>(j) * q + i] = std::abs(product(column(j), column(i)));
        }
    }

    bool empty() const { return width_ == 0; }
    // Where a context is.
    void locate(const std::vector<Axis>& axes, std::span<const double> context, std::vector<double>& place) const {
        place = origin_;
        for (int j = 0; j < static_cast<int>(axes.size()); ++j) {
            const bool category = axes[j].kind == Kind::category;
            const double* const along = category ? rank(j, context[j]) : column(j);
            const double by = category ? 1.0 : context[j];
            for (std::size_t c = 0; c < width_; ++c) place[c] += by * along[c];
        }
    }
    // How far a member is from a place.
    double far(int i, std::span<const double> place) const {
        const double* const own = member(i);
        double total = 0.0;
        for (std::size_t c = 0; c < width_; ++c) total += (place[c] - own[c]) * (place[c] - own[c]);
        return std::sqrt(total);
    }
    // How fast the square of that grows along an axis, halved.
    double pull(int i, int axis, std::span<const double> place) const {
        const double* const own = member(i);
        const double* const along = column(axis);
        double total = 0.0;
        for (std::size_t c = 0; c < width_; ++c) total += (place[c] - own[c]) * along[c];
        return total;
    }

    // How far any context of a box is, at most, from the one in its middle, whose place is written down; where a
    // category is open, its middle is its first one.
    double around(const std::vector<Axis>& axes, const Box& box, std::vector<double>& place) const {
        std::vector<double> middle(axes.size());
        double squares = 0.0, other = 0.0;
        for (int j = 0; j < box.dimension(); ++j) {
            const bool category = axes[j].kind == Kind::category;
            middle[j] = category ? box.low[j] : 0.5 * (box.low[j] + box.high[j]);
            if (!category) continue;
            double most = 0.0;
            for (double value = box.low[j] + 1.0; value <= box.high[j]; value += 1.0) {
                double total = 0.0;
                for (std::size_t c = 0; c < width_; ++c) {
                    const double gap = rank(j, value)[c] - rank(j, box.low[j])[c];
                    total += gap * gap;
                }
                most = std::max(most, total);
            }
            other += std::sqrt(most);
        }
        const std::size_t q = axes.size();
        for (std::size_t j = 0; j < q; ++j) {
            if (axes[j].kind == Kind::category || box.low[j] == box.high[j]) continue;
            for (std::size_t i = 0; i < q; ++i) {
                if (axes[i].kind == Kind::category) continue;
                squares += products_[j * q + i] * 0.25 * (box.high[j] - box.low[j]) * (box.high[i] - box.low[i]);
            }
        }
        locate(axes, middle, place);
        return std::sqrt(squares) + other;
    }

    // How much a product with the column of an axis can differ in the box from what it is in the middle.
    double product_around(const std::vector<Axis>& axes, const Box& box, int axis) const {
        const std::size_t q = axes.size();
        double total = 0.0;
        for (std::size_t i = 0; i < q; ++i) {
            if (axes[i].kind == Kind::category) continue;
            total += products_[static_cast<std::size_t>(axis) * q + i] * 0.5 * (box.high[i] - box.low[i]);
        }
        return total;
    }
    // How fast a distance grows along an axis, at most.
    double steep(int axis) const { return std::sqrt(products_[static_cast<std::size_t>(axis) * (first_.size() + 1)]); }

private:
    const double* member(int i) const { return members_.data() + static_cast<std::size_t>(i) * width_; }
    const double* column(int j) const { return columns_.data() + static_cast<std::size_t>(j) * width_; }
    const double* rank(int j, double value) const {
        return ranks_.data() + (first_[j] + static_cast<std::size_t>(value)) * width_;
    }

    double product(const double* one, const double* other) const {
        double total = 0.0;
        for (std::size_t c = 0; c < width_; ++c) total += one[c] * other[c];
        return total;
    }

    std::size_t width_ = 0;
    std::vector<double> members_, columns_, ranks_, origin_;
    std::vector<std::size_t> first_;  // where the ranks of an axis begin
    std::vector<double> products_;    // of every two columns, without signs
};

}  // namespace whence::neighbours
