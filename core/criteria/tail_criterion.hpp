// CVaR: the alternative's is the smallest, over thresholds eta among its sample costs, of a sum over trees of
// A(leaf, eta); any single threshold gives an upper bound on the rival's. For a pair of thresholds the criterion is a
// sum over trees, as it is for expected costs. A box carries the range of eta that is still possible.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/settings.hpp"
#include "criteria/criterion.hpp"
#include "criteria/spread.hpp"
#include "forest/least_per_tree.hpp"

namespace whence {

// The samples of every leaf: those of leaf i are samples[first[i]], ... as many as size[i]. They share a leaf's weight
// alike, or in proportion to their mass.
struct LeafSamples {
    std::span<const std::int32_t> samples;
    std::span<const std::int64_t> first, size;
    std::span<const double> mass = {};  // of every sample; empty where all count alike

    std::span<const std::int32_t> of(std::int32_t leaf) const {
        return samples.subspan(static_cast<std::size_t>(first[leaf]), static_cast<std::size_t>(size[leaf]));
    }
    double mass_of(std::int32_t sample) const { return mass.empty() ? 1.0 : mass[static_cast<std::size_t>(sample)]; }
    double total(std::int32_t leaf) const {
        if (mass.empty()) return static_cast<double>(size[leaf]);
        double sum = 0.0;
        for (const std::int32_t sample : of(leaf)) sum += mass_of(sample);
        return sum;
    }
};

// What the leaves say about one plan under every threshold eta.
class TailTable {
public:
    // `etas` are the plan's sample costs in ascending order, each one once, and `rank` says which of them the cost of
    // each sample is. Where the table is not kept, for it would be too large, rows are computed when they are needed.
    TailTable(const LeafSamples& samples, std::vector<double> etas, std::vector<std::int32_t> rank, double tail,
              std::int32_t trees, bool kept);

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
    double smallest_above(const ListedLeaves& reached, std::int32_t eta, double enough) const;
    double largest_above(const ListedLeaves& reached, std::int32_t eta, double enough) const;

    // The share of a leaf's samples, or of their mass, that costs more than each eta, into a row that holds zeros.
    void sum(std::int32_t leaf, double* row) const;
    double tail() const { return tail_; }
    bool kept() const { return kept_; }

    struct Least {
        double sum;
        std::int32_t eta;
    };

    // The eta of a range at which the sum over the leaves, one a tree, is smallest: at most the tail, and this much
    // more per tree, lies above. With luck it is not far from a guess.
    std::int32_t best_eta(LeafView leaves, EtaRange range, double slack = 0.0, std::int32_t guess = -1) const;
    // And that sum.
    Least least(LeafView leaves, EtaRange range, double slack = 0.0, std::int32_t guess = -1) const;

private:
    std::size_t at(std::int32_t leaf, std::int32_t eta) const {
        return static_cast<std::size_t>(leaf) * etas_.size() + static_cast<std::size_t>(eta);
    }
    std::size_t below(std::int32_t eta, std::int32_t leaf) const {
        return static_cast<std::size_t>(eta) * samples_.size.size() + static_cast<std::size_t>(leaf);
    }
    // Call `use` with a function from a leaf to its share above an eta.
    template <class Use>
    double with_shares(std::int32_t eta, Use use) const;
    template <class Pick>
    double sum_above(const ListedLeaves& reached, std::int32_t eta, double enough, double none, Pick pick) const;
    void fill(std::int32_t leaf, EtaRange range, double* row) const;
    void fill_all();
    template <std::int32_t lanes>
    void fill_leaves(std::int32_t first, std::vector<double>& masses);
    template <class Count>
    void count_above(std::vector<Count>& above);
    void sum_above();
    double computed_value(std::int32_t leaf, std::int32_t eta) const;
    std::uint32_t counted_above(std::int32_t leaf, std::int32_t eta) const;
    double summed_above(std::int32_t leaf, std::int32_t eta) const;

    LeafSamples samples_;
    std::vector<double> etas_;
    std::vector<std::int32_t> rank_;
    double tail_;
    std::int32_t trees_;
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
    TailCriterion(LeafSamples samples, double tail, std::int32_t trees)
        : samples_(samples),
          tail_(tail),
          trees_(trees) {}

    // The alternative first, then the plans that it must not cost more than: see TailTable.
    void add_plan(std::vector<double> etas, std::vector<std::int32_t> rank, bool kept);
    // The same with the table that another criterion about the same samples has of a plan.
    void share_plan(const TailCriterion& other, std::int32_t i);

