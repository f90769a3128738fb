// Where a criterion with confidence is broken: what a search for the end of a region looks for.
//
// The criterion that these classes offer is minus the difference with its standard errors: it holds where that is more
// than tau. Without confidence, the same is asked by exchanging both plans. Of a breach by a plan that has to be the
// best one where it happens, further rivals say so: plans that it must not cost more than, without standard errors.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/numbers.hpp"
#include "base/settings.hpp"
#include "criteria/mean_criterion.hpp"
#include "criteria/spread.hpp"
#include "criteria/tail_criterion.hpp"

namespace whence {

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

// The first plan is the rival, the second one the alternative: see ConfidentTailCriterion. After them come the plans
// that the rival must not cost more than.
class TailBreach final : public TailCriterion {
public:
    TailBreach(LeafSamples samples, double tail, std::int32_t trees, double kappa)
        : TailCriterion(samples, tail, trees),
          steep_(steepness(kappa, trees)) {}

    double rival_part(const OpenBox& open, std::int32_t rival, std::int32_t tree, std::int32_t leaf) const override {
        return TailCriterion::rival_part(open, rival, tree, leaf) + room(open).rows[rival][leaf];
    }

    void lean(OpenBox& open) const override {
        const auto count = static_cast<std::size_t>(trees());
        std::vector<double> low(count), high(count), own(count);
        open.level_ranges.resize(static_cast<std::size_t>(rivals()));
        list(open);
        const EtaRange mine = bracket(open, alternative(), open.etas, kRounding.same_share, open.etas);
        const std::int32_t eta =
            alternative().best_eta(open.counted(), all_of(alternative()), kRounding.same_share, open.eta_here);
        for (std::int32_t r = 0; r < rivals(); ++r) {
            open.level_ranges[r] =
                bracket(open, rival(r), all_of(rival(r)), kRounding.same_share, open.level_ranges[r]);
            const EtaRange level{open.levels[r], open.levels[r]};
            for (std::int32_t t = 0; t < trees(); ++t) {
                own[t] = between(r, open.here[t], {eta, eta}, level).low;
                Extent says;
                open.reach.each(t, [&](std::int32_t leaf) {
                    const Between ends = between(r, leaf, mine, open.level_ranges[r]);
                    says.low = std::min(says.low, ends.low);
                    says.high = std::max(says.high, ends.high);
                });
                low[t] = says.low == kInfinity ? own[t] : says.low;
                high[t] = says.high == -kInfinity ? own[t] : says.high;
            }
            bend(open, r, mine, parabola_between(low, high, steep_of(r), parabola_at(own, 0.0)));
        }
    }

    bool bound(OpenBox& open, double tau) const override {
        lean(open);  // which lists the leaves
        const double most = raised(tau, steep_);
        if (!bound_listed(open, most, bracket(open, alternative(), open.etas, kRounding.same_share, open.etas)))
            return false;
        if (open.holds || pulls(open, most)) return true;
        const auto here = open.counted();
        const std::int32_t r = open.worst;
        const std::int32_t eta =
            alternative().best_eta(here, all_of(alternative()), kRounding.same_share, open.eta_here);
        const std::int32_t level = rival(r).best_eta(here, all_of(rival(r)), kRounding.same_share, open.levels[r]);
        std::vector<double> own;
        for (const std::int32_t leaf : here) own.push_back(between(r, leaf, {eta, eta}, {level, level}).low);
        double largest = 0.0;
        for (std::int32_t t = 0; t < trees(); ++t)
            open.reach.each(t, [&](std::int32_t leaf) {
                const Between ends = between(r, leaf, open.etas, open.level_ranges[r]);
                largest = std::max({largest, std::abs(ends.low), std::abs(ends.high)});
            });
        bend(open, r, open.etas, parabola_at(own, largest));
        return bound_listed(open, most, open.etas);
    }

    bool bound_again(OpenBox& open, double tau) const override {
        return TailCriterion::bound_again(open, raised(tau, steep_));
    }

    Criterion::Excess excess_near(LeafView leaves, EtaRange, std::span<std::int32_t> levels,
                                  std::int32_t guess) const override {
        return excess_with_spread(leaves, levels, guess, [&](std::int32_t r) { return -steep_of(r); });
    }

private:
    // The values of a leaf's tree at the thresholds that are possible in the box, beside those themselves.
    struct Between {
        double low, high;
    };

    // Beside the threshold itself, which all trees share and the spread does not see, values fall with the threshold.
    Between between(std::int32_t rival, std::int32_t leaf, EtaRange own, EtaRange other) const {
        const auto beside = [&](const TailTable& plan, std::int32_t eta) {
            return plan.value(leaf, eta) - plan.eta(eta) / trees();
        };
        const TailTable& theirs = this->rival(rival);
        return {beside(theirs, other.last) - beside(alternative(), own.first),
                beside(theirs, other.first) - beside(alternative(), own.last)};
    }

    void bend(OpenBox& open, std::int32_t rival, EtaRange own, Parabola parabola) const {
        const double steep = steep_of(rival), constant = 0.5 * steep * parabola.width / trees();
        std::vector<double>& row = room(open).rows[rival];
        row.resize(static_cast<std::size_t>(leaves()));
        const auto write = [&](std::int32_t leaf) {
            const Between ends = between(rival, leaf, own, open.level_ranges[rival]);
            row[leaf] = -(steep * std::max(parabola.at(ends.low), parabola.at(ends.high)) + constant);
        };
        for (std::int32_t t = 0; t < trees(); ++t) {
            open.reach.each(t, write);
            write(open.here[t]);
        }
    }

    double steep_of(std::int32_t rival) const { return rival == 0 ? steep_ : 0.0; }

    double steep_;
};

}  // namespace whence
