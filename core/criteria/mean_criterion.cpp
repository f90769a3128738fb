#include "criteria/mean_criterion.hpp"

#include <stdexcept>

#include "base/numbers.hpp"

namespace whence {

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

void MeanCriterion::make_room(OpenBox& open) const {
    MeanScratch& own = made<MeanScratch>(open);
    own.others.resize(open.best.size());
    own.rows.resize(static_cast<std::size_t>(rivals()));
    own.tilts.resize(static_cast<std::size_t>(rivals()));
}

bool MeanCriterion::pulls(const OpenBox& open, double tau) const {
    double there = 0.0;
    for (const std::int32_t leaf : open.counted()) there += row(open, open.worst)[leaf];
    return there > tau;
}

bool MeanCriterion::bound(OpenBox& open, double tau) const {
    for (std::int32_t i = 0; i < rivals(); ++i) {
        const double* values = row(open, nth_rival(i, open.worst));
        const auto value = [values](std::int32_t, std::int32_t leaf) { return values[leaf]; };
        Leaves& best = i == 0 ? open.best : room(open).others;
        const double total = least_sum(open.reach, 0, open.trees, value, best);
        if (total > tau) return false;
        if (i == 0) open.slack = tau - total;
        drop_dear(open.reach, 0, open.trees, value, best, tau - total);
    }
    if (rivals() == 0) return true;
    const double* values = row(open, open.worst);
    for (std::int32_t t = 0; t < open.trees; ++t) open.gains[t] = values[open.here[t]] - values[open.best[t]];
    return true;
}

}  // namespace whence
