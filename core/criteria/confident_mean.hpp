// Expected costs with confidence: the mean difference plus kappa standard errors over the trees must not exceed tau.
//
// An explanation by one forest is a matter of its random numbers where its trees disagree; one by a margin of some
// standard errors stands in most forests that are fitted to the same data.
#pragma once

#include <algorithm>
#include <cmath>

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

// Where that is broken: what a search for the end of a region looks for.
//
// The criterion is minus the difference with its standard errors: it holds where that is more than tau. Without
// confidence, the same is asked by exchanging both plans. Of a breach by a plan that has to be the best one where it
// happens, further rivals say so: plans that it must not cost more than, without standard errors.
class MeanBreach final : public MeanCriterion {
public:
    MeanBreach(std::int32_t leaves, double kappa) : MeanCriterion(leaves), kappa_(kappa) {}

    Criterion::Excess excess(LeafView leaves, EtaRange, std::span<std::int32_t>) const override {
        return worst_excess(leaves, [&](std::int32_t r, std::span<const double> own) {
            return -with_spread(own, steep_of(r, static_cast<std::int32_t>(leaves.size())));
        });
    }

    void lean(OpenBox& open) const override {
        for (std::int32_t r = 0; r < rivals(); ++r) {
            const MeanScratch& own = find_ends(open, r);
            const Parabola here = parabola_at(values_at(open.counted(), r), 0.0);
            bend(open, r, parabola_between(own.low, own.high, steep_of(r, open.trees), here));
        }
    }

    bool bound(OpenBox& open, double tau) const override {
        lean(open);
        double size = 0.0;
        for (std::int32_t r = 0; r < rivals(); ++r) {
            const double* row = this->row(open, r);
            size = std::max(size, largest_sum(open, [&](std::int32_t leaf) { return std::abs(row[leaf]); }));
        }
        if (!MeanCriterion::bound(open, tau + kRounding.spread_of_means * size)) return false;
        if (open.holds || pulls(open, tau + kRounding.spread_of_means * size)) return true;
        // Nothing would pull the box away from its projection: the parabola that is exact there does.
        const double* values = this->values(open.worst);
        double most = 0.0;
        for (std::int32_t t = 0; t < open.trees; ++t)
            open.reach.each(t, [&](std::int32_t leaf) { most = std::max(most, std::abs(values[leaf])); });
        size = std::max(size, bend(open, open.worst, parabola_at(values_at(open.counted(), open.worst), most)));
        return MeanCriterion::bound(open, tau + kRounding.spread_of_means * size);
    }

protected:
    const double* row(const OpenBox& open, std::int32_t rival) const override { return room(open).rows[rival].data(); }

private:
    // The row of a rival by a parabola; the size of the numbers involved.
    double bend(OpenBox& open, std::int32_t rival, Parabola parabola) const {
        const double steep = steep_of(rival, open.trees);
        const double* values = this->values(rival);
        const double constant = 0.5 * steep * parabola.width / open.trees;
        write_row(open, rival, [&](std::int32_t, std::int32_t leaf) {
            return -(values[leaf] + steep * parabola.at(values[leaf]) + constant);
        });
        const double* row = this->row(open, rival);
        return largest_sum(open, [&](std::int32_t leaf) { return std::abs(row[leaf]) + std::abs(values[leaf]); });
    }

    double steep_of(std::int32_t rival, std::int32_t trees) const {
        return rival == 0 ? steepness(kappa_, trees) : 0.0;
    }

    double kappa_;
};

}  // namespace whence
