// CVaR: the alternative's is the smallest, over thresholds eta among its sample costs, of a sum over trees of
// A(leaf, eta); any single threshold gives an upper bound on the rival's. For a pair of thresholds the criterion is a
// sum over trees, as it is for expected costs. A box carries the range of eta that is still possible.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/settings.hpp"
#include "criteria/criterion.hpp"
#include "criteria/spread.hpp"
#include "forest/reach.hpp"

namespace whence {

// The first of low..high that suits, as all after it do; `high` where none before it does. It is looked for from a
// guess outwards: in the next box, or at the next context, it is often the same or nearly so.
template <class Suits>
std::int32_t first_suitable(std::int32_t low, std::int32_t high, std::int32_t guess, Suits suits) {
    if (guess >= 0 && low < high) {
        guess = std::clamp(guess, low, high);
        if (guess == high || suits(guess)) {
            high = guess;
            for (std::int32_t step = 1; low < high; step *= 2) {
                const std::int32_t k = std::max(low, high - step);
                if (!suits(k)) {
                    low = k + 1;
                    break;
                }
                high = k;
            }
        } else {
            low = guess + 1;
            for (std::int32_t step = 1; low < high; step *= 2) {
                const std::int32_t k = std::min(high, low + step) - 1;
                if (suits(k)) {
                    high = k;
                    break;
                }
                low = k + 1;
            }
        }
    }
    while (low < high) {
        const std::int32_t k = (low + high) / 2;
        if (suits(k))
            high = k;
        else
            low = k + 1;
    }
    return low;
}

// What the leaves say about one plan under every threshold eta.
class TailTable {
public:
    // `etas` are the plan's sample costs in ascending order, each one once, and `rank` says which of them the cost of
    // each sample is. Where the table is not kept, for it would be too large, rows are computed when they are needed.
    TailTable(const LeafSamples& samples, std::vector<double> etas, std::vector<std::int32_t> rank, double tail,
              bool kept)
        : samples_(samples),
          etas_(std::move(etas)),
          rank_(std::move(rank)),
          tail_(tail),
          kept_(kept) {
        if (kept_) fill_all();
    }

    std::int32_t etas() const { return static_cast<std::int32_t>(etas_.size()); }
    double eta(std::int32_t i) const { return etas_[i]; }
    // No value, nor any part of one, is larger in size, summed over the trees.
    double largest() const {
        const double most = std::max(std::abs(etas_.front()), std::abs(etas_.back()));
        return most + (etas_.back() - etas_.front()) / tail_;
    }
    // (eta + mean excess over eta / tail) / trees, of a leaf and an eta.
    double value(std::int32_t leaf, std::int32_t eta) const {
        return kept_ ? values_[at(leaf, eta)] : computed_value(leaf, eta);
    }
    // The values of a leaf for the etas of a range, at their places; `buffer` is used where no table is kept.
    const double* row(std::int32_t leaf, EtaRange range, std::vector<double>& buffer) const {
        if (kept_) return values_.get() + at(leaf, 0);
        fill(leaf, range, buffer.data());
        return buffer.data();
    }
    // Share of a leaf's samples that cost more than an eta; from whole numbers where all samples count alike.
    double share_above(std::int32_t leaf, std::int32_t eta) const {
        if (!samples_.mass.empty()) return kept_ ? shares_[below(eta, leaf)] : summed_above(leaf, eta);
        const std::uint32_t above = !above_.empty()        ? above_[below(eta, leaf)]
                                    : !many_above_.empty() ? many_above_[below(eta, leaf)]
                                                           : counted_above(leaf, eta);
        return above * (1.0 / samples_.total(leaf));
    }
    // Sum over trees of the smallest, or the largest, such share among their leaves. It may end as soon as it exceeds
    // `enough`.
    double smallest_above(const ListedLeaves& reached, std::int32_t eta, double enough) const {
        return sum_above(reached, eta, enough, kInfinity, [](double a, double b) { return std::min(a, b); });
    }

    double largest_above(const ListedLeaves& reached, std::int32_t eta, double enough) const {
        return sum_above(reached, eta, enough, -kInfinity, [](double a, double b) { return std::max(a, b); });
    }

