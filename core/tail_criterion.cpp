#include "tail_criterion.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace whence {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
// From this many etas on it pays to ask which of them can attain the CVaR.
constexpr std::int32_t WIDE = 64;

}  // namespace

// ---- what the leaves say about one plan ---------------------------------------------------------------------------

TailTable::TailTable(const LeafSamples& samples, std::vector<double> etas, std::vector<std::int32_t> rank, double tail,
                     std::int32_t trees, bool kept)
    : samples_(samples), etas_(std::move(etas)), rank_(std::move(rank)), tail_(tail), trees_(trees), kept_(kept) {
    if (!kept_) return;
    const std::size_t leaves = samples_.size.size();
    values_.resize(leaves * etas_.size());
    const bool alike = samples_.mass.empty();
    if (alike)
        above_.resize(leaves * etas_.size());
    else
        shares_.resize(leaves * etas_.size());
    for (std::int32_t leaf = 0; leaf < static_cast<std::int32_t>(leaves); ++leaf) {
        fill(leaf, {0, this->etas() - 1}, values_.data() + at(leaf, 0));
        if (alike)
            count(leaf, above_.data() + at(leaf, 0));
        else
            sum(leaf, shares_.data() + at(leaf, 0));
    }
}

// Costs are etas themselves: counted by their ranks, the excess grows from each eta down to the next one below it.
void TailTable::fill(std::int32_t leaf, EtaRange range, double* row) const {
    const auto own = samples_.of(leaf);
    const double scale = 1.0 / (samples_.divisor(leaf) * tail_), share = samples_.share(leaf);
    std::fill(row + range.first, row + range.last + 1, 0.0);
    double above = 0.0, over = 0.0;
    for (const std::int32_t sample : own) {
        const std::int32_t rank = rank_[sample];
        const double mass = samples_.mass_of(sample);
        if (rank > range.last) {
            above += mass;
            over += mass * (etas_[rank] - etas_[range.last]);
        } else if (rank > range.first) {
            row[rank] += mass;
        }
    }
    for (std::int32_t k = range.last; k >= range.first; --k) {
        const double count = row[k];
        row[k] = (share * etas_[k] + over * scale) / trees_;
        if (k > range.first) {
            above += count;
            over += above * (etas_[k] - etas_[k - 1]);
        }
    }
}

void TailTable::count(std::int32_t leaf, std::uint32_t* row) const {
    for (const std::int32_t sample : samples_.of(leaf)) ++row[rank_[sample]];
    std::uint32_t above = 0;
    for (std::int32_t k = etas() - 1; k >= 0; --k) {
        const std::uint32_t own = row[k];
        row[k] = above;
        above += own;
    }
}

void TailTable::sum(std::int32_t leaf, double* row) const {
    for (const std::int32_t sample : samples_.of(leaf)) row[rank_[sample]] += samples_.mass_of(sample);
    const double total = samples_.total(leaf);
    double above = 0.0;
    for (std::int32_t k = etas() - 1; k >= 0; --k) {
        const double own = row[k];
        row[k] = above / total;
        above += own;
    }
}

double TailTable::computed_value(std::int32_t leaf, std::int32_t eta) const {
    double over = 0.0;
    for (const std::int32_t sample : samples_.of(leaf))
        over += samples_.mass_of(sample) * std::max(0.0, etas_[rank_[sample]] - etas_[eta]);
    return (samples_.share(leaf) * etas_[eta] + over / (samples_.divisor(leaf) * tail_)) / trees_;
}

std::uint32_t TailTable::counted_above(std::int32_t leaf, std::int32_t eta) const {
    std::uint32_t above = 0;
    for (const std::int32_t sample : samples_.of(leaf)) above += rank_[sample] > eta;
    return above;
}

double TailTable::summed_above(std::int32_t leaf, std::int32_t eta) const {
    double above = 0.0;
    for (const std::int32_t sample : samples_.of(leaf))
        if (rank_[sample] > eta) above += samples_.mass_of(sample);
    return above / samples_.total(leaf);
}

