// Expected costs: with a(leaf) the mean cost difference over a leaf's samples, divided by the number of trees, the
// criterion at a context is the sum over trees of a(its leaf) <= tau.
#pragma once

#include <vector>

#include "criteria/criterion.hpp"

namespace whence {

class MeanCriterion : public Criterion {
public:
    explicit MeanCriterion(std::int32_t leaves) : leaves_(leaves) {}

    // One more plan that the alternative must not cost more than: the mean difference between both in every leaf,
    // divided by the number of trees.
    void add_rival(std::vector<double> means);

    std::int32_t rivals() const override { return static_cast<std::int32_t>(means_.size() + shown_.size()); }
    std::int32_t leaves() const override { return leaves_; }
    std::int32_t etas() const override { return 1; }
    Excess excess(LeafView leaves, EtaRange etas, std::span<std::int32_t> levels) const override;
    double worth(const OpenBox& open, std::int32_t rival, std::int32_t, std::int32_t leaf,
                 std::int32_t) const override {
        return row(open, rival)[leaf];
    }
    double rival_part(const OpenBox& open, std::int32_t rival, std::int32_t, std::int32_t leaf) const override {
        return row(open, rival)[leaf];
    }
    std::int32_t eta_at(LeafView, EtaRange etas) const override { return etas.first; }
    void show(std::span<const double* const> rows, bool) override { shown_.assign(rows.begin(), rows.end()); }
    bool bound(OpenBox& open, double tau) const override;
    bool bound_again(OpenBox&, double) const override { return true; }
    std::int32_t cheapest_eta(OpenBox& open, double, std::span<const double>) const override { return open.etas.first; }

protected:
    // What each leaf adds in the box against a rival.
    virtual const double* row(const OpenBox&, std::int32_t rival) const { return values(rival); }
    const double* values(std::int32_t rival) const {
        const auto r = static_cast<std::size_t>(rival);
        return r < means_.size() ? means_[r].data() : shown_[r - means_.size()];
    }

private:
    std::int32_t leaves_;
    std::vector<std::vector<double>> means_;  // by rival and leaf
    std::vector<const double*> shown_;        // further rivals, by leaf
};

}  // namespace whence
