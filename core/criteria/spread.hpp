// How far the trees of a forest disagree, and sums over trees that stand for it.
//
// With a value v(t) of every tree, the mean difference plus kappa standard errors over the trees is
// sum v + steepness * |v - mean v|. It is convex, and for any centred direction u no longer than 1 it is at least
// sum (1 + steepness * u(t)) v(t): a sum over trees, which a box bounds as it bounds expected costs. The factors are
// called tilts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "base/settings.hpp"

namespace whence {

struct Moments {
    double mean, norm;  // and the distance of the values from their mean
};

template <class Value>
Moments moments(std::size_t count, Value value) {
    double sum = 0.0, squares = 0.0;
    for (std::size_t t = 0; t < count; ++t) sum += value(t);
    const double mean = sum / static_cast<double>(count);
    for (std::size_t t = 0; t < count; ++t) squares += (value(t) - mean) * (value(t) - mean);
    return {mean, std::sqrt(squares)};
}

// The direction is centred, and not longer than 1, in spite of rounding: where values hardly differ it is mostly that.
template <class Value>
void lean(std::size_t count, Value value, double steep, std::span<double> tilt) {
    const auto [mean, norm] = moments(count, value);
    for (std::size_t t = 0; t < count; ++t) tilt[t] = norm > 0.0 ? (value(t) - mean) / norm : 0.0;
    const auto [off, length] = moments(count, [&](std::size_t t) { return tilt[t]; });
    for (std::size_t t = 0; t < count; ++t) tilt[t] = 1.0 + steep * ((tilt[t] - off) / std::max(1.0, length));
}

// By how much a level is too high to be the common one of the trees, which lie there as far as their ranges let them:
// it is right where level = mean - norm / steep.
inline double too_high(std::span<const double> low, std::span<const double> high, double steep, double level) {
    const auto count = static_cast<double>(low.size());
    double sum = 0.0, squares = 0.0;
    for (std::size_t t = 0; t < low.size(); ++t) {
        const double off = std::min(std::max(0.0, low[t] - level), high[t] - level);
        sum += off;
        squares += off * off;
    }
    return std::sqrt(std::max(0.0, squares - sum * sum / count)) - steep * sum / count;
}

// kappa standard errors, of values that are already divided by the number of trees.
inline double steepness(double kappa, std::int32_t trees) {
    if (!(kappa >= 0.0) || !std::isfinite(kappa))
        throw std::invalid_argument("'kappa' must be finite and not negative.");
    if (trees < 2) return 0.0;  // one tree does not disagree
    return kappa * std::sqrt(static_cast<double>(trees) / (trees - 1.0));
}

// sum v + steep * |v - mean v|.
inline double with_spread(std::span<const double> values, double steep) {
    double sum = 0.0;
    for (const double value : values) sum += value;
    return sum + steep * moments(values.size(), [&](std::size_t t) { return values[t]; }).norm;
}

// The tilts that are exact at these values.
inline void lean_at(std::span<const double> values, double steep, std::span<double> tilt) {
    lean(values.size(), [&](std::size_t t) { return values[t]; }, steep, tilt);
}

// The tilts that bound best where each tree may have any value between its lowest and its highest one.
inline void lean_between(std::span<const double> low, std::span<const double> high, double steep,
                         std::span<double> tilt) {
    const std::size_t count = low.size();
    double below = *std::min_element(low.begin(), low.end()), above = *std::max_element(high.begin(), high.end());
    const auto lean_to = [&](double level) {
        lean(count, [&](std::size_t t) { return std::min(std::max(level, low[t]), high[t]); }, steep, tilt);
    };
    double least = too_high(low, high, steep, below);
    if (least > 0.0) {
        lean_to(below);
        return;
    }
    double most = too_high(low, high, steep, above);
    const double close = kSettings.forest.close_level * (above - below);
    double level = below;
    // Where the line between both ends is zero; an end that stays counts half, so that it does not stay for long.
    for (int i = 0, side = 0; i < kSettings.forest.spread_steps && above - below > close; ++i) {
        level = most > least ? below + (above - below) * (-least / (most - least)) : 0.5 * (below + above);
        const double now = too_high(low, high, steep, level);
        if (now > 0.0) {
            above = level;
            most = now;
            if (side > 0) least *= 0.5;
            side = 1;
        } else {
            below = level;
            least = now;
            if (side < 0) most *= 0.5;
            side = -1;
        }
        if (std::abs(now) <= kSettings.forest.close_level * close) break;
    }
    lean_to(level);
}

// A sum over trees that the spread does not exceed: |v - mean v| <= sum of (v(t) - middle)^2 / (2 width) + width / 2.
struct Parabola {
    double middle, width;

    double at(double value) const { return (value - middle) * (value - middle) / (2.0 * width); }
};

// The one that is exact at these values, or nearly so where they hardly differ beside a number of size `most`.
inline Parabola parabola_at(std::span<const double> values, double most) {
    const auto [mean, norm] = moments(values.size(), [&](std::size_t t) { return values[t]; });
    return {mean, std::max({norm, kSettings.forest.least_width * most, std::numeric_limits<double>::min()})};
}

// One that bounds sum v + steep * |v - mean v| well where each tree may have any value between its lowest and its
// highest one, beginning with that at some values.
// A parabola is largest at one of the ends of a range. The next one is exact there.
inline Parabola parabola_between(std::span<const double> low, std::span<const double> high, double steep,
                                 Parabola first) {
    std::vector<double> ends(low.size());
    double most = 0.0;
    for (std::size_t t = 0; t < ends.size(); ++t) most = std::max({most, std::abs(low[t]), std::abs(high[t])});
    first.width = std::max({first.width, kSettings.forest.least_width * most, std::numeric_limits<double>::min()});
    Parabola best = first, now = first;
    double least = kInfinity;
    for (int i = 0; i < kSettings.forest.parabolas; ++i) {
        double total = 0.5 * steep * now.width;
        for (std::size_t t = 0; t < ends.size(); ++t) {
            const double below = low[t] + steep * now.at(low[t]), above = high[t] + steep * now.at(high[t]);
            ends[t] = above >= below ? high[t] : low[t];
            total += std::max(below, above);
        }
        if (total < least) {
            least = total;
            best = now;
        }
        now = parabola_at(ends, most);
    }
    return best;
}

}  // namespace whence
