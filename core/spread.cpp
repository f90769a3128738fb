#include "spread.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace whence {

namespace {

// Steps in which the common level of the trees is halved in on. Any level gives a valid bound.
constexpr int HALVINGS = 24;
// Parabolas that are tried for a box, and the least width of one beside the values.
constexpr int PARABOLAS = 4;
constexpr double LEAST_WIDTH = 1e-9;

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

}  // namespace

double steepness(double kappa, std::int32_t trees) {
    if (!(kappa >= 0.0) || !std::isfinite(kappa)) throw std::invalid_argument("'kappa' must be finite and not negative.");
    if (trees < 2) return 0.0;  // one tree does not disagree
    return kappa * std::sqrt(static_cast<double>(trees) / (trees - 1.0));
}

double with_spread(std::span<const double> values, double steep) {
    double sum = 0.0;
    for (const double value : values) sum += value;
    return sum + steep * moments(values.size(), [&](std::size_t t) { return values[t]; }).norm;
}

Parabola parabola_at(std::span<const double> values, double most) {
    const auto [mean, norm] = moments(values.size(), [&](std::size_t t) { return values[t]; });
    return {mean, std::max({norm, LEAST_WIDTH * most, std::numeric_limits<double>::min()})};
}

// A parabola is largest at one of the ends of a range. The next one is exact there.
Parabola parabola_between(std::span<const double> low, std::span<const double> high, double steep, Parabola first) {
    std::vector<double> ends(low.size());
    double most = 0.0;
    for (std::size_t t = 0; t < ends.size(); ++t) most = std::max({most, std::abs(low[t]), std::abs(high[t])});
    first.width = std::max({first.width, LEAST_WIDTH * most, std::numeric_limits<double>::min()});
    Parabola best = first, now = first;
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < PARABOLAS; ++i) {
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

void lean_at(std::span<const double> values, double steep, std::span<double> tilt) {
    lean(values.size(), [&](std::size_t t) { return values[t]; }, steep, tilt);
}

// In the smallest sum the trees lie at one level as far as their range lets them: where it is attained,
// level = mean - norm / steep.
void lean_between(std::span<const double> low, std::span<const double> high, double steep, std::span<double> tilt) {
    const std::size_t count = low.size();
    double below = *std::min_element(low.begin(), low.end()), above = *std::max_element(high.begin(), high.end());
    const auto at = [&](double level) {
        return [&low, &high, level](std::size_t t) { return std::min(std::max(level, low[t]), high[t]); };
    };
    const auto too_high = [&](double level) {
        const auto [mean, norm] = moments(count, at(level));
        return steep * (level - mean) + norm > 0.0;
    };
    if (too_high(below)) {
        lean(count, at(below), steep, tilt);
        return;
    }
    for (int i = 0; i < HALVINGS; ++i) {
        const double middle = 0.5 * (below + above);
        (too_high(middle) ? above : below) = middle;
    }
    lean(count, at(0.5 * (below + above)), steep, tilt);
}

}  // namespace whence
