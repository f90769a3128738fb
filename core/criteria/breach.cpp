#include "criteria/breach.hpp"

#include <algorithm>
#include <cmath>

#include "base/numbers.hpp"
#include "base/settings.hpp"
#include "criteria/spread.hpp"

namespace whence {

// ---- expected costs -----------------------------------------------------------------------------------------------

double MeanBreach::steep_of(std::int32_t rival, std::int32_t trees) const {
    return rival == 0 ? steepness(kappa_, trees) : 0.0;
}

Criterion::Excess MeanBreach::excess(LeafView leaves, EtaRange, std::span<std::int32_t>) const {
    return worst_excess(leaves, [&](std::int32_t r, std::span<const double> own) {
        return -with_spread(own, steep_of(r, static_cast<std::int32_t>(leaves.size())));
    });
}

// The row of a rival by a parabola; the size of the numbers involved.
double MeanBreach::bend(OpenBox& open, std::int32_t rival, Parabola parabola) const {
    const double steep = steep_of(rival, open.trees);
    const double* values = this->values(rival);
    const double constant = 0.5 * steep * parabola.width / open.trees;
    write_row(open, rival, [&](std::int32_t, std::int32_t leaf) {
        return -(values[leaf] + steep * parabola.at(values[leaf]) + constant);
    });
    const double* row = this->row(open, rival);
    return largest_sum(open, [&](std::int32_t leaf) { return std::abs(row[leaf]) + std::abs(values[leaf]); });
}

void MeanBreach::lean(OpenBox& open) const {
    const auto trees = static_cast<std::size_t>(open.trees);
    std::vector<double> low(trees), high(trees);
    for (std::int32_t r = 0; r < rivals(); ++r) {
        const double* values = this->values(r);
        for (std::int32_t t = 0; t < open.trees; ++t) {
            const Extent says = extent(open, t, [values](std::int32_t leaf) { return values[leaf]; });
            low[t] = says.low;
            high[t] = says.high;
        }
        const Parabola here = parabola_at(values_at(open.counted(), r), 0.0);
        bend(open, r, parabola_between(low, high, steep_of(r, open.trees), here));
    }
}

bool MeanBreach::bound(OpenBox& open, double tau) const {
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

// ---- CVaR -----------------------------------------------------------------------------------------------------------

TailBreach::TailBreach(LeafSamples samples, double tail, std::int32_t trees, double kappa)
    : TailCriterion(samples, tail, trees),
      steep_(steepness(kappa, trees)) {}

Criterion::Excess TailBreach::excess_near(LeafView leaves, EtaRange, std::span<std::int32_t> levels,
                                          std::int32_t guess) const {
    return excess_with_spread(leaves, levels, guess, [&](std::int32_t r) { return -steep_of(r); });
}

// Beside the threshold itself, which all trees share and the spread does not see, values fall with the threshold.
TailBreach::Between TailBreach::between(std::int32_t rival, std::int32_t leaf, EtaRange own, EtaRange other) const {
    const auto beside = [&](const TailTable& plan, std::int32_t eta) {
        return plan.value(leaf, eta) - plan.eta(eta) / trees();
    };
    const TailTable& theirs = this->rival(rival);
    return {beside(theirs, other.last) - beside(alternative(), own.first),
            beside(theirs, other.first) - beside(alternative(), own.last)};
}

void TailBreach::bend(OpenBox& open, std::int32_t rival, EtaRange own, Parabola parabola) const {
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

void TailBreach::lean(OpenBox& open) const {
    const auto count = static_cast<std::size_t>(trees());
    std::vector<double> low(count), high(count), own(count);
    open.level_ranges.resize(static_cast<std::size_t>(rivals()));
    list(open);
    const EtaRange mine = bracket(open, alternative(), open.etas, kRounding.same_share, open.etas);
    const std::int32_t eta =
        alternative().best_eta(open.counted(), all_of(alternative()), kRounding.same_share, open.eta_here);
    for (std::int32_t r = 0; r < rivals(); ++r) {
        open.level_ranges[r] = bracket(open, rival(r), all_of(rival(r)), kRounding.same_share, open.level_ranges[r]);
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

bool TailBreach::bound(OpenBox& open, double tau) const {
    lean(open);  // which lists the leaves
    const double most = raised(tau, steep_);
    if (!bound_listed(open, most, bracket(open, alternative(), open.etas, kRounding.same_share, open.etas)))
        return false;
    if (open.holds || pulls(open, most)) return true;
    const auto here = open.counted();
    const std::int32_t r = open.worst;
    const std::int32_t eta = alternative().best_eta(here, all_of(alternative()), kRounding.same_share, open.eta_here);
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

bool TailBreach::bound_again(OpenBox& open, double tau) const {
    return TailCriterion::bound_again(open, raised(tau, steep_));
}

}  // namespace whence
