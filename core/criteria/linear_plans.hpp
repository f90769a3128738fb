// Plans of a linear problem under CVaR: some plan of a polytope must not cost more than the decision, or than the best
// plan of all, plus tau.
//
// With c(i) z the cost of a plan z in sample i, its CVaR is the least, over thresholds eta, of eta plus the mean excess
// over it by the tail. Whatever the numbers rho(i) between 0 and 1/tail, it is at least the least of
//     eta + sum over samples of w(i) rho(i) (c(i) z - eta),
// which is linear in the weights, and thus a sum over trees; and in z and eta. With the dual solution at the projection
// of a box for rho, its least value there is the least CVaR itself. What the trees say at least in a box is concave in
// z and eta, so that it is bounded by what it is at the corners of the polytope and the ends of eta.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "criteria/criterion.hpp"
#include "forest/reach.hpp"
#include "problems/tail_program.hpp"

namespace whence {

struct LinearScratch : Scratch {
    Weighted weighted;
    std::vector<double> weight;  // of each sample, 0 but for those that count at the projection
    TailProgram::Room room, all_room;
    TailProgram::Solved own, all;
    std::vector<TailProgram::Cut> before;
    Leaves leaves;
    bool against_all = false;  // whether the best plan of all is the rival, and not the decision;
    double level = 0.0;        // where its worst share begins
    std::vector<double> costs;
    std::vector<std::size_t> order;

    std::vector<double> rho;            // of each sample, by the cuts of the projection,
    std::vector<std::int64_t> made_at;  // if it was computed for these
    std::int64_t now = 0;
    std::vector<double> says;  // of each leaf: what it adds by a unit of every entry, of eta, and for the rival
    std::vector<double> lows, highs, sums, least, mins;
    double first = 0.0, last = 0.0;  // between these lie all thresholds that count
    std::vector<double> values;      // of a leaf, at every corner and end
    std::size_t chosen = 0;          // the corner and the end that `worth` is about
};

class LinearPlans final : public SetCriterion {
public:
    // The corners hold the set, those of `all` every plan there is, if the best of these, which counts for `factor`
    // times its cost, must be met. A plan of the set counts for its cost less `allowance`.
    struct Sets {
        std::vector<double> corners, all;
        double factor = 1.0, allowance = 0.0;
    };

    // `decision` is what the decision costs in every sample.
    LinearPlans(const LeafSamples& samples, LinearCosts costs, Sets sets, std::vector<double> decision, double tail)
        : samples_(samples),
          costs_(std::make_shared<const LinearCosts>(std::move(costs))),
          own_(costs_, std::move(sets.corners), tail),
          decision_(std::move(decision)),
          tail_(tail),
          factor_(sets.factor),
          allowance_(sets.allowance) {
        if (!sets.all.empty()) all_ = std::make_unique<TailProgram>(costs_, std::move(sets.all), tail);
        const std::size_t n = costs_->samples();
        if (decision_.size() != n || std::any_of(samples_.samples.begin(), samples_.samples.end(), [&](std::int32_t i) {
                return i < 0 || static_cast<std::size_t>(i) >= n;
            }))
            throw std::invalid_argument("The decision must have a cost in every sample.");
        double most = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            double low = kInfinity, high = -kInfinity;
            for (std::size_t v = 0; v < own_.corners(); ++v) {
                const double cost = costs_->cost(static_cast<std::int32_t>(i), own_.corner(v));
                low = std::min(low, cost);
                high = std::max(high, cost);
            }
            lowest_.push_back(low);
            highest_.push_back(high);
            most = std::max({most, std::abs(low), std::abs(high)});
        }
        spare_ = kRounding.linear_plans * most;
        place_costs();
        for (std::size_t leaf = 0; leaf < samples_.size.size(); ++leaf)
            share_.push_back(1.0 / (samples_.total(static_cast<std::int32_t>(leaf)) * samples_.trees));
    }

    std::int32_t leaves() const override { return static_cast<std::int32_t>(samples_.size.size()); }

    // Numbers that a look at a context goes over, about.
    std::int64_t numbers() const {
        const double members = static_cast<double>(samples_.samples.size()) / static_cast<double>(samples_.size.size());
        return static_cast<std::int64_t>(members * 40.0 * static_cast<double>(costs_->entries() + 10));
    }

    void make_room(OpenBox& open) const override { fit(made<LinearScratch>(open)); }

    Criterion::Excess excess(LeafView leaves, EtaRange, std::span<std::int32_t>) const override {
        LinearScratch own;
        own.weight.assign(costs_->samples(), 0.0);
        return {judged(leaves, own, spare_), 0};
    }