    // The share of a leaf's samples, or of their mass, that costs more than each eta, into a row that holds zeros.
    void sum(std::int32_t leaf, double* row) const {
        for (const std::int32_t sample : samples_.of(leaf)) row[rank_[sample]] += samples_.mass_of(sample);
        const double total = samples_.total(leaf);
        double above = 0.0;
        for (std::int32_t k = etas() - 1; k >= 0; --k) {
            const double own = row[k];
            row[k] = above / total;
            above += own;
        }
    }

    double tail() const { return tail_; }
    bool kept() const { return kept_; }

    struct Least {
        double sum;
        std::int32_t eta;
    };

    // The eta of a range at which the sum over the leaves, one a tree, is smallest: at most the tail, and this much
    // more per tree, lies above. With luck it is not far from a guess.
    // The sum is convex in eta. It falls from an eta to the next as long as more than the tail lies above: that is
    // asked of the counts, since a difference of two values is mere rounding where the etas are next to each other.
    std::int32_t best_eta(LeafView leaves, EtaRange range, double slack = 0.0, std::int32_t guess = -1) const {
        const double tail = (tail_ + slack) * static_cast<double>(leaves.size());
        return first_suitable(range.first, range.last, guess, [&](std::int32_t k) {
            const double all = with_shares(k, [&](auto share) {
                double above = 0.0;
                for (const std::int32_t leaf : leaves) above += share(leaf);
                return above;
            });
            return !(all > tail);
        });
    }

    // And that sum.
    Least least(LeafView leaves, EtaRange range, double slack = 0.0, std::int32_t guess = -1) const {
        const std::int32_t eta = best_eta(leaves, range, slack, guess);
        double total = 0.0;
        for (const std::int32_t leaf : leaves) total += value(leaf, eta);
        return {total, eta};
    }

private:
    std::size_t at(std::int32_t leaf, std::int32_t eta) const {
        return static_cast<std::size_t>(leaf) * etas_.size() + static_cast<std::size_t>(eta);
    }
    std::size_t below(std::int32_t eta, std::int32_t leaf) const {
        return static_cast<std::size_t>(eta) * samples_.size.size() + static_cast<std::size_t>(leaf);
    }
    // Call `use` with a function from a leaf to its share above an eta.
    template <class Use>
    double with_shares(std::int32_t eta, Use use) const {
        const double* share = share_.data();
        const auto by_counts = [&](const auto* above) {
            return use([=](std::int32_t leaf) { return static_cast<double>(above[leaf]) * share[leaf]; });
        };
        if (!above_.empty()) return by_counts(above_.data() + below(eta, 0));
        if (!many_above_.empty()) return by_counts(many_above_.data() + below(eta, 0));
        return use([&](std::int32_t leaf) { return share_above(leaf, eta); });
    }

    // Shares are not negative, so that a sum that exceeds something does so to its end.
    template <class Pick>
    double sum_above(const ListedLeaves& reached, std::int32_t eta, double enough, double none, Pick pick) const {
        return with_shares(eta, [&](auto share) {
            double total = 0.0;
            for (std::int32_t t = 0; t < reached.trees() && !(total > enough); ++t) {
                double own = none;
                for (const std::int32_t leaf : reached.of(t)) own = pick(own, share(leaf));
                total += own;
            }
            return total;
        });
    }

    // Costs are etas themselves: counted by their ranks, the excess grows from each eta down to the next one below it.
    void fill(std::int32_t leaf, EtaRange range, double* row) const {
        const auto own = samples_.of(leaf);
        const double scale = 1.0 / (samples_.total(leaf) * tail_ * samples_.trees), share = 1.0 / samples_.trees;
        std::fill(row + range.first, row + range.last + 1, 0.0);
        double above = 0.0, over = 0.0;
        for (const std::int32_t sample : own) {
            const std::int32_t rank = rank_[sample];
            const double mass = samples_.mass_of(sample);
            if (rank > range.last) {
                above += mass;
                over += mass * (etas_[rank] - etas_[range.last]);
            } else if (rank > range.first) {
                row[rank] += mass;
            }
        }
        for (std::int32_t k = range.last; k >= range.first; --k) {
            const double count = row[k];
            row[k] = share * etas_[k] + over * scale;
            if (k > range.first) {
                above += count;
                over += above * (etas_[k] - etas_[k - 1]);
            }
        }
    }

