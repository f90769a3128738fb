// A bound on the distance over a box for one plan, by potentials: what each tree is charged for each cell of a column.
//
// A context of the box is nearer than some distance only if the trees agree on it, and the sum of what their leaves are
// worth is at most tau. With a multiplier m >= 0 and potentials p(tree, column, cell), whatever they are,
//
//     sum over trees of  min over leaves of [ m * worth + sum over columns of min over the leaf's cells of p ]
//       + sum over columns of  min over cells of [ distance - sum over trees of p ]  -  m * tau
//
// is at most the distance of every context that counts. Potentials are improved column by column: what a cell costs
// each tree at least (its min-marginal) is collected over all trees and shared out among them evenly. A potential need
// not differ between cells that the tree does not tell apart. It is infinite where none of these is left.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/settings.hpp"
#include "bounds/column_sweep.hpp"
#include "bounds/stretches.hpp"
#include "forest/reach.hpp"

namespace whence {

inline std::size_t padded(std::int32_t leaves) {
    return (static_cast<std::size_t>(leaves) + kLanes - 1) / kLanes * kLanes;
}

class Potentials {
public:
    Potentials(const Stretches& stretches, const Located& located)
        : stretches_(&stretches),
          located_(&located),
          box_(located.columns().size()),
          first_(stretches.slots()),
          last_(stretches.slots()),
          potential_(stretches.count()),
          marginal_(stretches.count()),
          distance_(stretches.grid().cells()),
          residual_(stretches.grid().cells()),
          collected_(stretches.grid().cells() + 1),
          rest_(stretches.grid().cells()),
          best_(stretches.grid().trees()) {
        const Grid& grid = stretches.grid();
        from_.push_back(0);
        std::size_t least = 0;
        for (std::int32_t t = 0; t < grid.trees(); ++t) {
            const std::size_t width = padded(grid.first_leaf(t + 1) - grid.first_leaf(t));
            from_.push_back(from_.back() + width);
            for (std::int32_t s = stretches.first_slot(t); s < stretches.first_slot(t + 1); ++s) {
                const auto& slot = stretches.slot(s);
                least_from_.push_back(least);
                bars_from_.push_back(bars_.size());
                least += width;
                // A leaf whose path does not name the column holds all of its stretches.
                bars_.resize(bars_.size() + static_cast<std::size_t>(slot.last - slot.first + 1) * width, 0.0F);
            }
            for (std::int32_t leaf = grid.first_leaf(t); leaf < grid.first_leaf(t + 1); ++leaf)
                for (const auto& place : stretches.places(leaf)) {
                    const auto& slot = stretches.slot(place.slot);
                    float* bars = bars_.data() + bars_from_[place.slot] + (leaf - grid.first_leaf(t));
                    for (std::int32_t i = slot.first; i <= slot.last; ++i)
                        if (i < place.first || i > place.last)
                            bars[static_cast<std::size_t>(i - slot.first) * width] =
                                std::numeric_limits<float>::infinity();
                }
        }
        least_.resize(least);
        for (auto* one : {&worth_, &left_, &base_}) one->resize(from_.back());
        price_.resize(from_.back());
    }

    // Turn to a box and the leaves that it meets, each with what it is worth; false where no context of the box counts,
    // because the best leaves of all trees are worth more than tau in all.
    bool turn_to(const Box& box, const Reach& reach, const double* worth, double tau) {
        tau_ = tau;
        settled_ = false;
        for (std::int32_t j = 0; j < box.size(); ++j) box_[j] = box[j];
        for (std::int32_t s = 0; s < stretches_->slots(); ++s) {
            const Stretches::Slot& slot = stretches_->slot(s);
            first_[s] = stretches_->stretch_at(slot, box_[slot.column].low);
            last_[s] = stretches_->stretch_at(slot, box_[slot.column].high);
        }
        std::fill(left_.begin(), left_.end(), kInfinity);
        std::fill(worth_.begin(), worth_.end(), 0.0);
        spread_ = 0.0;
        double total = 0.0;
        for (std::int32_t t = 0; t < stretches_->grid().trees(); ++t) {
            Extent own;
            reach.each(t, [&](std::int32_t leaf) {
                const std::size_t at = lane(t, leaf);
                left_[at] = 0.0;
                worth_[at] = worth[leaf];
                own.take(worth[leaf]);
            });
            if (own.low == kInfinity) return false;
            total += own.low;
            spread_ += own.high - own.low;
        }
        return total <= tau;
    }

