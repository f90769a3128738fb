#include "criteria/confident_mean.hpp"

#include <algorithm>
#include <cmath>

#include "base/numbers.hpp"
#include "base/settings.hpp"
#include "criteria/spread.hpp"

namespace whence {

Criterion::Excess ConfidentMeanCriterion::excess(LeafView leaves, EtaRange, std::span<std::int32_t>) const {
    const double steep = steepness(kappa_, static_cast<std::int32_t>(leaves.size()));
    return worst_excess(leaves, [&](std::int32_t r, std::span<const double> own) {
        return with_spread(own, is_mixture(r) ? 0.0 : steep);
    });
}

// Lean against every rival; the size of the numbers involved.
double ConfidentMeanCriterion::lean_rows(OpenBox& open) const {
    double size = 0.0;
    const double steep = steepness(kappa_, open.trees);
    const auto trees = static_cast<std::size_t>(open.trees);
    MeanScratch& own = room(open);
    own.low.resize(trees);
    own.high.resize(trees);
    for (std::int32_t r = 0; r < rivals(); ++r) {
        if (is_mixture(r)) continue;
        const double* values = this->values(r);
        for (std::int32_t t = 0; t < open.trees; ++t) {
            const Extent says = extent(open, t, [values](std::int32_t leaf) { return values[leaf]; });
            own.low[t] = says.low;
            own.high[t] = says.high;
        }
        std::vector<double>& tilts = own.tilts[r];
        tilts.resize(trees);
        lean_between(own.low, own.high, steep, tilts);
        tilt(open, r);
        double all = 0.0;
        for (std::size_t t = 0; t < trees; ++t)
            all += std::abs(tilts[t]) * std::max(std::abs(own.low[t]), std::abs(own.high[t]));
        size = std::max(size, all);
    }
    return size;
}

void ConfidentMeanCriterion::tilt(OpenBox& open, std::int32_t rival) const {
    const double* values = this->values(rival);
    const std::vector<double>& tilts = room(open).tilts[rival];
    write_row(open, rival, [&](std::int32_t tree, std::int32_t leaf) { return tilts[tree] * values[leaf]; });
}

// The sum that bounds the box best may hold at the projection, though the criterion does not. The one that is exact
// there does not.
bool ConfidentMeanCriterion::bound(OpenBox& open, double tau) const {
    const double raised = tau + kRounding.spread_of_means * lean_rows(open);
    if (!MeanCriterion::bound(open, raised)) return false;
    const std::int32_t r = open.worst;
    if (open.holds || is_mixture(r) || pulls(open, raised)) return true;
    lean_at(values_at(open.counted(), r), steepness(kappa_, open.trees), room(open).tilts[r]);
    tilt(open, r);
    return MeanCriterion::bound(open, raised);
}

}  // namespace whence