    // All leaves and etas, and what lies above each.
    void fill_all() {
        constexpr std::int32_t kTogether = 4;
        const auto leaves = static_cast<std::int32_t>(samples_.size.size());
        const std::size_t numbers = samples_.size.size() * etas_.size();
        values_ = std::make_unique_for_overwrite<double[]>(numbers);
        std::vector<double> masses(kTogether * etas_.size());
        std::int32_t leaf = 0;
        for (; leaf + kTogether <= leaves; leaf += kTogether) fill_leaves<kTogether>(leaf, masses);
        for (; leaf < leaves; ++leaf) fill(leaf, {0, etas() - 1}, values_.get() + at(leaf, 0));
        if (!samples_.mass.empty()) {
            sum_above();
            return;
        }
        for (leaf = 0; leaf < leaves; ++leaf) share_.push_back(1.0 / samples_.total(leaf));
        const std::int64_t most = leaves > 0 ? *std::max_element(samples_.size.begin(), samples_.size.end()) : 0;
        if (most <= std::numeric_limits<std::uint16_t>::max())
            count_above(above_);
        else
            count_above(many_above_);
    }

    // The same as `fill` does it, of some leaves from the first one on: each number waits for the one before it, so
    // that they go on side by side.
    template <std::int32_t lanes>
    void fill_leaves(std::int32_t first, std::vector<double>& masses) {
        const double share = 1.0 / samples_.trees;
        double scale[lanes], above[lanes] = {}, over[lanes] = {};
        double* rows[lanes];
        std::fill(masses.begin(), masses.end(), 0.0);
        for (std::int32_t i = 0; i < lanes; ++i) {
            scale[i] = 1.0 / (samples_.total(first + i) * tail_ * samples_.trees);
            rows[i] = values_.get() + at(first + i, 0);
            for (const std::int32_t sample : samples_.of(first + i))
                masses[static_cast<std::size_t>(lanes * rank_[sample] + i)] += samples_.mass_of(sample);
        }
        const double* eta = etas_.data();
        for (std::int32_t k = etas() - 1; k >= 0; --k) {
            const double* mass = masses.data() + lanes * k;
            const double step = k > 0 ? eta[k] - eta[k - 1] : 0.0;
            for (std::int32_t i = 0; i < lanes; ++i) rows[i][k] = share * eta[k] + over[i] * scale[i];
            for (std::int32_t i = 0; i < lanes; ++i) {
                above[i] += mass[i];
                over[i] += above[i] * step;
            }
        }
    }

    // Every sample counts above the etas below its own: it is put down at the next one below, and added up from there.
    template <class Count>
    void count_above(std::vector<Count>& above) {
        const auto leaves = static_cast<std::int32_t>(samples_.size.size());
        above.assign(samples_.size.size() * etas_.size(), 0);
        for (std::int32_t leaf = 0; leaf < leaves; ++leaf)
            for (const std::int32_t sample : samples_.of(leaf))
                if (rank_[sample] > 0) ++above[below(rank_[sample] - 1, leaf)];
        for (std::int32_t k = etas() - 2; k >= 0; --k) {
            Count* row = above.data() + below(k, 0);
            for (std::int32_t leaf = 0; leaf < leaves; ++leaf)
                row[leaf] = static_cast<Count>(row[leaf] + row[leaf + leaves]);
        }
    }

    // The same where samples do not count alike.
    void sum_above() {
        shares_.resize(samples_.size.size() * etas_.size());
        std::vector<double> row(etas_.size());
        for (std::int32_t leaf = 0; leaf < static_cast<std::int32_t>(samples_.size.size()); ++leaf) {
            std::fill(row.begin(), row.end(), 0.0);
            sum(leaf, row.data());
            for (std::int32_t k = 0; k < etas(); ++k) shares_[below(k, leaf)] = row[static_cast<std::size_t>(k)];
        }
    }

    double computed_value(std::int32_t leaf, std::int32_t eta) const {
        double over = 0.0;
        for (const std::int32_t sample : samples_.of(leaf))
            over += samples_.mass_of(sample) * std::max(0.0, etas_[rank_[sample]] - etas_[eta]);
        return (etas_[eta] + over / (samples_.total(leaf) * tail_)) / samples_.trees;
    }

