// CVaR with confidence: what the trees say about both plans, at the thresholds that suit the whole forest.
//
// With eta and level the thresholds at which the CVaR of the alternative and of a rival is attained at a context, the
// value of a tree is A(its leaf, eta) - B(its leaf, level). Their sum is the difference of both CVaR, and to first
// order a change of a tree's weight changes the difference by its value (the thresholds are optimal): their standard
// error is that of the difference. Where several thresholds are optimal, the smallest one counts.
//
// Over a box the thresholds vary. The difference itself is bounded as without confidence, by any level; the spread,
// for which a centred direction stands, by the levels that are possible in the box, of which the ends suffice: beside
// the level itself, which cancels out, B falls with the level. A box that this leaves possible is bounded once more
// with either half of its levels, and with the halves of a half if the other one is ruled out: the fewer there are, the
// closer is the bound.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "base/settings.hpp"
#include "criteria/spread.hpp"
#include "criteria/tail_criterion.hpp"

namespace whence {

class ConfidentTailCriterion final : public TailCriterion {
public:
    // With the plans of a criterion without confidence: their tables are shared.
    ConfidentTailCriterion(const TailCriterion& plain, double kappa)
        : TailCriterion(plain),
          steep_(steepness(kappa, trees())) {
        TailCriterion::show({}, false);
    }

    double rival_part(const OpenBox& open, std::int32_t rival, std::int32_t tree, std::int32_t leaf) const override {
        const TailTable& plan = this->rival(rival);
        const EtaRange range = open.level_ranges[rival];
        const double lean = room(open).tilts[rival][tree] - 1.0;
        const std::int32_t end = lean > 0.0 ? range.first : range.last;
        return -plan.value(leaf, open.levels[rival]) - lean * (plan.value(leaf, end) - plan.eta(end) / trees());
    }
    // Rows are rivals under one threshold: not enough to know their spread.
    void show(std::span<const double* const> rows, bool) override {
        if (!rows.empty()) throw std::invalid_argument("A CVaR with confidence needs the whole table of every rival.");
    }
    // By what the leaves say at the thresholds of the projection: any direction is valid.
    void lean(OpenBox& open) const override {
        list(open);
        lean_listed(open);
    }

    bool bound(OpenBox& open, double tau) const override {
        list(open);
        if (!lean_listed(open)) return false;
        const double most = raised(tau, steep_);
        const EtaRange suited = bracket(open, alternative(), open.etas, kRounding.same_share, open.etas);
        if (suited.empty()) return false;
        EtaRange range = possible(open, most, suited);
        // As long as one half of the levels is ruled out, the other one may be cut in half again.
        for (std::int32_t levels = 0; !range.empty() && levels != open.level_ranges[open.worst].size();) {
            levels = open.level_ranges[open.worst].size();
            range = halve_levels(open, most, range);
        }
        return settle(open, most, range) && lean_to_projection(open, most);
    }

    // Another level for the rival hardly moves a bound that takes all possible levels into account.
    bool bound_again(OpenBox&, double) const override { return true; }

    Criterion::Excess excess_near(LeafView leaves, EtaRange, std::span<std::int32_t> levels,
                                  std::int32_t guess) const override {
        return excess_with_spread(leaves, levels, guess, [&](std::int32_t) { return steep_; });
    }

protected:
    // The same for all listed leaves at once.
    void take_off(const OpenBox& open, std::int32_t r, std::vector<double>& numbers) const override {
        const TailTable& plan = this->rival(r);
        const TailScratch& own = room(open);
        const ListedLeaves& listed = own.listed;
        const EtaRange range = open.level_ranges[r];
        numbers.resize(listed.leaves.size());
        for (std::int32_t t = 0; t < trees(); ++t) {
            const double lean = own.tilts[r][t] - 1.0;
            const std::int32_t end = lean > 0.0 ? range.first : range.last;
            const double level = plan.eta(end) / trees();
            for (std::int32_t i = listed.from[t]; i < listed.from[t + 1]; ++i) {
                const std::int32_t leaf = listed.leaves[i];
                const double costs = r == open.worst ? own.at_level[i] : plan.value(leaf, open.levels[r]);
                numbers[i] = costs + lean * (plan.value(leaf, end) - level);
            }
        }
    }

