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

}  // namespace whence