// The sum is convex in eta. It falls from an eta to the next as long as more than the tail lies above: that is asked of
// the counts, since a difference of two values is mere rounding where the etas are next to each other.
TailTable::Least TailTable::least(LeafView leaves, EtaRange range, double slack) const {
    std::int32_t low = range.first, high = range.last;
    const double tail = (tail_ + slack) * static_cast<double>(leaves.size());
    while (low < high) {
        const std::int32_t k = (low + high) / 2;
        double above = 0.0;
        for (const std::int32_t leaf : leaves) above += share_above(leaf, k);
        if (above > tail)
            low = k + 1;
        else
            high = k;
    }
    double total = 0.0;
    for (const std::int32_t leaf : leaves) total += value(leaf, low);
    return {total, low};
}

// ---- the criterion ------------------------------------------------------------------------------------------------

void TailCriterion::add_plan(std::vector<double> etas, std::vector<std::int32_t> rank, bool kept) {
    const auto count = static_cast<std::int32_t>(etas.size());
    if (etas.empty() || std::adjacent_find(etas.begin(), etas.end(), std::greater_equal<>()) != etas.end())
        throw std::invalid_argument("'etas' must hold at least one number, and ascend.");
    if (std::any_of(rank.begin(), rank.end(), [&](std::int32_t k) { return k < 0 || k >= count; }))
        throw std::invalid_argument("'rank' must name an eta of every sample.");
    const auto n = static_cast<std::int32_t>(rank.size());
    if (plans_.empty() && std::any_of(samples_.samples.begin(), samples_.samples.end(),
                                      [&](std::int32_t i) { return i < 0 || i >= n; }))
        throw std::invalid_argument("'rank' must name an eta of every sample.");
    if (!plans_.empty() && n != n_samples_) throw std::invalid_argument("All plans must have the same samples.");
    n_samples_ = n;
    plans_.push_back(std::make_shared<TailTable>(samples_, std::move(etas), std::move(rank), tail_, trees_, kept));
}

Criterion::Excess TailCriterion::excess(LeafView leaves, EtaRange etas, std::span<std::int32_t> levels) const {
    Excess found{-INFINITE, 0};
    const double mine = alternative().least(leaves, etas).sum;
    for (std::int32_t r = 0; r < rivals(); ++r) {
        const TailTable::Least least = least_of(r, leaves);
        levels[r] = least.eta;
        if (mine - least.sum > found.over) found = {mine - least.sum, r};
    }
    return found;
}

// CVaR of a rival at the leaves of a context, or what bounds it from above, and the threshold it belongs to.
TailTable::Least TailCriterion::least_of(std::int32_t r, LeafView leaves) const {
    if (r < added()) return rival(r).least(leaves, all_of(rival(r)));
    double total = 0.0;
    for (const std::int32_t leaf : leaves) total -= shown_[r - added()][leaf];
    return {total, 0};
}

// For every eta, the tree's smallest A(leaf, eta) - B(leaf) in reach, into ``open.part``; the number of leaves.
std::int32_t TailCriterion::least_rows(OpenBox& open, std::int32_t tree, std::int32_t r, EtaRange range) const {
    const double factor = tilt(open, r, tree);
    double* part = open.part.data();
    std::int32_t count = 0;
    open.reach.each(tree, [&](std::int32_t leaf) {
        const double* row = alternative().row(leaf, range, open.row);
        const double b = -rival_part(open, r, tree, leaf);
        if (++count == 1) {
            for (std::int32_t k = range.first; k <= range.last; ++k) part[k] = factor * row[k] - b;
        } else {
            for (std::int32_t k = range.first; k <= range.last; ++k) {
                const double x = factor * row[k] - b;
                part[k] = x < part[k] ? x : part[k];
            }
        }
    });
    return count;
}