    std::uint32_t counted_above(std::int32_t leaf, std::int32_t eta) const {
        std::uint32_t above = 0;
        for (const std::int32_t sample : samples_.of(leaf)) above += rank_[sample] > eta;
        return above;
    }

    double summed_above(std::int32_t leaf, std::int32_t eta) const {
        double above = 0.0;
        for (const std::int32_t sample : samples_.of(leaf))
            if (rank_[sample] > eta) above += samples_.mass_of(sample);
        return above / samples_.total(leaf);
    }

    LeafSamples samples_;
    std::vector<double> etas_;
    std::vector<std::int32_t> rank_;
    double tail_;
    bool kept_;
    // Values are asked for of one leaf and many etas, shares of one eta and many leaves: so they lie.
    std::unique_ptr<double[]> values_;  // by leaf and eta
    // How many samples of the leaf cost more than eta, by eta and leaf; in the second one where leaves are large.
    std::vector<std::uint16_t> above_;
    std::vector<std::uint32_t> many_above_;
    std::vector<double> shares_;  // what share of its mass these have, where samples do not count alike
    std::vector<double> share_;   // of a sample of the leaf
};

struct TailScratch : Scratch {
    ListedLeaves listed;  // the reached leaves of the criterion's trees
    std::vector<double> part, row,
        worst_sums;  // of each eta: a tree's part, a leaf's value, sums against the worst rival
    // Of each listed leaf, what the worst rival takes off, or another one; and what it costs by its own threshold.
    std::vector<double> taken_off, taken_off_others, at_level;
    std::vector<double> parts;  // of each tree, the smallest value for every eta of a range
    EtaRange parts_of;
    // Of a criterion that is no sum over trees: of each rival and tree a factor, of each rival and leaf a number.
    std::vector<std::vector<double>> tilts, rows;
    std::vector<double> low, high;  // of each tree
    std::vector<double> half_sums;  // of each eta, with either half of the levels
};

class TailCriterion : public Criterion {
public:
    // `tail` is 1 - alpha.
    TailCriterion(const LeafSamples& samples, double tail) : samples_(samples), tail_(tail) {}

    // The alternative first, then the plans that it must not cost more than: see TailTable.
    void add_plan(std::vector<double> etas, std::vector<std::int32_t> rank, bool kept) {
        const auto count = static_cast<std::int32_t>(etas.size());
        if (etas.empty() || std::adjacent_find(etas.begin(), etas.end(), std::greater_equal<>()) != etas.end())
            throw std::invalid_argument("'etas' must hold at least one number, and ascend.");
        if (std::any_of(rank.begin(), rank.end(), [&](std::int32_t k) { return k < 0 || k >= count; }))
            throw std::invalid_argument("'rank' must name an eta of every sample.");
        const auto n = static_cast<std::int32_t>(rank.size());
        if (plans_.empty() && std::any_of(samples_.samples.begin(), samples_.samples.end(),
                                          [&](std::int32_t i) { return i < 0 || i >= n; }))
            throw std::invalid_argument("'rank' must name an eta of every sample.");
        if (!plans_.empty() && n != n_samples_) throw std::invalid_argument("All plans must have the same samples.");
        n_samples_ = n;
        plans_.push_back(std::make_shared<TailTable>(samples_, std::move(etas), std::move(rank), tail_, kept));
    }

    // The same with the table that another criterion about the same samples has of a plan.
    void share_plan(const TailCriterion& other, std::int32_t i) {
        const auto same = [&] {
            return other.samples_.samples.size() == samples_.samples.size() && other.leaves() == leaves() &&
                   other.tail_ == tail_ && other.trees() == trees() &&
                   (plans_.empty() || other.n_samples_ == n_samples_);
        };
        if (!same()) throw std::invalid_argument("All plans must have the same samples.");
        plans_.push_back(other.plans_.at(static_cast<std::size_t>(i)));
        n_samples_ = other.n_samples_;
    }

    std::int32_t rivals() const override { return added() + static_cast<std::int32_t>(shown_.size()); }
    std::int32_t leaves() const override { return static_cast<std::int32_t>(samples_.size.size()); }
    std::int32_t etas() const override { return plans_.empty() ? 0 : plans_.front()->etas(); }