    // What the best and the worst leaves differ by, summed over trees.
    double spread() const { return spread_; }

    // Whether distances count. Otherwise the bound is one on how much the worth of a context exceeds tau, times the
    // multiplier: above 0 no context of the box counts, however far away it is.
    void count_distance(bool counts) { counts_distance_ = counts; }

    // Begin with these potentials, one a stretch (none for zeros), and this multiplier.
    void begin_with(std::span<const float> potentials, double multiplier) {
        for (std::int32_t j = 0; j < static_cast<std::int32_t>(box_.size()); ++j)
            for (std::int32_t c = box_[j].low; c <= box_[j].high; ++c) {
                const double distance = located_->distance(j, c);
                const bool counts = counts_distance_ || distance == kInfinity;  // such a cell is not allowed
                distance_[stretches_->grid().first_cell(j) + c] = counts ? distance : 0.0;
            }
        return_to(potentials, multiplier);
    }

    // Return to potentials that there were before; what was dropped since then stays so.
    void return_to(std::span<const float> potentials, double multiplier) {
        multiplier_ = multiplier;
        settled_ = false;
        if (potentials.empty())
            std::fill(potential_.begin(), potential_.end(), 0.0F);
        else
            std::copy(potentials.begin(), potentials.end(), potential_.begin());
        for (std::int32_t s = 0; s < stretches_->slots(); ++s) {
            if (!active(s)) continue;
            for (std::int32_t i = first_[s]; i <= last_[s]; ++i)
                if (std::isinf(potential_[i])) rule_out(i, stretches_->slot(s).column);
            find_least(view(s));
        }
    }

    // Go once over all columns, from the first to the last or back.
    void sweep(bool forward) {
        if (!set_prices()) return;
        settled_ = false;
        const auto columns = static_cast<std::int32_t>(box_.size());
        for (std::int32_t i = 0; i < columns; ++i) {
            const std::int32_t j = forward ? i : columns - 1 - i, first = stretches_->grid().first_cell(j);
            views_.clear();
            for (const std::int32_t s : stretches_->slots_of_column(j))
                if (active(s)) views_.push_back(view(s));
            if (!forward) std::reverse(views_.begin(), views_.end());
            sweep_column(views_, box_[j].low, box_[j].high, distance_.data() + first, collected_.data(), rest_.data());
        }
    }

    // Evaluate the bound. Leaves that cost up to `width` more than the best one of their tree count for the slope.
    void evaluate(double width) {
        settle();
        bound_ = bound_under(multiplier_);
        slope_ = -tau_;
        const Grid& grid = stretches_->grid();
        for (std::int32_t t = 0; t < grid.trees(); ++t) {
            double least = kInfinity, weights = 0.0, worth = 0.0;
            for (std::size_t k = from_[t]; k < from_[t + 1]; ++k) {
                const double price = base_[k] + multiplier_ * worth_[k];
                if (price >= least) continue;
                least = price;
                best_[t] = grid.first_leaf(t) + static_cast<std::int32_t>(k - from_[t]);
            }
            // Sharing out leaves many leaves equally good: which of them is best by a hair says little about the slope.
            for (std::size_t k = from_[t]; k < from_[t + 1]; ++k) {
                const double weight = 1.0 - (base_[k] + multiplier_ * worth_[k] - least) / width;
                if (!(weight > 0.0)) continue;
                weights += weight;
                worth += weight * worth_[k];
            }
            slope_ += worth / weights;
        }
    }

    // The same with the multiplier, a power of the factor times the present one, and at most so large, that suits best.
    void search_multiplier(double width, double factor, double most) {
        settle();
        const double begun = multiplier_;
        double best = bound_under(begun);
        for (const double step : {factor, 1.0 / factor}) {
            while (multiplier_ * step <= most) {
                const double next = bound_under(multiplier_ * step);
                if (!(next > best)) break;
                best = next;
                multiplier_ *= step;
            }
            if (multiplier_ != begun) break;  // the bound is concave in the multiplier
        }
        evaluate(width);
    }

    // Move the multiplier up or down by this share, whichever the slope says.
    void adjust(double share) {
        multiplier_ = slope_ > 0.0 ? multiplier_ * (1.0 + share) : multiplier_ / (1.0 + share);
    }

