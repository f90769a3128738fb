#include "neighbours/neighbour_scores.hpp"

#include <algorithm>

#include "neighbours/neighbour_space.hpp"

namespace whence::neighbours {

Scores::Scores(const std::vector<Axis>& axes, std::vector<double> slopes, std::vector<double> entries)
    : dimension_(axes.size()),
      slopes_(std::move(slopes)),
      entries_(std::move(entries)) {
    for (const Axis& axis : axes) {
        first_.push_back(width_);
        if (axis.kind == Kind::category) width_ += axis.costs.size();
    }
}

double Scores::along(const std::vector<Axis>& axes, int member, std::span<const double> context) const {
    const double* const slope = slopes(member);
    double total = 0.0;
    for (std::size_t j = 0; j < dimension_; ++j) {
        total += axes[j].kind == Kind::category
                     ? entries(member, static_cast<int>(j))[static_cast<std::size_t>(context[j])]
                     : slope[j] * context[j];
    }
    return total;
}

void Scores::mean(std::span<const int> members, std::vector<double>& slopes_of_all) const {
    slopes_of_all.assign(dimension_, 0.0);
    for (const int member : members) {
        const double* const slope = slopes(member);
        for (std::size_t j = 0; j < dimension_; ++j) slopes_of_all[j] += slope[j];
    }
    const double count = std::max<double>(static_cast<double>(members.size()), 1.0);
    for (double& slope : slopes_of_all) slope /= count;
}

}  // namespace whence::neighbours