    void make_room(OpenBox& open) const override {
        TailScratch& own = made<TailScratch>(open);
        for (auto* numbers : {&own.part, &own.row, &own.worst_sums}) numbers->resize(static_cast<std::size_t>(etas()));
        own.tilts.resize(static_cast<std::size_t>(rivals()));
        own.rows.resize(static_cast<std::size_t>(rivals()));
    }

    Excess excess(LeafView leaves, EtaRange etas, std::span<std::int32_t> levels) const override {
        return excess_near(leaves, etas, levels, -1);
    }

    Criterion::Excess excess_near(LeafView leaves, EtaRange etas, std::span<std::int32_t> levels,
                                  std::int32_t guess) const override {
        const TailTable::Least mine = alternative().least(leaves, etas, 0.0, guess);
        Excess found{-kInfinity, 0, mine.eta};
        for (std::int32_t r = 0; r < rivals(); ++r) {
            const TailTable::Least least = least_of(r, leaves, levels[r]);
            levels[r] = least.eta;
            if (mine.sum - least.sum > found.over) found = {mine.sum - least.sum, r, mine.eta};
        }
        return found;
    }

    double worth(const OpenBox& open, std::int32_t rival, std::int32_t tree, std::int32_t leaf,
                 std::int32_t eta) const override {
        return tilt(open, rival, tree) * alternative().value(leaf, eta) + rival_part(open, rival, tree, leaf);
    }
    double rival_part(const OpenBox& open, std::int32_t rival, std::int32_t, std::int32_t leaf) const override {
        return rival < added() ? -this->rival(rival).value(leaf, open.levels[rival]) : shown_[rival - added()][leaf];
    }
    std::int32_t eta_at(LeafView leaves, EtaRange etas) const override { return alternative().best_eta(leaves, etas); }
    void show(std::span<const double* const> rows, bool) override { shown_.assign(rows.begin(), rows.end()); }

    bool bound(OpenBox& open, double tau) const override {
        list(open);
        return bound_listed(open, tau,
                            open.etas.size() > kSettings.forest.wide_range ? quantiles(open, open.etas) : open.etas);
    }

    bool bound_again(OpenBox& open, double tau) const override {
        const LeafView best = LeafView(open.best).first(static_cast<std::size_t>(trees()));
        const std::int32_t level = least_of(open.worst, best, open.levels[open.worst]).eta;
        if (level == open.levels[open.worst]) return true;
        open.levels[open.worst] = level;
        list(open);
        return bound_listed(open, tau, open.etas);
    }

    std::int32_t cheapest_eta(OpenBox& open, double multiplier, std::span<const double> way) const override {
        const EtaRange range = open.etas;
        double *part = room(open).part.data(), *sums = open.sums.data();
        std::fill(sums + range.first, sums + range.last + 1, 0.0);
        for (std::int32_t t = 0; t < trees(); ++t) {
            const double factor = multiplier * tilt(open, open.worst, t);
            bool fresh = true;
            open.reach.each(t, [&](std::int32_t leaf) {
                const double* row = alternative().row(leaf, range, room(open).row);
                const double b = way[leaf] + multiplier * rival_part(open, open.worst, t, leaf);
                if (fresh) {
                    for (std::int32_t k = range.first; k <= range.last; ++k) part[k] = factor * row[k] + b;
                } else {
                    for (std::int32_t k = range.first; k <= range.last; ++k) {
                        const double x = factor * row[k] + b;
                        part[k] = x < part[k] ? x : part[k];
                    }
                }
                fresh = false;
            });
            for (std::int32_t k = range.first; k <= range.last; ++k) sums[k] += part[k];
        }
        std::int32_t best = range.first;
        for (std::int32_t k = range.first; k <= range.last; ++k)
            if (sums[k] < sums[best]) best = k;
        return best;
    }

    std::int64_t all_etas() const {
        std::int64_t total = 0;
        for (const auto& plan : plans_) total += plan->etas();
        return total;
    }

    const TailTable& plan(std::int32_t i) const { return *plans_.at(static_cast<std::size_t>(i)); }

protected:
    static TailScratch& room(const OpenBox& open) { return static_cast<TailScratch&>(*open.scratch); }
    // With confidence: the excess, `steep(rival)` times the spread of the trees added to the difference of both CVaR;
    // and tau, raised by what rounding may add to a bound.
    template <class Steep>
    Excess excess_with_spread(LeafView leaves, std::span<std::int32_t> levels, std::int32_t guess, Steep steep) const;

