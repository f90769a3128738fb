// How far the trees of a forest disagree, and sums over trees that stand for it.
//
// With a value v(t) of every tree, the mean difference plus kappa standard errors over the trees is
// sum v + steepness * |v - mean v|. It is convex, and for any centred direction u no longer than 1 it is at least
// sum (1 + steepness * u(t)) v(t): a sum over trees, which a box bounds as it bounds expected costs. The factors are
// called tilts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace whence {

// kappa standard errors, of values that are already divided by the number of trees.
double steepness(double kappa, std::int32_t trees);

// sum v + steep * |v - mean v|.
double with_spread(std::span<const double> values, double steep);

// The tilts that are exact at these values.
void lean_at(std::span<const double> values, double steep, std::span<double> tilt);

// The tilts that bound best where each tree may have any value between its lowest and its highest one.
void lean_between(std::span<const double> low, std::span<const double> high, double steep, std::span<double> tilt);

// A sum over trees that the spread does not exceed: |v - mean v| <= sum of (v(t) - middle)^2 / (2 width) + width / 2.
struct Parabola {
    double middle, width;

    double at(double value) const { return (value - middle) * (value - middle) / (2.0 * width); }
};

// The one that is exact at these values, or nearly so where they hardly differ beside a number of size `most`.
Parabola parabola_at(std::span<const double> values, double most);

// One that bounds sum v + steep * |v - mean v| well where each tree may have any value between its lowest and its
// highest one, beginning with that at some values.
Parabola parabola_between(std::span<const double> low, std::span<const double> high, double steep, Parabola first);

}  // namespace whence
