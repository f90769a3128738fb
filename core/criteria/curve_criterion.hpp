// Costs that follow forecasts: every outcome has a forecast, to which the leaves of all trees add up, and a curve made
// of lines that says by how much the alternative costs more than a rival by that forecast. The curves of all outcomes
// together must not exceed tau.
//
// In a box every forecast lies between two sums over trees. A line below the curve between these two bounds it, and all
// such lines together are a sum over trees again.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "criteria/mean_criterion.hpp"

namespace whence {

// A curve made of lines: its corners in ascending order, its values there, and the slopes before and after all of them.
class BrokenLine {
public:
    BrokenLine(std::vector<double> at, std::vector<double> value, double before, double after)
        : at_(std::move(at)),
          value_(std::move(value)),
          before_(before),
          after_(after) {
        const bool ascends = std::adjacent_find(at_.begin(), at_.end(), std::greater_equal<double>()) == at_.end();
        if (at_.empty() || at_.size() != value_.size() || !ascends)
            throw std::invalid_argument("A curve must have corners in ascending order, and a value at each.");
    }

    double operator()(double x) const {
        if (x <= at_.front()) return value_.front() + before_ * (x - at_.front());
        if (x >= at_.back()) return value_.back() + after_ * (x - at_.back());
        const auto next = static_cast<std::size_t>(std::upper_bound(at_.begin(), at_.end(), x) - at_.begin());
        const double share = (x - at_[next - 1]) / (at_[next] - at_[next - 1]);
        return value_[next - 1] + share * (value_[next] - value_[next - 1]);
    }
    // The largest of its values at a place and at both ends, without regard to sign.
    double size(double low, double high) const { return std::max(std::abs((*this)(low)), std::abs((*this)(high))); }

    struct Line {
        double level, slope;  // at 0

        double operator()(double x) const { return level + slope * x; }
    };

    // A line that the curve does not fall below between `low` and `high` and that has the same minimum there.
    Line below(double low, double high) const {
        const auto [first, last] = between(low, high);
        const double at_low = (*this)(low), at_high = (*this)(high);
        double least = std::min(at_low, at_high);
        for (std::size_t i = first; i < last; ++i) least = std::min(least, value_[i]);
        if (!(low < high) || (least < at_low && least < at_high)) return {least, 0.0};
        // The minimum is at an end: the steepest line through it that stays below all corners and the other end.
        const bool right = at_high <= at_low;
        const double end = right ? high : low;
        double slope = (right ? at_low : at_high) - least;
        slope /= high - low;
        for (std::size_t i = first; i < last; ++i)
            slope = std::min(slope, (value_[i] - least) / std::abs(at_[i] - end));
        if (right) slope = -slope;
        return {least - slope * end, slope};
    }

    // The one that is highest at a place between them.
    Line below_at(double low, double high, double place) const {
        const auto [first, last] = between(low, high);
        if (!(low < high)) return {(*this)(low), 0.0};
        // Of the lower hull, the piece above which the place lies: its ends are the best points on either side.
        place = std::clamp(place, low, high);
        double from = low, to = high;
        double at_from = (*this)(low), at_to = (*this)(high);
        const auto height = [&] { return at_from + (at_to - at_from) * ((place - from) / (to - from)); };
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t i = first; i < last; ++i) {
                const double x = at_[i], line = at_from + (at_to - at_from) * ((x - from) / (to - from));
                if (x <= from || x >= to || value_[i] >= line) continue;
                // A corner below the piece: it replaces the end on its own side.
                if (x <= place)
                    from = x, at_from = value_[i];
                else
                    to = x, at_to = value_[i];
                moved = true;
            }
        }
        const double slope = (at_to - at_from) / (to - from);
        double level = height() - slope * place;
        // Corners beyond the piece may lie below its line, as a pass from one end to the other need not find the hull.
        double short_by = std::min({0.0, (*this)(low) - (level + slope * low), (*this)(high) - (level + slope * high)});
        for (std::size_t i = first; i < last; ++i) short_by = std::min(short_by, value_[i] - (level + slope * at_[i]));
        return {level + short_by, slope};
    }

private:
    // Corners strictly between two numbers: the first one, and the one after the last.
    std::pair<std::size_t, std::size_t> between(double low, double high) const {
        const auto first = std::upper_bound(at_.begin(), at_.end(), low) - at_.begin();
        const auto last = std::lower_bound(at_.begin(), at_.end(), high) - at_.begin();
        return {static_cast<std::size_t>(first), static_cast<std::size_t>(std::max(first, last))};
    }

    std::vector<double> at_, value_;
    double before_, after_;
};