// The smallest sum of the trees' shares of samples that cost more than an eta of the alternative, over the box.
double TailCriterion::smallest_above(const OpenBox& open, const TailTable& plan, std::int32_t eta) const {
    double total = 0.0;
    for (std::int32_t t = 0; t < trees_; ++t) {
        double least = INFINITE;
        open.reach.each(t, [&](std::int32_t leaf) { least = std::min(least, plan.share_above(leaf, eta)); });
        total += least;
    }
    return total;
}

double TailCriterion::largest_above(const OpenBox& open, const TailTable& plan, std::int32_t eta) const {
    double total = 0.0;
    for (std::int32_t t = 0; t < trees_; ++t) {
        double most = -INFINITE;
        open.reach.each(t, [&](std::int32_t leaf) { most = std::max(most, plan.share_above(leaf, eta)); });
        total += most;
    }
    return total;
}

// At any context the sum over trees is convex in eta, and falls as long as more than the tail lies above: where even
// the smallest share above is more the minimum lies beyond, where even the largest is less it lies before. Shares
// shrink with eta in every leaf, and their sums do so in spite of rounding: an eta that is dropped by mistake has almost
// exactly the tail above, so that the next one is as good.
EtaRange TailCriterion::quantiles(const OpenBox& open, EtaRange range) const {
    const double tail = tail_ * trees_;
    std::int32_t low = range.first, high = range.last;
    while (low < high) {
        const std::int32_t k = (low + high) / 2;
        if (smallest_above(open, alternative(), k) > tail)
            low = k + 1;
        else
            high = k;
    }
    const std::int32_t first = low;
    high = range.last;
    while (low < high) {
        const std::int32_t k = (low + high + 1) / 2;
        if (largest_above(open, alternative(), k - 1) < tail)
            high = k - 1;
        else
            low = k;
    }
    return {first, low};
}

EtaRange TailCriterion::bracket(const OpenBox& open, const TailTable& plan, EtaRange range, double slack) const {
    const double tail = (tail_ + slack) * trees_;
    const auto first_below = [&](auto above, std::int32_t low, std::int32_t high) {
        while (low < high) {
            const std::int32_t k = (low + high) / 2;
            if (above(k) > tail)
                low = k + 1;
            else
                high = k;
        }
        return low;
    };
    const auto smallest = [&](std::int32_t k) { return smallest_above(open, plan, k); };
    const auto largest = [&](std::int32_t k) { return largest_above(open, plan, k); };
    const std::int32_t first = first_below(smallest, range.first, range.last);
    return {first, first_below(largest, first, range.last)};
}

// Raise ``open.joint`` to the bound against rival r; the etas left, an empty range where there is none.
EtaRange TailCriterion::against(OpenBox& open, double tau, EtaRange range, std::int32_t r) const {
    std::fill(open.sums.begin() + range.first, open.sums.begin() + range.last + 1, 0.0);
    for (std::int32_t t = 0; t < trees_; ++t) {
        if (least_rows(open, t, r, range) == 0) return {1, 0};
        for (std::int32_t k = range.first; k <= range.last; ++k) open.sums[k] += open.part[k];
    }
    for (std::int32_t k = range.first; k <= range.last; ++k) open.joint[k] = std::max(open.joint[k], open.sums[k]);
    while (!range.empty() && open.joint[range.first] > tau) ++range.first;
    while (!range.empty() && open.joint[range.last] > tau) --range.last;
    return range;
}

// The etas that no rival rules out. The bound under each eta, the largest over the rivals, goes to ``open.joint``, the
// worst rival's to ``open.worst_sums``.
EtaRange TailCriterion::possible(OpenBox& open, double tau, EtaRange range) const {
    std::fill(open.joint.begin() + range.first, open.joint.begin() + range.last + 1, -INFINITE);
    for (std::int32_t i = 0; i < rivals() && !range.empty(); ++i) {
        range = against(open, tau, range, nth_rival(i, open.worst));
        if (i == 0 && !range.empty())
            std::copy(open.sums.begin() + range.first, open.sums.begin() + range.last + 1,
                      open.worst_sums.begin() + range.first);
    }
    return range;
}

