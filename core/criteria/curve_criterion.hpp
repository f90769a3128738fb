// Costs that follow forecasts: every outcome has a forecast, to which the leaves of all trees add up, and a curve made
// of lines that says by how much the alternative costs more than a rival by that forecast. The curves of all outcomes
// together must not exceed tau.
//
// In a box every forecast lies between two sums over trees. A line below the curve between these two bounds it, and all
// such lines together are a sum over trees again.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "criteria/mean_criterion.hpp"

namespace whence {

// A curve made of lines: its corners in ascending order, its values there, and the slopes before and after all of them.
class BrokenLine {
public:
    BrokenLine(std::vector<double> at, std::vector<double> value, double before, double after);

    double operator()(double x) const;

    // The largest of its values at a place and at both ends, without regard to sign.
    double size(double low, double high) const;

    struct Line {
        double level, slope;  // at 0

        double operator()(double x) const { return level + slope * x; }
    };

    // A line that the curve does not fall below between `low` and `high` and that has the same minimum there.
    Line below(double low, double high) const;

    // The one that is highest at a place between them.
    Line below_at(double low, double high, double place) const;

private:
    // Corners strictly between two numbers: the first one, and the one after the last.
    std::pair<std::size_t, std::size_t> between(double low, double high) const;

    std::vector<double> at_, value_;
    double before_, after_;
};

class CurveCriterion final : public MeanCriterion {
public:
    // What every leaf adds to the forecast of each outcome (by leaf and outcome), and what is added to their sums.
    CurveCriterion(std::vector<double> adds, std::vector<double> offsets);

    // One more rival: a curve for each outcome.
    void add_curves(std::vector<BrokenLine> curves);

    std::size_t outcomes() const { return offsets_.size(); }

    Excess excess(LeafView leaves, EtaRange etas, std::span<std::int32_t> levels) const override;
    void lean(OpenBox& open) const override { lean_rows(open); }
    bool bound(OpenBox& open, double tau) const override;

protected:
    const double* row(const OpenBox& open, std::int32_t rival) const override { return room(open).rows[rival].data(); }

private:
    using Lines = std::vector<BrokenLine::Line>;

    std::vector<double> forecast(LeafView leaves) const;
    void find_range(OpenBox& open) const;
    double lean_rows(OpenBox& open) const;
    void add_lines(OpenBox& open, std::int32_t rival, const Lines& lines) const;

    std::vector<double> adds_, offsets_;
    std::vector<std::vector<BrokenLine>> curves_;  // by rival and outcome
};

}  // namespace whence