    Criterion::Excess excess_in(const OpenBox& open, std::span<std::int32_t>) const override {
        return {judged(open.counted(), room(open), spare_), 0};
    }

    // Choose the corner with the smallest sum.
    void lean(OpenBox& open) const override { look(open); }

    bool bound(OpenBox& open, double tau) const override {
        LinearScratch& own = room(open);
        const double most = tau + spare_;
        ListedLeaves listed = look(open);
        double total = own.sums[own.chosen];
        for (int round = 0; round < kSettings.plans.linear_rounds && total <= most; ++round) {
            if (!learn(open, listed)) break;
            listed = look(open);
            if (own.sums[own.chosen] < total) {
                // It was better before.
                std::swap(own.own.cuts, own.before);
                ++own.now;
                listed = look(open);
                break;
            }
            total = own.sums[own.chosen];
        }
        if (total > most) return false;
        open.slack = most - total;
        choose_best(open, listed);
        drop_dear(open, listed, most);
        return true;
    }

protected:
    double value(const OpenBox& open, std::int32_t leaf) const override { return value(room(open), leaf); }
    double cheapest(OpenBox& open, double multiplier, std::span<const double> way) const override {
        LinearScratch& own = room(open);
        ListedLeaves listed;
        open.reach.list(open.trees, listed);
        sum(own, listed, [&](std::int32_t leaf, double value) { return multiplier * value + way[leaf]; });
        return own.sums[own.chosen];
    }

private:
    static LinearScratch& room(const OpenBox& open) { return static_cast<LinearScratch&>(*open.scratch); }

    void fit(LinearScratch& own) const {
        own.weight.resize(costs_->samples(), 0.0);
        own.rho.resize(costs_->samples());
        own.made_at.resize(costs_->samples(), -1);
        own.says.resize(samples_.size.size() * stride());
    }
    std::size_t stride() const { return costs_->entries() + 2; }
    std::size_t points() const { return 2 * own_.corners(); }

    // By how much the best plan of the set costs more than the rival at the leaves of a context, or less than that
    // where it is too much anyhow.
    double judged(LeafView leaves, LinearScratch& own, double spare) const {
        gather(leaves, own);
        own.costs.clear();
        for (const std::int32_t i : own.weighted.samples) own.costs.push_back(decision_[i]);
        const WorstShare decided = worst_share(own.costs, own.weighted.weights, tail_, own.order);
        double limit = decided.value;
        own.against_all = false;
        own.level = decided.begins;
        if (all_ != nullptr) {
            all_->solve(own.weighted, own.all, own.all_room, [](double, double) { return false; });
            if (factor_ * own.all.high < limit) {
                limit = factor_ * own.all.high;
                own.level = own.all.begins;
                own.against_all = true;
            }
        }
        limit += allowance_;
        own_.solve(own.weighted, own.own, own.room, [&](double low, double high) {
            if (high <= limit) return true;
            return low > limit + spare && high - low <= kSettings.plans.linear_close * (low - limit - spare);
        });
        ++own.now;
        return own.own.high <= limit ? own.own.high - limit : own.own.low - limit - spare;
    }

    void gather(LeafView leaves, LinearScratch& own) const {
        own.weighted.samples.clear();
        own.weighted.weights.clear();
        for (const std::int32_t leaf : leaves)
            for (const std::int32_t i : samples_.of(leaf)) {
                const double weight = samples_.mass_of(i) * share_[leaf];
                if (weight <= 0.0) continue;
                if (own.weight[i] == 0.0) own.weighted.samples.push_back(i);
                own.weight[i] += weight;
            }
        for (const std::int32_t i : own.weighted.samples) {
            own.weighted.weights.push_back(own.weight[i]);
            own.weight[i] = 0.0;
        }
    }

    // Which share of a unit of its weight a sample adds, by the cuts of the projection.
    double rho(LinearScratch& own, std::int32_t i) const {
        if (tail_ >= 1.0) return 1.0;
        if (own.made_at[i] != own.now) {
            own.made_at[i] = own.now;
            double total = 0.0;
            for (const TailProgram::Cut& cut : own.own.cuts) {
                const double cost = costs_->cost(i, cut.plan.data());
                if (cost >= cut.begins) total += cut.weight * (cost > cut.begins ? 1.0 : cut.part);
            }
            own.rho[i] = std::min(total, 1.0) / tail_;
        }
        return own.rho[i];
    }

