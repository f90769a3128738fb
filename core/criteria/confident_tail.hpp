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

#include "criteria/tail_criterion.hpp"

namespace whence {

class ConfidentTailCriterion final : public TailCriterion {
public:
    // With the plans of a criterion without confidence: their tables are shared.
    ConfidentTailCriterion(const TailCriterion& plain, double kappa);

    double rival_part(const OpenBox& open, std::int32_t rival, std::int32_t tree, std::int32_t leaf) const override;
    // Rows are rivals under one threshold: not enough to know their spread.
    void show(std::span<const double* const> rows, bool mixed) override;
    void lean(OpenBox& open) const override;
    bool bound(OpenBox& open, double tau) const override;
    // Another level for the rival hardly moves a bound that takes all possible levels into account.
    bool bound_again(OpenBox&, double) const override { return true; }
    Excess excess_near(LeafView leaves, EtaRange etas, std::span<std::int32_t> levels,
                       std::int32_t guess) const override;

protected:
    void take_off(const OpenBox& open, std::int32_t r, std::vector<double>& numbers) const override;
    double tilt(const OpenBox& open, std::int32_t rival, std::int32_t tree) const override {
        return room(open).tilts[rival][tree];
    }

private:
    bool lean_listed(OpenBox& open) const;
    EtaRange halve_levels(OpenBox& open, double tau, EtaRange range) const;
    bool lean_to_projection(OpenBox& open, double tau) const;

    double steep_;
};

}  // namespace whence