    std::int32_t rivals() const override { return added() + static_cast<std::int32_t>(shown_.size()); }
    std::int32_t leaves() const override { return static_cast<std::int32_t>(samples_.size.size()); }
    std::int32_t etas() const override { return plans_.empty() ? 0 : plans_.front()->etas(); }
    void make_room(OpenBox& open) const override;
    Excess excess(LeafView leaves, EtaRange etas, std::span<std::int32_t> levels) const override {
        return excess_near(leaves, etas, levels, -1);
    }
    Excess excess_near(LeafView leaves, EtaRange etas, std::span<std::int32_t> levels,
                       std::int32_t guess) const override;
    double worth(const OpenBox& open, std::int32_t rival, std::int32_t tree, std::int32_t leaf,
                 std::int32_t eta) const override {
        return tilt(open, rival, tree) * alternative().value(leaf, eta) + rival_part(open, rival, tree, leaf);
    }
    double rival_part(const OpenBox& open, std::int32_t rival, std::int32_t, std::int32_t leaf) const override {
        return rival < added() ? -this->rival(rival).value(leaf, open.levels[rival]) : shown_[rival - added()][leaf];
    }
    std::int32_t eta_at(LeafView leaves, EtaRange etas) const override { return alternative().best_eta(leaves, etas); }
    void show(std::span<const double* const> rows, bool) override { shown_.assign(rows.begin(), rows.end()); }
    bool bound(OpenBox& open, double tau) const override;
    bool bound_again(OpenBox& open, double tau) const override;
    std::int32_t cheapest_eta(OpenBox& open, double multiplier, std::span<const double> way) const override;

    std::int64_t all_etas() const {
        std::int64_t total = 0;
        for (const auto& plan : plans_) total += plan->etas();
        return total;
    }

    const TailTable& plan(std::int32_t i) const { return *plans_.at(static_cast<std::size_t>(i)); }
    // The etas of a range at which the alternative's CVaR can be attained somewhere in the box.
    EtaRange quantiles(OpenBox& open, EtaRange range) const;

protected:
    static TailScratch& room(const OpenBox& open) { return static_cast<TailScratch&>(*open.scratch); }
    // With confidence: the excess, `steep(rival)` times the spread of the trees added to the difference of both CVaR;
    // and tau, raised by what rounding may add to a bound.
    template <class Steep>
    Excess excess_with_spread(LeafView leaves, std::span<std::int32_t> levels, std::int32_t guess, Steep steep) const;
    double raised(double tau, double steep) const;
    // Whether the sum over trees that stands for the criterion is broken at the projection, as it is itself.
    bool pulls(const OpenBox& open, double tau) const;
    // The factor of a tree's values of the alternative in the box, against a rival.
    virtual double tilt(const OpenBox&, std::int32_t, std::int32_t) const { return 1.0; }
    // B(leaf) against rival r for each listed leaf: minus the rival's part.
    virtual void take_off(const OpenBox& open, std::int32_t r, std::vector<double>& numbers) const;
    // Go through the reach of a box once; the functions below read the listed leaves.
    void list(OpenBox& open) const { open.reach.list(trees_, room(open).listed); }
    // The etas of a range that suit some context of the box, by one plan's table: at which at most the tail, and this
    // much more per tree, lies above, but not at the eta before. With luck they are not far from a guess. An empty
    // range where none suits.
    EtaRange bracket(const OpenBox& open, const TailTable& plan, EtaRange range, double slack, EtaRange guess) const;
    std::int32_t trees() const { return trees_; }
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
    EtaRange possible(OpenBox& open, double tau, EtaRange range) const;
    // Take these etas for those of the box, and drop the leaves that they rule out; false where there is none.
    bool settle(OpenBox& open, double tau, EtaRange range) const;
    // For every eta of a range, the tree's smallest A(leaf, eta) - B(leaf) among the listed leaves; false where it has
    // none.
    bool least_row(OpenBox& open, std::int32_t tree, std::int32_t r, EtaRange range, const double* taken_off,
                   double* part) const;

private:
    TailTable::Least least_of(std::int32_t r, LeafView leaves, std::int32_t guess) const;
    EtaRange listed_quantiles(const OpenBox& open, EtaRange range) const;
    EtaRange against(OpenBox& open, double tau, EtaRange range, std::int32_t r) const;
    void drop_dear(OpenBox& open, double tau) const;
    void choose_best(OpenBox& open) const;

    LeafSamples samples_;
    double tail_;
    std::int32_t trees_;
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
