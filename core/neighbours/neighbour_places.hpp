// Contexts and past ones as places whose Euclidean distance is that of the neighbours.
//
// Where only differences of squared distances matter, scores stand for them. Where neighbours count by how near they
// are, the distances themselves do, which are taken here.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "neighbours/neighbour_axes.hpp"

namespace whence::neighbours {

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
