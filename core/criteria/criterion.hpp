// The criterion as the search sees it: the alternative's risk must not exceed that of any rival by more than tau.
//
// For given thresholds it is a sum over trees of what each one's leaf says; the sum of the smallest such numbers among
// the leaves that a box meets bounds it from below over the box. Expected costs have no threshold: their only eta is 0.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>

#include "base/node_store.hpp"
#include "forest/open_box.hpp"
#include "forest/reach.hpp"

namespace whence {

class Criterion {
public:
    virtual ~Criterion() = default;

    virtual std::int32_t rivals() const = 0;
    virtual std::int32_t leaves() const = 0;
    virtual std::int32_t etas() const = 0;  // thresholds of the alternative
    // Make room in an open box for what is computed there.
    virtual void make_room(OpenBox&) const {}
    // About how much memory a search has made it keep.
    virtual std::size_t bytes() const { return left_.bytes(); }

    struct Excess {
        double over;           // by how much the alternative's risk exceeds that of the rival it does worst against
        std::int32_t worst;    // which rival that is
        std::int32_t eta = 0;  // the alternative's threshold that suits, where it has several
    };

    // At the leaves of a context. Only the alternative's thresholds in `etas` count; those of the rivals that suit the
    // context go to `levels`.
    virtual Excess excess(LeafView leaves, EtaRange etas, std::span<std::int32_t> levels) const = 0;

    // The same where the alternative's threshold may lie near a guess, and those of the rivals near `levels`: with luck
    // they are found sooner.
    virtual Excess excess_near(LeafView leaves, EtaRange etas, std::span<std::int32_t> levels, std::int32_t) const {
        return excess(leaves, etas, levels);
    }
    // The same at the projection of a box, of which more may be known.
    virtual Excess excess_in(const OpenBox& open, std::span<std::int32_t> levels) const {
        return excess_near(open.counted(), open.etas, levels, open.eta_here);
    }
    // What a leaf of a tree adds, in the box, to the alternative's excess over a rival, under a threshold of the
    // alternative and the rival's own (``open.levels``).
    virtual double worth(const OpenBox& open, std::int32_t rival, std::int32_t tree, std::int32_t leaf,
                         std::int32_t eta) const = 0;

    // The part of that which the rival alone makes.
    virtual double rival_part(const OpenBox& open, std::int32_t rival, std::int32_t tree, std::int32_t leaf) const = 0;

    // The alternative's threshold that suits the leaves of a context.
    virtual std::int32_t eta_at(LeafView leaves, EtaRange etas) const = 0;

    // Take these rows for further rivals, after those that were added, until others are shown: what each leaf adds.
    // The last one may be a mixture of the others.
    virtual void show(std::span<const double* const> rows, bool mixed) = 0;

    // A criterion that is no sum over trees is bounded by one. Choose that sum for the leaves that the box meets; those
    // of its projection and `levels` are known.
    virtual void lean(OpenBox&) const {}

    // Bound the criterion over the box and drop the leaves that it rules out; false where nothing is left.
    virtual bool bound(OpenBox& open, double tau) const = 0;

    // The same once more with the threshold of the worst rival that suits the leaves of the bound: the projection's
    // own threshold, which comes first, is a poor one in a large box.
    virtual bool bound_again(OpenBox& open, double tau) const = 0;

    // For every eta the sum over trees of the smallest `multiplier` times worth plus `way`, a number for every leaf,
    // into ``open.sums``; the eta with the smallest sum. Where there is only one eta nothing need be summed.
    virtual std::int32_t cheapest_eta(OpenBox& open, double multiplier, std::span<const double> way) const = 0;

protected:
    Counted left_;  // what boxes have left of a set of plans

