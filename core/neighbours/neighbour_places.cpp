#include "neighbours/neighbour_places.hpp"

#include <algorithm>
#include <cmath>

#include "neighbours/neighbour_space.hpp"

namespace whence::neighbours {

Places::Places(const std::vector<Axis>& axes, std::vector<double> members, std::vector<double> columns,
               std::vector<double> ranks, std::vector<double> origin)
    : width_(origin.size()),
      members_(std::move(members)),
      columns_(std::move(columns)),
      ranks_(std::move(ranks)),
      origin_(std::move(origin)),
      products_(axes.size() * axes.size()) {
    std::size_t first = 0;
    for (const Axis& axis : axes) {
        first_.push_back(first);
        if (axis.kind == Kind::category) first += axis.costs.size();
    }
    const int q = static_cast<int>(axes.size());
    for (int j = 0; j < q; ++j) {
        for (int i = 0; i < q; ++i)
            products_[static_cast<std::size_t>(j) * q + i] = std::abs(product(column(j), column(i)));
    }
}

double Places::product(const double* one, const double* other) const {
    double total = 0.0;
    for (std::size_t c = 0; c < width_; ++c) total += one[c] * other[c];
    return total;
}

void Places::locate(const std::vector<Axis>& axes, std::span<const double> context, std::vector<double>& place) const {
    place = origin_;
    for (int j = 0; j < static_cast<int>(axes.size()); ++j) {
        const bool category = axes[j].kind == Kind::category;
        const double* const along = category ? rank(j, context[j]) : column(j);
        const double by = category ? 1.0 : context[j];
        for (std::size_t c = 0; c < width_; ++c) place[c] += by * along[c];
    }
}

double Places::far(int i, std::span<const double> place) const {
    const double* const own = member(i);
    double total = 0.0;
    for (std::size_t c = 0; c < width_; ++c) total += (place[c] - own[c]) * (place[c] - own[c]);
    return std::sqrt(total);
}

double Places::pull(int i, int axis, std::span<const double> place) const {
    const double* const own = member(i);
    const double* const along = column(axis);
    double total = 0.0;
    for (std::size_t c = 0; c < width_; ++c) total += (place[c] - own[c]) * along[c];
    return total;
}

double Places::around(const std::vector<Axis>& axes, const Box& box, std::vector<double>& place) const {
    std::vector<double> middle(axes.size());
    double squares = 0.0, other = 0.0;
    for (int j = 0; j < box.dimension(); ++j) {
        const bool category = axes[j].kind == Kind::category;
        middle[j] = category ? box.low[j] : 0.5 * (box.low[j] + box.high[j]);
        if (!category) continue;
        double most = 0.0;
        for (double value = box.low[j] + 1.0; value <= box.high[j]; value += 1.0) {
            double total = 0.0;
            for (std::size_t c = 0; c < width_; ++c) {
                const double gap = rank(j, value)[c] - rank(j, box.low[j])[c];
                total += gap * gap;
            }
            most = std::max(most, total);
        }
        other += std::sqrt(most);
    }
    const std::size_t q = axes.size();
    for (std::size_t j = 0; j < q; ++j) {
        if (axes[j].kind == Kind::category || box.low[j] == box.high[j]) continue;
        for (std::size_t i = 0; i < q; ++i) {
            if (axes[i].kind == Kind::category) continue;
            squares += products_[j * q + i] * 0.25 * (box.high[j] - box.low[j]) * (box.high[i] - box.low[i]);
        }
    }
    locate(axes, middle, place);
    return std::sqrt(squares) + other;
}

double Places::product_around(const std::vector<Axis>& axes, const Box& box, int axis) const {
    const std::size_t q = axes.size();
    double total = 0.0;
    for (std::size_t i = 0; i < q; ++i) {
        if (axes[i].kind == Kind::category) continue;
        total += products_[static_cast<std::size_t>(axis) * q + i] * 0.5 * (box.high[i] - box.low[i]);
    }
    return total;
}

}  // namespace whence::neighbours