    // Drop the cells and leaves of which no context can be nearer than the bound plus `room`.
    void drop_dear(double room) {
        settle();
        for (std::int32_t j = 0; j < static_cast<std::int32_t>(box_.size()); ++j) {
            const std::int32_t first = stretches_->grid().first_cell(j);
            const double most = residual_[first + cheapest_cell(j)] + room;
            for (std::int32_t c = first + box_[j].low; c <= first + box_[j].high; ++c)
                if (residual_[c] >= most) distance_[c] = residual_[c] = kInfinity;
        }
        for (std::size_t t = 0; t + 1 < from_.size(); ++t) {
            double least = kInfinity;
            for (std::size_t k = from_[t]; k < from_[t + 1]; ++k)
                least = std::min(least, base_[k] + multiplier_ * worth_[k]);
            for (std::size_t k = from_[t]; k < from_[t + 1]; ++k)
                if (!(base_[k] + multiplier_ * worth_[k] < least + room)) left_[k] = base_[k] = kInfinity;
        }
    }

    // The bound as evaluated last, lowered by what rounding may have added.
    double bound() const { return bound_; }
    double multiplier() const { return multiplier_; }
    const std::vector<float>& potentials() const { return potential_; }
    // The best leaf of every tree, and the cheapest cell of a column by what the trees leave of its distance.
    LeafView best() const { return best_; }

    std::int32_t cheapest_cell(std::int32_t j) const {
        const double* const own = residual_.data() + stretches_->grid().first_cell(j);
        return static_cast<std::int32_t>(std::min_element(own + box_[j].low, own + box_[j].high + 1) - own);
    }

    // Narrow the box to cells that were not dropped, and the reach to such leaves; false where nothing is left.
    bool narrow(Box& box, Reach& reach) const {
        for (std::int32_t t = 0; t < stretches_->grid().trees(); ++t)
            reach.drop(t, [&](std::int32_t leaf) { return left_[lane(t, leaf)] == kInfinity; });
        for (std::int32_t j = 0; j < box.size(); ++j) {
            const double* const own = distance_.data() + stretches_->grid().first_cell(j);
            std::int32_t first = box_[j].low, last = box_[j].high;
            while (first <= last && own[first] == kInfinity) ++first;
            while (last >= first && own[last] == kInfinity) --last;
            if (first > last || !box.restrict(j, first, last)) return false;
        }
        return true;
    }

private:
    bool active(std::int32_t slot) const { return first_[slot] < last_[slot]; }
    std::size_t lanes(std::int32_t tree) const { return from_[tree + 1] - from_[tree]; }
    std::size_t lane(std::int32_t tree, std::int32_t leaf) const {
        return from_[tree] + static_cast<std::size_t>(leaf - stretches_->grid().first_leaf(tree));
    }

    // What sweeps know of a slot: the stretches that meet the box.
    SlotView view(std::int32_t slot) {
        const auto first = static_cast<std::size_t>(first_[slot]);
        const Stretches::Slot& own = stretches_->slot(slot);
        const std::size_t width = lanes(own.tree), skipped = first - static_cast<std::size_t>(own.first);
        return {.stretches = last_[slot] - first_[slot] + 1,
                .lanes = width,
                .begin = stretches_->begins() + first,
                .end = stretches_->ends() + first,
                .bars = bars_.data() + bars_from_[slot] + skipped * width,
                .potential = potential_.data() + first,
                .least = least_.data() + least_from_[slot],
                .price = price_.data() + from_[own.tree],
                .marginal = marginal_.data() + first};
    }

    // The prices that a sweep begins with; false where they are too large for half the digits.
    bool set_prices() {
        settle();
        for (std::size_t k = 0; k < price_.size(); ++k) {
            const double price = base_[k] + multiplier_ * worth_[k];
            if (std::abs(price) > kSettings.potentials.largest_price && price < kInfinity) return false;
            price_[k] = static_cast<float>(price);
        }
        return size_ < kSettings.potentials.largest_price;
    }

