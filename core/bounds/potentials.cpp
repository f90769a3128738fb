#include "bounds/potentials.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/numbers.hpp"
#include "base/settings.hpp"
#include "forest/least_per_tree.hpp"

namespace whence {

namespace {

std::size_t padded(std::int32_t leaves) { return (static_cast<std::size_t>(leaves) + kLanes - 1) / kLanes * kLanes; }

}  // namespace

Potentials::Potentials(const Stretches& stretches, const Located& located)
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
                        bars[static_cast<std::size_t>(i - slot.first) * width] = std::numeric_limits<float>::infinity();
            }
    }
    least_.resize(least);
    for (auto* one : {&worth_, &left_, &base_}) one->resize(from_.back());
    price_.resize(from_.back());
}

bool Potentials::turn_to(const Box& box, const Reach& reach, const double* worth, double tau) {
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

// What sweeps know of a slot: the stretches that meet the box.
SlotView Potentials::view(std::int32_t slot) {
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

// No cell of a stretch is left.
void Potentials::rule_out(std::int32_t stretch, std::int32_t j) {
    const std::int32_t first = std::max(stretches_->begin(stretch), box_[j].low);
    const std::int32_t last = std::min(stretches_->end(stretch), box_[j].high);
    double* const own = distance_.data() + stretches_->grid().first_cell(j);
    std::fill(own + first, own + last + 1, kInfinity);
}

void Potentials::begin_with(std::span<const float> potentials, double multiplier) {
    for (std::int32_t j = 0; j < static_cast<std::int32_t>(box_.size()); ++j)
        for (std::int32_t c = box_[j].low; c <= box_[j].high; ++c) {
            const double distance = located_->distance(j, c);
            const bool counts = counts_distance_ || distance == kInfinity;  // such a cell is not allowed
            distance_[stretches_->grid().first_cell(j) + c] = counts ? distance : 0.0;
        }
    return_to(potentials, multiplier);
}

void Potentials::return_to(std::span<const float> potentials, double multiplier) {
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

// Add up the prices of leaves and what the trees leave of the distance of cells, with all digits.
void Potentials::settle() {
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

void Potentials::settle_column(std::int32_t j) {
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

// The prices that a sweep begins with; false where they are too large for half the digits.
bool Potentials::set_prices() {
    settle();
    for (std::size_t k = 0; k < price_.size(); ++k) {
        const double price = base_[k] + multiplier_ * worth_[k];
        if (std::abs(price) > kSettings.potentials.largest_price && price < kInfinity) return false;
        price_[k] = static_cast<float>(price);
    }
    return size_ < kSettings.potentials.largest_price;
}

void Potentials::sweep(bool forward) {
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

std::int32_t Potentials::cheapest_cell(std::int32_t j) const {
    const double* const own = residual_.data() + stretches_->grid().first_cell(j);
    return static_cast<std::int32_t>(std::min_element(own + box_[j].low, own + box_[j].high + 1) - own);
}

// The bound under another multiplier.
double Potentials::bound_under(double multiplier) const {
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

void Potentials::evaluate(double width) {
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

void Potentials::adjust(double share) {
    multiplier_ = slope_ > 0.0 ? multiplier_ * (1.0 + share) : multiplier_ / (1.0 + share);
}

void Potentials::search_multiplier(double width, double factor, double most) {
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

void Potentials::drop_dear(double room) {
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

bool Potentials::narrow(Box& box, Reach& reach) const {
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

}  // namespace whence
