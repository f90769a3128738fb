// Expected costs with confidence: the mean difference plus kappa standard errors over the trees must not exceed tau.
//
// An explanation by one forest is a matter of its random numbers where its trees disagree; one by a margin of some
// standard errors stands in most forests that are fitted to the same data.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/numbers.hpp"
#include "base/settings.hpp"
#include "criteria/mean_criterion.hpp"
#include "criteria/spread.hpp"

namespace whence {

class ConfidentMeanCriterion final : public MeanCriterion {
public:
    ConfidentMeanCriterion(std::int32_t leaves, double kappa) : MeanCriterion(leaves), kappa_(kappa) {}

    Criterion::Excess excess(LeafView leaves, EtaRange, std::span<std::int32_t>) const override {
        const double steep = steepness(kappa_, static_cast<std::int32_t>(leaves.size()));
        return worst_excess(leaves, [&](std::int32_t r, std::span<const double> own) {
            return with_spread(own, is_mixture(r) ? 0.0 : steep);
        });
    }

    void show(std::span<const double* const> rows, bool mixed) override {
        MeanCriterion::show(rows, mixed);
        mixed_ = mixed;
    }
    void lean(OpenBox& open) const override { lean_rows(open); }

    // The sum that bounds the box best may hold at the projection, though the criterion does not. The one that is exact
    // there does not.
    bool bound(OpenBox& open, double tau) const override {
        const double raised = tau + kRounding.spread_of_means * lean_rows(open);
        if (!MeanCriterion::bound(open, raised)) return false;
        const std::int32_t r = open.worst;
        if (open.holds || is_mixture(r) || pulls(open, raised)) return true;
        lean_at(values_at(open.counted(), r), steepness(kappa_, open.trees), room(open).tilts[r]);
        tilt(open, r);
        return MeanCriterion::bound(open, raised);
    }

protected:
    const double* row(const OpenBox& open, std::int32_t rival) const override {
        return is_mixture(rival) ? values(rival) : room(open).rows[rival].data();
    }

private:
    // A mixture is one of sums over trees, and such a sum itself.
    bool is_mixture(std::int32_t rival) const { return mixed_ && rival == rivals() - 1; }

    // Lean against every rival; the size of the numbers involved.
    double lean_rows(OpenBox& open) const {
        double size = 0.0;
        const double steep = steepness(kappa_, open.trees);
        const auto trees = static_cast<std::size_t>(open.trees);
        for (std::int32_t r = 0; r < rivals(); ++r) {
            if (is_mixture(r)) continue;
            MeanScratch& own = find_ends(open, r);
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

    void tilt(OpenBox& open, std::int32_t rival) const {
        const double* values = this->values(rival);
        const std::vector<double>& tilts = room(open).tilts[rival];
        write_row(open, rival, [&](std::int32_t tree, std::int32_t leaf) { return tilts[tree] * values[leaf]; });
    }

    double kappa_;
    bool mixed_ = false;
};

}  // namespace whence
