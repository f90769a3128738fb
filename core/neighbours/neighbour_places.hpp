// Contexts and past ones as places whose Euclidean distance is that of the neighbours.
//
// Where only differences of squared distances matter, scores stand for them. Where neighbours count by how near they
// are, the distances themselves do, which are taken here.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace whence::neighbours {

struct Axis;
struct Box;

class Places {
public:
    Places() = default;
    // `members` has a row a member, `columns` a row an axis (0 for a category) by which a unit moves the place, `ranks`
    // a row a category of every category axis, which it moves the place by, and `origin` is where all that begins.
    Places(const std::vector<Axis>& axes, std::vector<double> members, std::vector<double> columns,
           std::vector<double> ranks, std::vector<double> origin);

    bool empty() const { return width_ == 0; }
    // Where a context is.
    void locate(const std::vector<Axis>& axes, std::span<const double> context, std::vector<double>& place) const;
    // How far a member is from a place.
    double far(int member, std::span<const double> place) const;
    // How fast the square of that grows along an axis, halved.
    double pull(int member, int axis, std::span<const double> place) const;
    // How far any context of a box is, at most, from the one in its middle, whose place is written down; where a
    // category is open, its middle is its first one.
    double around(const std::vector<Axis>& axes, const Box& box, std::vector<double>& place) const;
    // How much a product with the column of an axis can differ in the box from what it is in the middle.
    double product_around(const std::vector<Axis>& axes, const Box& box, int axis) const;

    // How fast a distance grows along an axis, at most.
    double steep(int axis) const { return std::sqrt(products_[static_cast<std::size_t>(axis) * (first_.size() + 1)]); }

private:
    const double* member(int i) const { return members_.data() + static_cast<std::size_t>(i) * width_; }
    const double* column(int j) const { return columns_.data() + static_cast<std::size_t>(j) * width_; }
    const double* rank(int j, double value) const {
        return ranks_.data() + (first_[j] + static_cast<std::size_t>(value)) * width_;
    }
    double product(const double* one, const double* other) const;

    std::size_t width_ = 0;
    std::vector<double> members_, columns_, ranks_, origin_;
    std::vector<std::size_t> first_;  // where the ranks of an axis begin
    std::vector<double> products_;    // of every two columns, without signs
};

}  // namespace whence::neighbours