    double raised(double tau, double steep) const {
        double most = 0.0;
        for (std::int32_t r = 0; r < rivals(); ++r) most = std::max(most, rival(r).largest());
        return tau + kRounding.spread_of_tails * (1.0 + steep) * (alternative().largest() + most);
    }
    // Whether the sum over trees that stands for the criterion is broken at the projection, as it is itself.
    bool pulls(const OpenBox& open, double tau) const {
        const auto here = open.counted();
        double there = 0.0;
        for (std::int32_t t = 0; t < trees(); ++t) there += worth(open, open.worst, t, here[t], open.eta);
        return there > tau;
    }
    // The factor of a tree's values of the alternative in the box, against a rival.
    virtual double tilt(const OpenBox&, std::int32_t, std::int32_t) const { return 1.0; }
    // B(leaf) against rival r for each listed leaf: minus the rival's part.
    virtual void take_off(const OpenBox& open, std::int32_t r, std::vector<double>& numbers) const {
        const ListedLeaves& listed = room(open).listed;
        numbers.resize(listed.leaves.size());
        for (std::int32_t t = 0; t < trees(); ++t)
            for (std::int32_t i = listed.from[t]; i < listed.from[t + 1]; ++i)
                numbers[i] = -rival_part(open, r, t, listed.leaves[i]);
    }
    // Go through the reach of a box once; the functions below read the listed leaves.
    void list(OpenBox& open) const { open.reach.list(trees(), room(open).listed); }
    // The etas of a range that suit some context of the box, by one plan's table: at which at most the tail, and this
    // much more per tree, lies above, but not at the eta before. With luck they are not far from a guess. An empty
    // range where none suits.
    EtaRange bracket(const OpenBox& open, const TailTable& plan, EtaRange range, double slack, EtaRange guess) const {
        const double tail = (tail_ + slack) * trees();
        const ListedLeaves& listed = room(open).listed;
        const auto some = [&](std::int32_t k) { return !(plan.smallest_above(listed, k, tail) > tail); };
        const auto all = [&](std::int32_t k) { return !(plan.largest_above(listed, k, tail) > tail); };
        // All etas suit beyond the last one, none before the first one: a range in the midst may have been passed by.
        // It has not where an eta before its last one is the first that suits some context, or one after its first the
        // last.
        const std::int32_t first = first_suitable(range.first, range.last, guess.first, some);
        if (first == range.last && range.last < plan.etas() - 1 && !some(range.last)) return {1, 0};
        const std::int32_t last = first_suitable(first, range.last, guess.last, all);
        if (last == range.first && range.first > 0 && all(range.first - 1)) return {1, 0};
        return {first, last};
    }

    std::int32_t trees() const { return samples_.trees; }
    const TailTable& alternative() const { return *plans_.front(); }
    const TailTable& rival(std::int32_t r) const { return *plans_[static_cast<std::size_t>(r) + 1]; }
    // Rivals with a table of their own; the others are shown as rows, under one threshold each.
    std::int32_t added() const { return static_cast<std::int32_t>(plans_.size()) - 1; }
    EtaRange all_of(const TailTable& plan) const { return {0, plan.etas() - 1}; }
    // Bound the box under the etas of a range and drop the leaves that it rules out; false where all are out.
    bool bound_listed(OpenBox& open, double tau, EtaRange range) const {
        return settle(open, tau, possible(open, tau, range));
    }
    // The etas of a range that no rival rules out. The bound under each eta, the largest over the rivals, goes to
    // ``open.joint``; the worst rival's, and what each tree adds to that, stay in the scratch.
    EtaRange possible(OpenBox& open, double tau, EtaRange range) const {
        std::fill(open.joint.begin() + range.first, open.joint.begin() + range.last + 1, -kInfinity);
        for (std::int32_t i = 0; i < rivals() && !range.empty(); ++i) {
            range = against(open, tau, range, nth_rival(i, open.worst));
            if (i == 0 && !range.empty())
                std::copy(open.sums.begin() + range.first, open.sums.begin() + range.last + 1,
                          room(open).worst_sums.begin() + range.first);
        }
        return range;
    }