class CurveCriterion final : public MeanCriterion {
public:
    // What every leaf adds to the forecast of each outcome (by leaf and outcome), and what is added to their sums.
    CurveCriterion(std::vector<double> adds, std::vector<double> offsets)
        : MeanCriterion(static_cast<std::int32_t>(offsets.empty() ? 0 : adds.size() / offsets.size())),
          adds_(std::move(adds)),
          offsets_(std::move(offsets)) {
        if (offsets_.empty() || adds_.size() % offsets_.size() != 0)
            throw std::invalid_argument("'adds' must hold a number for each leaf and outcome.");
    }
    // One more rival: a curve for each outcome.
    void add_curves(std::vector<BrokenLine> curves) {
        if (curves.size() != outcomes()) throw std::invalid_argument("There must be a curve for each outcome.");
        curves_.push_back(std::move(curves));
        add_rival(std::vector<double>(static_cast<std::size_t>(leaves()), 0.0));
    }

    std::size_t outcomes() const { return offsets_.size(); }

    Criterion::Excess excess(LeafView leaves, EtaRange, std::span<std::int32_t>) const override {
        const std::vector<double> sums = forecast(leaves);
        Excess found{-kInfinity, 0};
        for (std::size_t r = 0; r < curves_.size(); ++r) {
            double over = 0.0;
            for (std::size_t k = 0; k < sums.size(); ++k) over += curves_[r][k](sums[k]);
            if (over > found.over) found = {over, static_cast<std::int32_t>(r)};
        }
        return found;
    }

    void lean(OpenBox& open) const override { lean_rows(open); }

    // The lines may hold at the projection, though the curves do not. Those that are as high there as can be do so less
    // often.
    bool bound(OpenBox& open, double tau) const override {
        const double raised = tau + kRounding.curves * lean_rows(open);
        if (!MeanCriterion::bound(open, raised)) return false;
        if (open.holds || pulls(open, raised)) return true;
        const std::vector<double> sums = forecast(open.counted());
        find_range(open);
        Lines lines(outcomes());
        for (std::size_t k = 0; k < lines.size(); ++k)
            lines[k] = curves_[open.worst][k].below_at(room(open).low[k], room(open).high[k], sums[k]);
        add_lines(open, open.worst, lines);
        return MeanCriterion::bound(open, raised);
    }

protected:
    const double* row(const OpenBox& open, std::int32_t rival) const override { return room(open).rows[rival].data(); }

private:
    using Lines = std::vector<BrokenLine::Line>;

    std::vector<double> forecast(LeafView leaves) const {
        std::vector<double> sums = offsets_;
        for (const std::int32_t leaf : leaves)
            for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += adds_[leaf * sums.size() + k];
        return sums;
    }

    // Between which sums the forecast of every outcome lies in the box.
    void find_range(OpenBox& open) const {
        const std::size_t count = outcomes();
        MeanScratch& own = room(open);
        own.low = own.high = offsets_;
        for (std::int32_t t = 0; t < open.trees; ++t)
            for (std::size_t k = 0; k < count; ++k) {
                const Extent says = extent(open, t, [&](std::int32_t leaf) { return adds_[leaf * count + k]; });
                own.low[k] += says.low;
                own.high[k] += says.high;
            }
    }

    // Lean against every rival; the size of the numbers involved.
    double lean_rows(OpenBox& open) const {
        find_range(open);
        const std::vector<double>&low = room(open).low, &high = room(open).high;
        double size = 0.0;
        Lines lines(outcomes());
        for (std::size_t r = 0; r < curves_.size(); ++r) {
            double own = 0.0;
            for (std::size_t k = 0; k < lines.size(); ++k) {
                const BrokenLine& curve = curves_[r][k];
                lines[k] = curve.below(low[k], high[k]);
                const double far = std::max(std::abs(low[k]), std::abs(high[k]));
                own += curve.size(low[k], high[k]) + std::abs(lines[k].slope) * far;
            }
            size = std::max(size, own);
            add_lines(open, static_cast<std::int32_t>(r), lines);
        }
        return size;
    }

    // Write down what leaves add to the sum of the lines.
    void add_lines(OpenBox& open, std::int32_t rival, const Lines& lines) const {
        double level = 0.0;
        for (std::size_t k = 0; k < lines.size(); ++k) level += lines[k](offsets_[k]);
        level /= open.trees;
        write_row(open, rival, [&](std::int32_t, std::int32_t leaf) {
            double total = level;
            for (std::size_t k = 0; k < lines.size(); ++k) total += lines[k].slope * adds_[leaf * lines.size() + k];
            return total;
        });
    }

    std::vector<double> adds_, offsets_;
    std::vector<std::vector<BrokenLine>> curves_;  // by rival and outcome
};

}  // namespace whence
