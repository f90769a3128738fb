#include "criteria/breach.hpp"

#include <algorithm>
#include <cmath>

#include "base/numbers.hpp"
#include "criteria/spread.hpp"

namespace whence {

namespace {

// As with confidence: see ConfidentMeanCriterion and ConfidentTailCriterion.
constexpr double kRounding = 1e-13, kTailRounding = 1e-11, kSame = 1e-12;

}  // namespace

// ---- expected costs -----------------------------------------------------------------------------------------------

double MeanBreach::steep_of(std::int32_t rival, std::int32_t trees) const {
    return rival == 0 ? steepness(kappa_, trees) : 0.0;
}

Criterion::Excess MeanBreach::excess(LeafView leaves, EtaRange, std::span<std::int32_t>) const {
    std::vector<double> own(leaves.size());
    Excess found{-kInfinity, 0};
    for (std::int32_t r = 0; r < rivals(); ++r) {
        const double* values = this->values(r);
        std::transform(leaves.begin(), leaves.end(), own.begin(), [&](std::int32_t leaf) { return values[leaf]; });
        const double over = -with_spread(own, steep_of(r, static_cast<std::int32_t>(leaves.size())));
        if (over > found.over) found = {over, r};
    }
    return found;
}

// The values of the leaves that the box meets and of those at its projection; the size of the numbers involved.
double MeanBreach::write_row(OpenBox& open, std::int32_t rival, double middle, double width) const {
    const double steep = steep_of(rival, open.trees);
    const double* values = this->values(rival);
    const Parabola parabola{middle, width};
    const double constant = 0.5 * steep * width / open.trees;
    std::vector<double>& row = open.rows[rival];
    row.resize(static_cast<std::size_t>(leaves()));
    const auto write = [&](std::int32_t leaf) {
        row[leaf] = -(values[leaf] + steep * parabola.at(values[leaf]) + constant);
    };
    double size = 0.0;
    for (std::int32_t t = 0; t < open.trees; ++t) {
        double most = 0.0;
        open.reach.each(t, [&](std::int32_t leaf) {
            write(leaf);
            most = std::max(most, std::abs(row[leaf]) + std::abs(values[leaf]));
        });
        write(open.here[t]);
        size += most;
    }
    return size;
}

void MeanBreach::lean(OpenBox& open) const {
    const auto trees = static_cast<std::size_t>(open.trees);
    std::vector<double> low(trees), high(trees), own(trees);
    open.rows.resize(static_cast<std::size_t>(rivals()));
    for (std::int32_t r = 0; r < rivals(); ++r) {
        const double* values = this->values(r);
        for (std::int32_t t = 0; t < open.trees; ++t) {
            own[t] = low[t] = high[t] = values[open.here[t]];
            bool fresh = true;
            open.reach.each(t, [&](std::int32_t leaf) {
                low[t] = fresh ? values[leaf] : std::min(low[t], values[leaf]);
                high[t] = fresh ? values[leaf] : std::max(high[t], values[leaf]);
                fresh = false;
            });
        }
        const Parabola chosen = parabola_between(low, high, steep_of(r, open.trees), parabola_at(own, 0.0));
        write_row(open, r, chosen.middle, chosen.width);
    }
}

bool MeanBreach::bound(OpenBox& open, double tau) const {
    lean(open);
    double size = 0.0;
    for (std::int32_t r = 0; r < rivals(); ++r) {
        double own = 0.0;
        for (std::int32_t t = 0; t < open.trees; ++t) {
            double most = 0.0;
            open.reach.each(t, [&](std::int32_t leaf) { most = std::max(most, std::abs(row(open, r)[leaf])); });
            own += most;
        }
        size = std::max(size, own);
    }
    if (!MeanCriterion::bound(open, tau + kRounding * size)) return false;
    double there = 0.0;
    for (const std::int32_t leaf : open.counted()) there += row(open, open.worst)[leaf];
    if (open.holds || there > tau + kRounding * size) return true;
    // Nothing would pull the box away from its projection: the parabola that is exact there does.
    std::vector<double> own;
    for (const std::int32_t leaf : open.counted()) own.push_back(values(open.worst)[leaf]);
    double most = 0.0;
    for (std::int32_t t = 0; t < open.trees; ++t)
        open.reach.each(t, [&](std::int32_t leaf) { most = std::max(most, std::abs(values(open.worst)[leaf])); });
    const Parabola exact = parabola_at(own, most);
    size = std::max(size, write_row(open, open.worst, exact.middle, exact.width));
    return MeanCriterion::bound(open, tau + kRounding * size);
}

// ---- CVaR -----------------------------------------------------------------------------------------------------------

TailBreach::TailBreach(LeafSamples samples, double tail, std::int32_t trees, double kappa)
    : TailCriterion(samples, tail, trees),
      steep_(steepness(kappa, trees)) {}

Criterion::Excess TailBreach::excess_near(LeafView leaves, EtaRange, std::span<std::int32_t> levels,
                                          std::int32_t guess) const {
    std::vector<double> mine(leaves.size()), own(leaves.size());
    const std::int32_t eta = alternative().best_eta(leaves, all_of(alternative()), kSame, guess);
    for (std::size_t t = 0; t < mine.size(); ++t) mine[t] = alternative().value(leaves[t], eta);
    Excess found{-kInfinity, 0, eta};
    for (std::int32_t r = 0; r < rivals(); ++r) {
        levels[r] = rival(r).best_eta(leaves, all_of(rival(r)), kSame, levels[r]);
        for (std::size_t t = 0; t < own.size(); ++t) own[t] = rival(r).value(leaves[t], levels[r]) - mine[t];
        const double over = -with_spread(own, steep_of(r));
        if (over > found.over) found = {over, r, eta};
    }
    return found;
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

void TailBreach::write_row(OpenBox& open, std::int32_t rival, EtaRange own, double middle, double width) const {
    const Parabola parabola{middle, width};
    const double steep = steep_of(rival), constant = 0.5 * steep * width / trees();
    std::vector<double>& row = open.rows[rival];
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
    open.rows.resize(static_cast<std::size_t>(rivals()));
    open.level_ranges.resize(static_cast<std::size_t>(rivals()));
    list(open);
    const EtaRange mine = bracket(open, alternative(), open.etas, kSame, open.etas);
    const std::int32_t eta = alternative().best_eta(open.counted(), all_of(alternative()), kSame, open.eta_here);
    for (std::int32_t r = 0; r < rivals(); ++r) {
        open.level_ranges[r] = bracket(open, rival(r), all_of(rival(r)), kSame, open.level_ranges[r]);
        const EtaRange level{open.levels[r], open.levels[r]};
        for (std::int32_t t = 0; t < trees(); ++t) {
            own[t] = low[t] = high[t] = between(r, open.here[t], {eta, eta}, level).low;
            bool fresh = true;
            open.reach.each(t, [&](std::int32_t leaf) {
                const Between ends = between(r, leaf, mine, open.level_ranges[r]);
                low[t] = fresh ? ends.low : std::min(low[t], ends.low);
                high[t] = fresh ? ends.high : std::max(high[t], ends.high);
                fresh = false;
            });
        }
        const Parabola chosen = parabola_between(low, high, steep_of(r), parabola_at(own, 0.0));
        write_row(open, r, mine, chosen.middle, chosen.width);
    }
}

double TailBreach::raised(double tau) const {
    double most = 0.0;
    for (std::int32_t r = 0; r < rivals(); ++r) most = std::max(most, rival(r).largest());
    return tau + kTailRounding * (1.0 + steep_) * (alternative().largest() + most);
}

bool TailBreach::bound(OpenBox& open, double tau) const {
    lean(open);  // which lists the leaves
    const double most = raised(tau);
    if (!bound_listed(open, most, bracket(open, alternative(), open.etas, kSame, open.etas))) return false;
    const auto here = open.counted();
    const std::int32_t r = open.worst;
    double there = 0.0;
    for (std::int32_t t = 0; t < trees(); ++t) there += worth(open, r, t, here[t], open.eta);
    if (open.holds || there > most) return true;
    const std::int32_t eta = alternative().best_eta(here, all_of(alternative()), kSame, open.eta_here);
    const std::int32_t level = rival(r).best_eta(here, all_of(rival(r)), kSame, open.levels[r]);
    std::vector<double> own;
    for (const std::int32_t leaf : here) own.push_back(between(r, leaf, {eta, eta}, {level, level}).low);
    double largest = 0.0;
    for (std::int32_t t = 0; t < trees(); ++t)
        open.reach.each(t, [&](std::int32_t leaf) {
            const Between ends = between(r, leaf, open.etas, open.level_ranges[r]);
            largest = std::max({largest, std::abs(ends.low), std::abs(ends.high)});
        });
    const Parabola exact = parabola_at(own, largest);
    write_row(open, r, open.etas, exact.middle, exact.width);
    return bound_listed(open, raised(tau), open.etas);
}

bool TailBreach::bound_again(OpenBox& open, double tau) const { return TailCriterion::bound_again(open, raised(tau)); }

}  // namespace whence
