#include "criteria/confident_mean.hpp"

#include <algorithm>
#include <cmath>

#include "base/numbers.hpp"
#include "criteria/spread.hpp"

namespace whence {

namespace {

// Share of the terms of a sum by which rounding may put a bound above what it bounds.
constexpr double kRounding = 1e-13;

}  // namespace

Criterion::Excess ConfidentMeanCriterion::excess(LeafView leaves, EtaRange, std::span<std::int32_t>) const {
    const double steep = steepness(kappa_, static_cast<std::int32_t>(leaves.size()));
    std::vector<double> own(leaves.size());
    Excess found{-kInfinity, 0};
    for (std::int32_t r = 0; r < rivals(); ++r) {
        const double* values = this->values(r);
        std::transform(leaves.begin(), leaves.end(), own.begin(), [&](std::int32_t leaf) { return values[leaf]; });
        const double over = with_spread(own, is_mixture(r) ? 0.0 : steep);
        if (over > found.over) found = {over, r};
    }
    return found;
}

// Lean against every rival; the size of the numbers involved.
double ConfidentMeanCriterion::lean_rows(OpenBox& open) const {
    double size = 0.0;
    const double steep = steepness(kappa_, open.trees);
    const auto trees = static_cast<std::size_t>(open.trees);
    std::vector<double>&low = open.low, &high = open.high;
    low.resize(trees);
    high.resize(trees);
    const auto count = static_cast<std::size_t>(rivals());
    open.tilts.resize(count);
    open.rows.resize(count);
    for (std::int32_t r = 0; r < rivals(); ++r) {
        if (is_mixture(r)) continue;
        const double* values = this->values(r);
        for (std::int32_t t = 0; t < open.trees; ++t) {
            double least = kInfinity, most = -kInfinity;
            open.reach.each(t, [&](std::int32_t leaf) {
                least = std::min(least, values[leaf]);
                most = std::max(most, values[leaf]);
            });
            // Where nothing is reached the box is empty, whatever is said about it.
            if (least > most) least = most = values[open.here[t]];
            low[t] = least;
            high[t] = most;
        }
        open.tilts[r].resize(trees);
        lean_between(low, high, steep, open.tilts[r]);
        write_row(open, r);
        double own = 0.0;
        for (std::size_t t = 0; t < trees; ++t)
            own += std::abs(open.tilts[r][t]) * std::max(std::abs(low[t]), std::abs(high[t]));
        size = std::max(size, own);
    }
    return size;
}

// The tilted values of the leaves that the box meets and of those at its projection.
void ConfidentMeanCriterion::write_row(OpenBox& open, std::int32_t rival) const {
    const double* values = this->values(rival);
    std::vector<double>& row = open.rows[rival];
    row.resize(static_cast<std::size_t>(leaves()));
    for (std::int32_t t = 0; t < open.trees; ++t) {
        const double tilt = open.tilts[rival][t];
        open.reach.each(t, [&](std::int32_t leaf) { row[leaf] = tilt * values[leaf]; });
        row[open.here[t]] = tilt * values[open.here[t]];
    }
}

bool ConfidentMeanCriterion::bound(OpenBox& open, double tau) const {
    const double raised = tau + kRounding * lean_rows(open);
    return MeanCriterion::bound(open, raised) && lean_to_projection(open, raised);
}

// The sum that bounds the box best may hold at the projection, though the criterion does not: then nothing would pull
// the box away from there. The sum that is exact at the projection does.
bool ConfidentMeanCriterion::lean_to_projection(OpenBox& open, double tau) const {
    const std::int32_t r = open.worst;
    if (open.holds || is_mixture(r)) return true;
    double there = 0.0;
    for (const std::int32_t leaf : open.counted()) there += row(open, r)[leaf];
    if (there > tau) return true;
    std::vector<double> own;
    for (const std::int32_t leaf : open.counted()) own.push_back(values(r)[leaf]);
    lean_at(own, steepness(kappa_, open.trees), open.tilts[r]);
    write_row(open, r);
    return MeanCriterion::bound(open, tau);
}

}  // namespace whence