    // Add up the prices of leaves and what the trees leave of the distance of cells, with all digits.
    void settle() {
        if (settled_) return;
        settled_ = true;
        columns_total_ = size_ = 0.0;
        for (std::int32_t j = 0; j < static_cast<std::int32_t>(box_.size()); ++j) settle_column(j);
        for (std::int32_t t = 0; t < stretches_->grid().trees(); ++t) {
            double* const base = base_.data() + from_[t];
            std::copy(left_.begin() + static_cast<std::ptrdiff_t>(from_[t]),
                      left_.begin() + static_cast<std::ptrdiff_t>(from_[t + 1]), base);
            for (std::int32_t s = stretches_->first_slot(t); s < stretches_->first_slot(t + 1); ++s) {
                if (!active(s)) continue;
                const float* least = least_.data() + least_from_[s];
                for (std::size_t k = 0; k < lanes(t); ++k) base[k] += static_cast<double>(least[k]);
            }
        }
    }

    void settle_column(std::int32_t j) {
        const auto [low, high] = box_[j];
        std::fill(collected_.begin() + low, collected_.begin() + high + 2, 0.0);
        for (const std::int32_t s : stretches_->slots_of_column(j)) {
            if (!active(s)) continue;
            double before = 0.0;
            for (std::int32_t i = first_[s]; i <= last_[s]; ++i) {
                // Where no cell is left it does not matter what is charged.
                const double potential = std::isinf(potential_[i]) ? before : static_cast<double>(potential_[i]);
                collected_[std::max(stretches_->begin(i), low)] += potential - before;
                size_ += std::abs(potential - before);
                before = potential;
            }
        }
        const double* const distance = distance_.data() + stretches_->grid().first_cell(j);
        double* const residual = residual_.data() + stretches_->grid().first_cell(j);
        double sum = 0.0, least = kInfinity;
        for (std::int32_t c = low; c <= high; ++c) {
            sum += collected_[c];
            residual[c] = distance[c] - sum;
            least = std::min(least, residual[c]);
        }
        columns_total_ += least;
        size_ += std::abs(least);
    }

    // No cell of a stretch is left.
    void rule_out(std::int32_t stretch, std::int32_t j) {
        const std::int32_t first = std::max(stretches_->begin(stretch), box_[j].low);
        const std::int32_t last = std::min(stretches_->end(stretch), box_[j].high);
        double* const own = distance_.data() + stretches_->grid().first_cell(j);
        std::fill(own + first, own + last + 1, kInfinity);
    }

    // The bound under another multiplier.
    double bound_under(double multiplier) const {
        double total = columns_total_ - multiplier * tau_, size = size_ + multiplier * std::abs(tau_);
        for (std::size_t t = 0; t + 1 < from_.size(); ++t) {
            // Four of them side by side: a single one waits for every comparison.
            double least[4] = {kInfinity, kInfinity, kInfinity, kInfinity};
            for (std::size_t k = from_[t]; k < from_[t + 1]; k += 4)
                for (std::size_t l = 0; l < 4; ++l) {
                    const double price = base_[k + l] + multiplier * worth_[k + l];
                    least[l] = price < least[l] ? price : least[l];
                }
            const double own = std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
            total += own;
            size += std::abs(own);
        }
        // Where no cell of a column is left, neither is a context.
        return total == kInfinity ? kInfinity : total - kRounding.potentials * (10.0 + size);
    }

    const Stretches* stretches_;
    const Located* located_;
    double tau_ = 0.0, spread_ = 0.0, multiplier_ = 0.0, bound_ = 0.0, slope_ = 0.0;
    bool counts_distance_ = true;

    // Leaves by lane, those of each tree from a place on; what belongs to a slot and its leaves begins at others.
    std::vector<std::size_t> from_, least_from_, bars_from_;
    std::vector<float> bars_, least_, price_;
    std::vector<double> worth_, left_, base_;  // `left_` is 0 where a leaf is left, otherwise infinite; as is the base,
                                               // the price without the worth

    std::vector<Interval> box_;
    std::vector<std::int32_t> first_, last_;  // stretches of a slot that meet the box
    std::vector<float> potential_, marginal_;
    std::vector<SlotView> views_;

    std::vector<double> distance_, residual_, collected_;  // by cell; infinite where it is not left
    std::vector<float> rest_;                              // by cell
    // The part of the bound that columns have, and the size of all that was added up.
    double columns_total_ = 0.0, size_ = 0.0;
    bool settled_ = false;
    Leaves best_;
};

}  // namespace whence
