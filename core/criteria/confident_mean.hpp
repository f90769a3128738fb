// Expected costs with confidence: the mean difference plus kappa standard errors over the trees must not exceed tau.
//
// An explanation by one forest is a matter of its random numbers where its trees disagree; one by a margin of some
// standard errors stands in most forests that are fitted to the same data.
#pragma once

#include "criteria/mean_criterion.hpp"

namespace whence {

class ConfidentMeanCriterion final : public MeanCriterion {
public:
    ConfidentMeanCriterion(std::int32_t leaves, double kappa) : MeanCriterion(leaves), kappa_(kappa) {}

    Excess excess(LeafView leaves, EtaRange etas, std::span<std::int32_t> levels) const override;
    void show(std::span<const double* const> rows, bool mixed) override {
        MeanCriterion::show(rows, mixed);
        mixed_ = mixed;
    }
    void lean(OpenBox& open) const override { lean_rows(open); }
    bool bound(OpenBox& open, double tau) const override;

protected:
    const double* row(const OpenBox& open, std::int32_t rival) const override {
        return is_mixture(rival) ? values(rival) : room(open).rows[rival].data();
    }

private:
    // A mixture is one of sums over trees, and such a sum itself.
    bool is_mixture(std::int32_t rival) const { return mixed_ && rival == rivals() - 1; }
    double lean_rows(OpenBox& open) const;
    void tilt(OpenBox& open, std::int32_t rival) const;

    double kappa_;
    bool mixed_ = false;
};

}  // namespace whence