    // What a leaf says, under the numbers of its samples.
    void write(LinearScratch& own, std::int32_t leaf) const {
        const std::size_t entries = costs_->entries();
        double* says = own.says.data() + static_cast<std::size_t>(leaf) * stride();
        std::fill(says, says + stride(), 0.0);
        double shares = 0.0, rival = 0.0;
        for (const std::int32_t i : samples_.of(leaf)) {
            const double mass = samples_.mass_of(i), counts = mass * rho(own, i);
            if (counts > 0.0) {
                const double* row = costs_->of(i);
                for (std::size_t j = 0; j < entries; ++j) says[j] += counts * row[j];
                shares += counts;
            }
            const double cost = own.against_all ? costs_->cost(i, own.all.plan.data()) : decision_[i];
            rival += mass * std::max(cost - own.level, 0.0);
        }
        for (std::size_t j = 0; j < entries; ++j) says[j] *= share_[leaf];
        const double part = 1.0 / samples_.trees;
        says[entries] = part - shares * share_[leaf];
        const double risk = part * own.level + rival * share_[leaf] / tail_;
        says[entries + 1] = (own.against_all ? factor_ * risk : risk) + part * allowance_;
    }

    // What a leaf adds to the excess at a corner, of which there are two, with either end of the thresholds.
    double value(const LinearScratch& own, std::int32_t leaf) const {
        const std::size_t entries = costs_->entries();
        const double* says = own.says.data() + static_cast<std::size_t>(leaf) * stride();
        const double* corner = own_.corner(own.chosen / 2);
        double total = 0.0;
        for (std::size_t j = 0; j < entries; ++j) total += says[j] * corner[j];
        return total - says[entries + 1] + says[entries] * (own.chosen % 2 == 0 ? own.first : own.last);
    }
    void write_values(LinearScratch& own, std::int32_t leaf) const {
        const std::size_t entries = costs_->entries();
        const double* says = own.says.data() + static_cast<std::size_t>(leaf) * stride();
        for (std::size_t v = 0; v < own_.corners(); ++v) {
            const double* corner = own_.corner(v);
            double total = 0.0;
            for (std::size_t j = 0; j < entries; ++j) total += says[j] * corner[j];
            total -= says[entries + 1];
            own.values[2 * v] = total + says[entries] * own.first;
            own.values[2 * v + 1] = total + says[entries] * own.last;
        }
    }

    // Mix the dual solution with that for the leaves at which the bound is attained; false where these are those of the
    // projection, or a tree has none.
    bool learn(OpenBox& open, const ListedLeaves& listed) const {
        LinearScratch& own = room(open);
        bool elsewhere = false;
        own.leaves.clear();
        for (std::int32_t t = 0; t < listed.trees(); ++t) {
            Least least;
            for (const std::int32_t leaf : listed.of(t)) least.take(value(own, leaf), leaf);
            if (least.leaf < 0) return false;
            elsewhere |= least.leaf != open.here[t];
            own.leaves.push_back(least.leaf);
        }
        if (!elsewhere) return false;
        own.before = own.own.cuts;
        gather(own.leaves, own);
        own_.solve(own.weighted, own.own, own.room, [](double, double) { return false; });
        for (TailProgram::Cut& cut : own.own.cuts) cut.weight *= kSettings.plans.linear_step;
        for (const TailProgram::Cut& cut : own.before) {
            own.own.cuts.push_back(cut);
            own.own.cuts.back().weight *= 1.0 - kSettings.plans.linear_step;
        }
        ++own.now;
        return true;
    }

    // Write down what the leaves that are met say, and sum it up at all corners.
    ListedLeaves look(OpenBox& open) const {
        LinearScratch& own = room(open);
        ListedLeaves listed;
        open.reach.list(open.trees, listed);
        for (const std::int32_t leaf : listed.leaves) write(own, leaf);
        for (const std::int32_t leaf : open.counted()) write(own, leaf);
        find_thresholds(own, listed);
        sum(own, listed, [](std::int32_t, double value) { return value; });
        return listed;
    }

    template <class Counts>
    void sum(LinearScratch& own, const ListedLeaves& listed, Counts counts) const {
        const std::size_t points = this->points();
        own.sums.assign(points, 0.0);
        own.values.resize(points);
        own.mins.resize(points * static_cast<std::size_t>(listed.trees()));
        for (std::int32_t t = 0; t < listed.trees(); ++t) {
            double* least = own.mins.data() + static_cast<std::size_t>(t) * points;
            std::fill(least, least + points, kInfinity);
            for (const std::int32_t leaf : listed.of(t)) {
                write_values(own, leaf);
                for (std::size_t z = 0; z < points; ++z) least[z] = std::min(least[z], counts(leaf, own.values[z]));
            }
            for (std::size_t z = 0; z < points; ++z) own.sums[z] += least[z];
        }
        own.chosen = static_cast<std::size_t>(std::min_element(own.sums.begin(), own.sums.end()) - own.sums.begin());
    }

