#include "criteria/mean_criterion.hpp"

#include <stdexcept>

#include "base/numbers.hpp"

namespace whence {

namespace {

// Sum over trees of the smallest value among the reached leaves; the leaves that attain it go to `best`.
double least_sum(const Reach& reach, std::int32_t trees, const double* values, Leaves& best) {
    double total = 0.0;
    for (std::int32_t t = 0; t < trees; ++t) {
        double least = kInfinity;
        std::int32_t chosen = best[t];
        reach.each(t, [&](std::int32_t leaf) {
            if (values[leaf] < least) {
                least = values[leaf];
                chosen = leaf;
            }
        });
        best[t] = chosen;
        total += least;
    }
    return total;
}

// Drop the leaves that would use up more than the slack if all other trees took their best.
void drop_dear(Reach& reach, std::int32_t trees, const double* values, const Leaves& best, double slack) {
    for (std::int32_t t = 0; t < trees; ++t) {
        const double most = values[best[t]] + slack;
        reach.drop(t, [&](std::int32_t leaf) { return values[leaf] > most; });
    }
}

}  // namespace

void MeanCriterion::add_rival(std::vector<double> means) {
    if (means.size() != static_cast<std::size_t>(leaves_))
        throw std::invalid_argument("'means' must hold one number a leaf.");
    means_.push_back(std::move(means));
}

Criterion::Excess MeanCriterion::excess(LeafView leaves, EtaRange, std::span<std::int32_t>) const {
    Excess found{-kInfinity, 0};
    for (std::int32_t r = 0; r < rivals(); ++r) {
        double total = 0.0;
        for (const std::int32_t leaf : leaves) total += values(r)[leaf];
        if (total > found.over) found = {total, r};
    }
    return found;
}

bool MeanCriterion::bound(OpenBox& open, double tau) const {
    for (std::int32_t i = 0; i < rivals(); ++i) {
        const double* values = row(open, nth_rival(i, open.worst));
        Leaves& best = i == 0 ? open.best : open.other;
        const double total = least_sum(open.reach, open.trees, values, best);
        if (total > tau) return false;
        if (i == 0) open.slack = tau - total;
        drop_dear(open.reach, open.trees, values, best, tau - total);
    }
    if (rivals() == 0) return true;
    const double* values = row(open, open.worst);
    for (std::int32_t t = 0; t < open.trees; ++t) open.gains[t] = values[open.here[t]] - values[open.best[t]];
    return true;
}

}  // namespace whence
