// Kernels: how much a past context weighs, by how far away it is in bandwidths.
#pragma once

#include <algorithm>
#include <cmath>

#include "neighbours/neighbour_axes.hpp"

namespace whence::kernels {

using neighbours::Interval;

enum class Shape { gaussian, epanechnikov, biweight, tricube };

// A kernel as a function of what measures the distance: its square, or itself. It falls with it everywhere.
class Kernel {
public:
    Kernel(Shape shape, bool squared) : shape_(shape), squared_(squared), steepest_(steepest_at()) {}

    // Where it is, any factor that all values have in common can be left out.
    bool gaussian() const { return shape_ == Shape::gaussian; }
    double value(double far) const {
        if (shape_ == Shape::gaussian) return std::exp(squared_ ? -0.5 * far : -0.5 * far * far);
        if (far >= 1.0) return 0.0;
        const double rest = shape_ == Shape::tricube ? 1.0 - cube(far) : 1.0 - (squared_ ? far : far * far);
        return shape_ == Shape::epanechnikov ? rest : shape_ == Shape::biweight ? rest * rest : rest * rest * rest;
    }

    // By how much it falls, as a number that is not positive.
    double slope(double far) const {
        if (shape_ == Shape::gaussian) return -(squared_ ? 0.5 : far) * value(far);
        if (far >= 1.0) return 0.0;
        if (shape_ == Shape::tricube) {
            const double rest = 1.0 - cube(far);
            return -(squared_ ? 4.5 * std::sqrt(std::max(far, 0.0)) : 9.0 * far * far) * rest * rest;
        }
        const double inner = squared_ ? -1.0 : -2.0 * far;
        const double rest = 1.0 - (squared_ ? far : far * far);
        return shape_ == Shape::epanechnikov ? inner : 2.0 * rest * inner;
    }

    // All slopes between two distances: in between there is at most one place where it is steepest.
    Interval slopes(double near, double far) const {
        const double one = slope(near), other = slope(far);
        Interval found{std::min(one, other), std::max(one, other)};
        if (near < steepest_ && steepest_ < far) found.low = std::min(found.low, slope(steepest_));
        // What ends with an edge is as steep as it gets just before it.
        if (shape_ == Shape::epanechnikov && near < 1.0 && far >= 1.0) found.low = squared_ ? -1.0 : -2.0;
        return found;
    }

private:
    double cube(double far) const {
        return squared_ ? std::max(far, 0.0) * std::sqrt(std::max(far, 0.0)) : far * far * far;
    }

    double steepest_at() const {
        switch (shape_) {
            case Shape::gaussian:
                return squared_ ? -1e300 : 1.0;
            case Shape::epanechnikov:
                return -1e300;
            case Shape::biweight:
                return squared_ ? -1e300 : std::sqrt(1.0 / 3.0);
            case Shape::tricube:
                return squared_ ? std::pow(1.0 / 7.0, 2.0 / 3.0) : std::pow(0.25, 1.0 / 3.0);
        }
        return -1e300;
    }

    Shape shape_;
    bool squared_;
    double steepest_;
};

}  // namespace whence::kernels