    // Take these etas for those of the box, and drop the leaves that they rule out; false where there is none.
    bool settle(OpenBox& open, double tau, EtaRange range) const {
        if (range.empty()) return false;
        open.etas = range;
        open.eta = range.first;
        for (std::int32_t k = range.first; k <= range.last; ++k)
            if (open.joint[k] < open.joint[open.eta]) open.eta = k;
        if (rivals() == 0) return true;
        drop_dear(open, tau);
        choose_best(open);
        open.slack = tau - room(open).worst_sums[open.eta];
        return true;
    }

    // For every eta of a range, the tree's smallest A(leaf, eta) - B(leaf) among the listed leaves; false where it has
    // none.
    bool least_row(OpenBox& open, std::int32_t tree, std::int32_t r, EtaRange range, const double* taken_off,
                   double* part) const {
        TailScratch& own = room(open);
        const std::int32_t first = own.listed.from[tree], last = own.listed.from[tree + 1], width = range.size();
        const double factor = tilt(open, r, tree);
        for (std::int32_t i = first; i < last; ++i) {
            const double* row = alternative().row(own.listed.leaves[i], range, own.row) + range.first;
            const double b = taken_off[i];
            if (i == first) {
                for (std::int32_t k = 0; k < width; ++k) part[k] = factor * row[k] - b;
            } else {
                for (std::int32_t k = 0; k < width; ++k) {
                    const double x = factor * row[k] - b;
                    part[k] = x < part[k] ? x : part[k];
                }
            }
        }
        return first < last;
    }

private:
    // CVaR of a rival at the leaves of a context, or what bounds it from above, and the threshold it belongs to.
    TailTable::Least least_of(std::int32_t r, LeafView leaves, std::int32_t guess) const {
        if (r < added()) return rival(r).least(leaves, all_of(rival(r)), 0.0, guess);
        double total = 0.0;
        for (const std::int32_t leaf : leaves) total -= shown_[r - added()][leaf];
        return {total, 0};
    }
    // The etas of a range at which the alternative's CVaR can be attained somewhere in the box.
    // At any context the sum over trees is convex in eta, and falls as long as more than the tail lies above: where
    // even the smallest share above is more the minimum lies beyond, where even the largest is less it lies before.
    // Shares shrink with eta in every leaf, and their sums do so in spite of rounding: an eta that is dropped by
    // mistake has almost exactly the tail above, so that the next one is as good.
    EtaRange quantiles(const OpenBox& open, EtaRange range) const {
        const double tail = tail_ * trees();
        const ListedLeaves& listed = room(open).listed;
        const TailTable& plan = alternative();
        const auto few = [&](std::int32_t k) { return !(plan.smallest_above(listed, k, tail) > tail); };
        const auto fewer = [&](std::int32_t k) { return plan.largest_above(listed, k, tail) < tail; };
        const std::int32_t first = first_suitable(range.first, range.last, -1, few);
        return {first, first_suitable(first, range.last, -1, fewer)};
    }

    // Raise ``open.joint`` to the bound against rival r; the etas left, an empty range where there is none. The parts
    // of the trees stay where it is the worst rival.
    EtaRange against(OpenBox& open, double tau, EtaRange range, std::int32_t r) const {
        TailScratch& own = room(open);
        const auto width = static_cast<std::size_t>(range.size());
        // What the worst rival takes off is asked for once more, when leaves are dropped.
        const bool worst = r == open.worst;
        std::vector<double>& taken_off = worst ? own.taken_off : own.taken_off_others;
        take_off(open, r, taken_off);
        if (worst) {
            own.parts.resize(static_cast<std::size_t>(trees()) * width);
            own.parts_of = range;
        }
        double* sums = open.sums.data() + range.first;
        std::fill(sums, sums + width, 0.0);
        for (std::int32_t t = 0; t < trees(); ++t) {
            double* part = worst ? own.parts.data() + static_cast<std::size_t>(t) * width : own.part.data();
            if (!least_row(open, t, r, range, taken_off.data(), part)) return {1, 0};
            for (std::size_t k = 0; k < width; ++k) sums[k] += part[k];
        }
        for (std::int32_t k = range.first; k <= range.last; ++k) open.joint[k] = std::max(open.joint[k], open.sums[k]);
        return range.without([&](std::int32_t k) { return open.joint[k] > tau; });
    }