// Drop the leaves that leave no eta possible against the worst rival if all other trees take their best.
void TailCriterion::drop_dear(OpenBox& open, double tau) const {
    const EtaRange range = open.etas;
    for (std::int32_t t = 0; t < trees_; ++t) {
        if (least_rows(open, t, open.worst, range) < 2) continue;
        const double factor = tilt(open, open.worst, t);
        open.reach.drop(t, [&](std::int32_t leaf) {
            const double* row = alternative().row(leaf, range, open.row);
            const double b = -rival_part(open, open.worst, t, leaf);
            const auto fits = [&](std::int32_t k) { return open.worst_sums[k] - open.part[k] + factor * row[k] - b <= tau; };
            if (fits(open.eta)) return false;
            for (std::int32_t k = range.first; k <= range.last; ++k)
                if (fits(k)) return false;
            return true;
        });
    }
}

// Under the eta of the bound, every tree's leaf with the smallest A - B, and how much smaller it is than at the
// projection.
void TailCriterion::choose_best(OpenBox& open) const {
    const std::int32_t r = open.worst;
    for (std::int32_t t = 0; t < trees_; ++t) {
        double least = INFINITE;
        open.reach.each(t, [&](std::int32_t leaf) {
            const double value = worth(open, r, t, leaf, open.eta);
            if (value < least) {
                least = value;
                open.best[t] = leaf;
            }
        });
        open.gains[t] = worth(open, r, t, open.here[t], open.eta) - least;
    }
}

// Bound the box under the etas of a range and drop the leaves that it rules out; false where all are out.
bool TailCriterion::bound_under(OpenBox& open, double tau, EtaRange range) const {
    range = possible(open, tau, range);
    if (range.empty()) return false;
    open.etas = range;
    open.eta = range.first;
    for (std::int32_t k = range.first; k <= range.last; ++k)
        if (open.joint[k] < open.joint[open.eta]) open.eta = k;
    if (rivals() == 0) return true;
    drop_dear(open, tau);
    choose_best(open);
    open.slack = tau - open.worst_sums[open.eta];
    return true;
}

bool TailCriterion::bound(OpenBox& open, double tau) const {
    return bound_under(open, tau, open.etas.size() > WIDE ? quantiles(open, open.etas) : open.etas);
}

bool TailCriterion::bound_again(OpenBox& open, double tau) const {
    const LeafView best = LeafView(open.best).first(static_cast<std::size_t>(trees_));
    const std::int32_t level = least_of(open.worst, best).eta;
    if (level == open.levels[open.worst]) return true;
    open.levels[open.worst] = level;
    return bound_under(open, tau, open.etas);
}

std::int32_t TailCriterion::cheapest_eta(OpenBox& open, double multiplier, std::span<const double> way) const {
    const EtaRange range = open.etas;
    double *part = open.part.data(), *sums = open.sums.data();
    std::fill(sums + range.first, sums + range.last + 1, 0.0);
    for (std::int32_t t = 0; t < trees_; ++t) {
        const double factor = multiplier * tilt(open, open.worst, t);
        bool fresh = true;
        open.reach.each(t, [&](std::int32_t leaf) {
            const double* row = alternative().row(leaf, range, open.row);
            const double b = way[leaf] + multiplier * rival_part(open, open.worst, t, leaf);
            if (fresh) {
                for (std::int32_t k = range.first; k <= range.last; ++k) part[k] = factor * row[k] + b;
            } else {
                for (std::int32_t k = range.first; k <= range.last; ++k) {
                    const double x = factor * row[k] + b;
                    part[k] = x < part[k] ? x : part[k];
                }
            }
            fresh = false;
        });
        for (std::int32_t k = range.first; k <= range.last; ++k) sums[k] += part[k];
    }
    std::int32_t best = range.first;
    for (std::int32_t k = range.first; k <= range.last; ++k)
        if (sums[k] < sums[best]) best = k;
    return best;
}

}  // namespace whence
