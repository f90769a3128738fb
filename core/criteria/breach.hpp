// Where a criterion with confidence is broken: what a search for the end of a region looks for.
//
// The criterion that these classes offer is minus the difference with its standard errors: it holds where that is more
// than tau. Without confidence, the same is asked by exchanging both plans. Of a breach by a plan that has to be the
// best one where it happens, further rivals say so: plans that it must not cost more than, without standard errors.
#pragma once

#include "criteria/mean_criterion.hpp"
#include "criteria/spread.hpp"
#include "criteria/tail_criterion.hpp"

namespace whence {

class MeanBreach final : public MeanCriterion {
public:
    MeanBreach(std::int32_t leaves, double kappa) : MeanCriterion(leaves), kappa_(kappa) {}

    Excess excess(LeafView leaves, EtaRange etas, std::span<std::int32_t> levels) const override;
    void lean(OpenBox& open) const override;
    bool bound(OpenBox& open, double tau) const override;

protected:
    const double* row(const OpenBox& open, std::int32_t rival) const override { return room(open).rows[rival].data(); }

private:
    double bend(OpenBox& open, std::int32_t rival, Parabola parabola) const;
    double steep_of(std::int32_t rival, std::int32_t trees) const;

    double kappa_;
};

// The first plan is the rival, the second one the alternative: see ConfidentTailCriterion. After them come the plans
// that the rival must not cost more than.
class TailBreach final : public TailCriterion {
public:
    TailBreach(LeafSamples samples, double tail, std::int32_t trees, double kappa);

    double rival_part(const OpenBox& open, std::int32_t rival, std::int32_t tree, std::int32_t leaf) const override {
        return TailCriterion::rival_part(open, rival, tree, leaf) + room(open).rows[rival][leaf];
    }
    void lean(OpenBox& open) const override;
    bool bound(OpenBox& open, double tau) const override;
    bool bound_again(OpenBox& open, double tau) const override;
    Excess excess_near(LeafView leaves, EtaRange etas, std::span<std::int32_t> levels,
                       std::int32_t guess) const override;

private:
    // The values of a leaf's tree at the thresholds that are possible in the box, beside those themselves.
    struct Between {
        double low, high;
    };

    Between between(std::int32_t rival, std::int32_t leaf, EtaRange own, EtaRange other) const;
    void bend(OpenBox& open, std::int32_t rival, EtaRange own, Parabola parabola) const;
    double steep_of(std::int32_t rival) const { return rival == 0 ? steep_ : 0.0; }

    double steep_;
};

}  // namespace whence