    // Drop the leaves that leave no eta possible against the worst rival if all other trees take their best.
    void drop_dear(OpenBox& open, double tau) const {
        TailScratch& own = room(open);
        const EtaRange range = open.etas;
        const std::int32_t width = range.size(), chosen = open.eta - range.first;
        const auto stride = static_cast<std::size_t>(own.parts_of.size());
        const double* sums = own.worst_sums.data() + range.first;
        ListedLeaves& listed = own.listed;
        std::int32_t left = 0;
        for (std::int32_t t = 0; t < trees(); ++t) {
            std::int32_t i = listed.from[t];
            const std::int32_t last = listed.from[t + 1];
            const double* part =
                own.parts.data() + static_cast<std::size_t>(t) * stride + (range.first - own.parts_of.first);
            if (!alternative().kept() && last - i > 1) {
                // Rows that are computed differ in their last digits from range to range.
                least_row(open, t, open.worst, range, own.taken_off.data(), own.part.data());
                part = own.part.data();
            }
            listed.from[t] = left;
            const bool alone = last - i < 2;
            const double factor = tilt(open, open.worst, t);
            const auto affordable = [&](std::int32_t leaf) {
                const double* row = alternative().row(leaf, range, own.row) + range.first;
                const double b = own.taken_off[i];
                const auto fits = [&](std::int32_t k) { return sums[k] - part[k] + factor * row[k] - b <= tau; };
                if (fits(chosen)) return true;
                for (std::int32_t k = 0; k < width; ++k)
                    if (fits(k)) return true;
                return false;
            };
            open.reach.drop(t, [&](std::int32_t leaf) {
                const bool kept = alone || affordable(leaf);
                if (kept) {
                    listed.leaves[left] = leaf;
                    if (!own.at_level.empty()) own.at_level[left] = own.at_level[i];
                    own.taken_off[left++] = own.taken_off[i];
                }
                ++i;
                return !kept;
            });
        }
        listed.from[trees()] = left;
    }

    // Under the eta of the bound, every tree's leaf with the smallest A - B, and how much smaller it is than at the
    // projection.
    void choose_best(OpenBox& open) const {
        const TailScratch& own = room(open);
        open.prices.resize(static_cast<std::size_t>(leaves()));
        for (std::int32_t t = 0; t < trees(); ++t) {
            const double factor = tilt(open, open.worst, t);
            Least least;
            for (std::int32_t i = own.listed.from[t]; i < own.listed.from[t + 1]; ++i) {
                const std::int32_t leaf = own.listed.leaves[i];
                open.prices[leaf] = factor * alternative().value(leaf, open.eta) - own.taken_off[i];
                least.take(open.prices[leaf], leaf);
            }
            if (least.leaf >= 0) open.best[t] = least.leaf;
            open.gains[t] = worth(open, open.worst, t, open.here[t], open.eta) - least.value;
        }
    }

    LeafSamples samples_;
    double tail_;
    std::int32_t n_samples_ = 0;
    std::vector<std::shared_ptr<const TailTable>> plans_;  // other criteria may share them
    std::vector<const double*> shown_;
};

template <class Steep>
Criterion::Excess TailCriterion::excess_with_spread(LeafView leaves, std::span<std::int32_t> levels, std::int32_t guess,
                                                    Steep steep) const {
    std::vector<double> mine(leaves.size()), own(leaves.size());
    const std::int32_t eta = alternative().best_eta(leaves, all_of(alternative()), kRounding.same_share, guess);
    for (std::size_t t = 0; t < mine.size(); ++t) mine[t] = alternative().value(leaves[t], eta);
    Excess found{-kInfinity, 0, eta};
    for (std::int32_t r = 0; r < rivals(); ++r) {
        levels[r] = rival(r).best_eta(leaves, all_of(rival(r)), kRounding.same_share, levels[r]);
        for (std::size_t t = 0; t < own.size(); ++t) own[t] = mine[t] - rival(r).value(leaves[t], levels[r]);
        const double over = with_spread(own, steep(r));
        if (over > found.over) found = {over, r, eta};
    }
    return found;
}

}  // namespace whence