    // The room of a criterion in a box, which is made where there is none of its kind.
    template <class Own>
    static Own& made(OpenBox& open) {
        if (dynamic_cast<Own*>(open.scratch.get()) == nullptr) open.scratch = std::make_unique<Own>();
        return static_cast<Own&>(*open.scratch);
    }
    // The rivals, the worst one first.
    static std::int32_t nth_rival(std::int32_t i, std::int32_t worst) {
        return i == 0 ? worst : i <= worst ? i - 1 : i;
    }
};

// A criterion about a set of plans: what a leaf is worth is so for the plan that suits the box best. Whoever bounds the
// box, or asks for the cheapest eta, chooses that plan.
class SetCriterion : public Criterion {
public:
    std::int32_t rivals() const override { return 1; }
    // Two of a kind, as with thresholds: leaves that one plan cannot afford may be needed by another.
    std::int32_t etas() const override { return 2; }
    double worth(const OpenBox& open, std::int32_t, std::int32_t, std::int32_t leaf, std::int32_t) const override {
        return value(open, leaf);
    }
    double rival_part(const OpenBox& open, std::int32_t, std::int32_t, std::int32_t leaf) const override {
        return value(open, leaf);
    }
    std::int32_t eta_at(LeafView, EtaRange etas) const override { return etas.first; }
    void show(std::span<const double* const>, bool) override {}
    bool bound_again(OpenBox&, double) const override { return true; }
    std::int32_t cheapest_eta(OpenBox& open, double multiplier, std::span<const double> way) const override {
        const double smallest = cheapest(open, multiplier, way);
        for (std::int32_t k = open.etas.first; k <= open.etas.last; ++k) open.sums[k] = smallest;
        return open.etas.first;
    }

protected:
    virtual double value(const OpenBox& open, std::int32_t leaf) const = 0;
    // The smallest of the sums of all plans: see `cheapest_eta`.
    virtual double cheapest(OpenBox& open, double multiplier, std::span<const double> way) const = 0;
    // Every tree's leaf that is worth least among those listed, and how much less that is than at the projection.
    void choose_best(OpenBox& open, const ListedLeaves& listed) const {
        for (std::int32_t t = 0; t < open.trees; ++t) {
            Least least;
            for (const std::int32_t leaf : listed.of(t)) least.take(value(open, leaf), leaf);
            if (least.leaf >= 0) open.best[t] = least.leaf;
            open.gains[t] = value(open, open.here[t]) - least.value;
        }
    }
};

// Refuse a criterion and a plausibility that are not about the trees of the grid, each about its own.
inline void require_fit(const Grid& grid, const Criterion& criterion, const Plausibility* plausible) {
    const std::int32_t trees = plausible == nullptr ? grid.trees() : plausible->first_tree();
    if (grid.trees_with(criterion.leaves()) != trees)
        throw std::invalid_argument("The criterion must be about the leaves of the grid.");
    if (plausible != nullptr && &plausible->grid() != &grid)
        throw std::invalid_argument("The plausibility must belong to the same grid.");
}

inline bool Plausibility::bound(OpenBox& open) const {
    const std::int32_t trees = grid_->trees();
    const auto own = [&](std::int32_t, std::int32_t leaf) { return value(leaf); };
    const double total = least_sum(open.reach, first_, trees, own, open.best);
    if (total > 0.0) return false;
    open.plausible_slack = -total;
    drop_dear(open.reach, first_, trees, own, open.best, open.plausible_slack);
    for (std::int32_t t = first_; t < trees; ++t) open.gains[t] = value(open.here[t]) - value(open.best[t]);
    return true;
}

inline void OpenBox::fit(const Criterion& criterion) {
    trees = box.located().grid().trees_with(criterion.leaves());
    levels.resize(criterion.rivals());
    sums.resize(criterion.etas());
    joint.resize(criterion.etas());
    criterion.make_room(*this);
}

inline void OpenBox::judge(const Criterion& criterion, double tau) {
    box.located().grid().leaves_at(cells, here);
    const Criterion::Excess excess = criterion.excess_in(*this, levels);
    worst = excess.worst;
    over = excess.over;
    eta_here = excess.eta;
    stands = holds = excess.over <= tau;
    if (plausible != nullptr) {
        short_by = plausible->short_by(here);
        holds = stands && short_by <= 0.0;
    }
    barred = false;
}

}  // namespace whence