    // Drop the leaves that would take every corner beyond what is asked, if all other trees took what is best for it.
    void drop_dear(OpenBox& open, const ListedLeaves& listed, double most) const {
        LinearScratch& own = room(open);
        const std::size_t points = this->points();
        for (std::int32_t t = 0; t < open.trees; ++t) {
            if (listed.of(t).size() < 2) continue;
            const double* least = own.mins.data() + static_cast<std::size_t>(t) * points;
            open.reach.drop(t, [&](std::int32_t leaf) {
                write_values(own, leaf);
                for (std::size_t z = 0; z < points; ++z)
                    if (own.sums[z] + (own.values[z] - least[z]) <= most) return false;
                return true;
            });
        }
    }

    // Costs, from the lowest to the highest, and how many of them the cheapest and the dearest plan of each sample
    // exceeds.
    void place_costs() {
        std::vector<double> all = lowest_;
        all.insert(all.end(), highest_.begin(), highest_.end());
        std::sort(all.begin(), all.end());
        const std::size_t count = kSettings.plans.looked_at_costs;
        for (std::size_t l = 0; l <= count; ++l) at_.push_back(all[l * (all.size() - 1) / count]);
        const auto exceeded = [&](double cost) {
            return static_cast<std::int32_t>(std::lower_bound(at_.begin(), at_.end(), cost) - at_.begin());
        };
        for (const double cost : lowest_) low_exceeds_.push_back(exceeded(cost));
        for (const double cost : highest_) high_exceeds_.push_back(exceeded(cost));
    }

    // Between which of these costs the worst share of any plan begins in the box: where even the dearest plan of every
    // sample leaves less than the tail above it lies before, where even the cheapest leaves more it lies beyond.
    void find_thresholds(LinearScratch& own, const ListedLeaves& listed) const {
        own.first = at_.front();
        own.last = tail_ < 1.0 ? at_.back() : at_.front();
        if (tail_ >= 1.0) return;
        const std::size_t count = at_.size();
        own.lows.assign(count, 0.0);
        own.highs.assign(count, 0.0);
        std::vector<double>& least = own.least;
        std::vector<double> low(count), high(count);
        least.resize(2 * count);
        for (std::int32_t t = 0; t < listed.trees(); ++t) {
            std::fill(least.begin(), least.begin() + static_cast<std::ptrdiff_t>(count), 1.0);
            std::fill(least.begin() + static_cast<std::ptrdiff_t>(count), least.end(), 0.0);
            for (const std::int32_t leaf : listed.of(t)) {
                std::fill(low.begin(), low.end(), 0.0);
                std::fill(high.begin(), high.end(), 0.0);
                for (const std::int32_t i : samples_.of(leaf)) {
                    const double mass = samples_.mass_of(i);
                    if (low_exceeds_[i] > 0) low[static_cast<std::size_t>(low_exceeds_[i]) - 1] += mass;
                    if (high_exceeds_[i] > 0) high[static_cast<std::size_t>(high_exceeds_[i]) - 1] += mass;
                }
                const double share = share_[leaf] * samples_.trees;
                double low_above = 0.0, high_above = 0.0;
                for (std::size_t l = count; l-- > 0;) {
                    low_above += low[l];
                    high_above += high[l];
                    least[l] = std::min(least[l], low_above * share);
                    least[count + l] = std::max(least[count + l], high_above * share);
                }
            }
            for (std::size_t l = 0; l < count; ++l) {
                own.lows[l] += least[l];
                own.highs[l] += least[count + l];
            }
        }
        const double tail = tail_ * samples_.trees;
        for (std::size_t l = 0; l < count && own.lows[l] > tail * (1.0 + kRounding.counted_share); ++l)
            own.first = at_[l];
        for (std::size_t l = count; l-- > 0 && own.highs[l] < tail * (1.0 - kRounding.counted_share);)
            own.last = at_[l];
        own.last = std::max(own.first, own.last);
    }

    LeafSamples samples_;
    std::shared_ptr<const LinearCosts> costs_;
    TailProgram own_;
    std::unique_ptr<TailProgram> all_;
    std::vector<double> decision_;
    double tail_, factor_, allowance_, spare_ = 0.0;
    std::vector<double> share_;             // of each leaf: one over its mass and the number of trees
    std::vector<double> lowest_, highest_;  // of each sample: what the cheapest and the dearest corner costs
    std::vector<double> at_;                // costs that are looked at
    std::vector<std::int32_t> low_exceeds_, high_exceeds_;
};

}  // namespace whence