    double tilt(const OpenBox& open, std::int32_t rival, std::int32_t tree) const override {
        return room(open).tilts[rival][tree];
    }

private:
    // False where a rival has no threshold left: then the box holds no explanation.
    bool lean_listed(OpenBox& open) const {
        const auto trees = static_cast<std::size_t>(this->trees());
        TailScratch& own = room(open);
        own.low.resize(trees);
        own.high.resize(trees);
        const std::int32_t eta = std::min(open.eta_here, alternative().etas() - 1);
        open.level_ranges.resize(static_cast<std::size_t>(rivals()));
        bool left = true;
        for (std::int32_t r = 0; r < rivals(); ++r) {
            // Fewer leaves leave fewer thresholds.
            const EtaRange possible = open.ranges_known ? open.level_ranges[r] : all_of(rival(r));
            const EtaRange suited = bracket(open, rival(r), possible, kRounding.same_share, open.level_ranges[r]);
            left = left && !suited.empty();
            open.level_ranges[r] = suited.empty() ? possible : suited;
            std::vector<double>& at_level = r == open.worst ? own.at_level : own.taken_off_others;
            at_level.resize(own.listed.leaves.size());
            for (std::int32_t t = 0; t < this->trees(); ++t) {
                Extent says;
                for (std::int32_t i = own.listed.from[t]; i < own.listed.from[t + 1]; ++i) {
                    const std::int32_t leaf = own.listed.leaves[i];
                    at_level[i] = rival(r).value(leaf, open.levels[r]);
                    says.take(alternative().value(leaf, eta) - at_level[i]);
                }
                const std::int32_t here = open.here[t];
                if (says.empty()) says.take(alternative().value(here, eta) - rival(r).value(here, open.levels[r]));
                own.low[t] = says.low;
                own.high[t] = says.high;
            }
            own.tilts[r].resize(trees);
            lean_between(own.low, own.high, steep_, own.tilts[r]);
        }
        open.ranges_known = true;
        return left;
    }

    // The etas of a range that are left where the levels of the worst rival are one half of those possible, or the
    // other; a half that leaves none is done with.
    //
    // A tree takes its dearest end of the levels, the first one where its tilt is more than 1 and the last one where it
    // is less: with half of them, trees of one kind have another end than with all. Most trees have a single leaf left,
    // which is then dearer by the same amount under every eta.
    EtaRange halve_levels(OpenBox& open, double tau, EtaRange range) const {
        const std::int32_t r = open.worst;
        const EtaRange all = open.level_ranges[r];
        if (range.empty() || all.size() < 2) return range;
        const TailTable& plan = rival(r);
        TailScratch& own = room(open);
        const std::int32_t middle = (all.first + all.last) / 2;
        const auto width = static_cast<std::size_t>(range.size());
        const auto stride = static_cast<std::size_t>(own.parts_of.size());
        const std::size_t skipped = static_cast<std::size_t>(range.first - own.parts_of.first);
        std::vector<double>& sums = own.half_sums;
        std::vector<double>& taken_off = own.taken_off_others;
        taken_off.resize(own.listed.leaves.size());
        sums.resize(2 * width);
        for (std::size_t k = 0; k < width; ++k) sums[k] = sums[width + k] = own.worst_sums[range.first + k];
        double dearer[2] = {};
        for (std::int32_t t = 0; t < trees(); ++t) {
            const double lean = own.tilts[r][t] - 1.0;
            if (lean == 0.0) continue;
            const bool upper = lean > 0.0;
            const std::int32_t end = upper ? middle + 1 : middle;
            const double level = plan.eta(end) / trees();
            const std::int32_t first = own.listed.from[t], last = own.listed.from[t + 1];
            for (std::int32_t i = first; i < last; ++i)
                taken_off[i] = own.at_level[i] + lean * (plan.value(own.listed.leaves[i], end) - level);
            if (last - first == 1) {
                dearer[upper] += own.taken_off[first] - taken_off[first];
                continue;
            }
            least_row(open, t, r, range, taken_off.data(), own.part.data());
            const double* part = own.parts.data() + static_cast<std::size_t>(t) * stride + skipped;
            double* half = sums.data() + upper * width;
            for (std::size_t k = 0; k < width; ++k) half[k] += own.part[k] - part[k];
        }
        const auto left = [&](bool upper) {
            return range.without([&](std::int32_t k) {
                return sums[upper * width + static_cast<std::size_t>(k - range.first)] + dearer[upper] > tau;
            });
        };
        const EtaRange below = left(false), above = left(true);
        if (!below.empty() && !above.empty())
            return {std::min(below.first, above.first), std::max(below.last, above.last)};
        if (below.empty() && above.empty()) return {1, 0};
        open.level_ranges[r] = below.empty() ? EtaRange{middle + 1, all.last} : EtaRange{all.first, middle};
        return possible(open, tau, below.empty() ? above : below);
    }

    // See ConfidentMeanCriterion.
    bool lean_to_projection(OpenBox& open, double tau) const {
        if (open.holds || pulls(open, tau)) return true;
        const std::int32_t r = open.worst;
        const auto here = open.counted();
        const std::int32_t eta = std::min(open.eta_here, alternative().etas() - 1);
        const std::int32_t level = rival(r).best_eta(here, all_of(rival(r)), kRounding.same_share, open.levels[r]);
        std::vector<double> own;
        for (const std::int32_t leaf : here)
            own.push_back(alternative().value(leaf, eta) - rival(r).value(leaf, level));
        lean_at(own, steep_, room(open).tilts[r]);
        return bound_listed(open, tau, open.etas);
    }

    double steep_;
};

// Where that is broken: see MeanBreach. The first plan is the rival, the second one the alternative: see
// ConfidentTailCriterion. After them come the plans that the rival must not cost more than.
class TailBreach final : public TailCriterion {
public:
    TailBreach(const LeafSamples& samples, double tail, double kappa)
        : TailCriterion(samples, tail),
          steep_(steepness(kappa, samples.trees)) {}

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
