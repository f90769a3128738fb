#include "potentials.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace whence {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
// By how much of the numbers that it is made of a bound may be wrong: a cell's residual is the result of some thousand
// sums at most.
constexpr double ROUNDING = 1e-11;

}  // namespace

Potentials::Potentials(const Stretches& stretches, const Located& located)
    : stretches_(&stretches),
      located_(&located),
      box_(located.columns().size()),
      position_(stretches.slots()),
      first_(stretches.slots()),
      last_(stretches.slots()),
      potential_(stretches.count()),
      residual_(stretches.grid().cells()),
      best_(stretches.grid().trees()) {}

// Call `use(residual)` for the cells of a stretch of column j that lie in the box.
template <class Use>
void Potentials::each_cell(std::int32_t stretch, std::int32_t j, Use use) {
    const std::int32_t first = std::max(stretches_->begin(stretch), box_[j].low);
    const std::int32_t last = std::min(stretches_->end(stretch), box_[j].high);
    double* const own = residual_.data() + stretches_->grid().first_cell(j);
    for (std::int32_t c = first; c <= last; ++c) use(own[c]);
}

void Potentials::rule_out(std::int32_t stretch, std::int32_t j) {
    each_cell(stretch, j, [](double& residual) { residual = INFINITE; });
}

bool Potentials::turn_to(const Box& box, const Reach& reach, const double* worth, double tau) {
    tau_ = tau;
    for (std::int32_t j = 0; j < box.size(); ++j) box_[j] = box[j];
    for (std::int32_t s = 0; s < stretches_->slots(); ++s) {
        const Stretches::Slot& slot = stretches_->slot(s);
        first_[s] = stretches_->stretch_at(slot, box_[slot.column].low);
        last_[s] = stretches_->stretch_at(slot, box_[slot.column].high);
    }
    listed_.clear();
    spans_.clear();
    from_.assign(1, 0);
    spread_ = 0.0;
    double total = 0.0;
    for (std::int32_t t = 0; t < stretches_->grid().trees(); ++t) {
        list(t, reach, worth);
        if (listed_.size() == from_.back()) return false;
        const auto order = [](const Listed& a, const Listed& b) { return a.worth < b.worth; };
        const auto [least, most] = std::minmax_element(listed_.begin() + static_cast<std::ptrdiff_t>(from_.back()),
                                                       listed_.end(), order);
        total += least->worth;
        spread_ += most->worth - least->worth;
        from_.push_back(listed_.size());
    }
    return total <= tau;
}

// The leaves of a tree that the box meets, with the stretches that each leaves of every slot that matters.
void Potentials::list(std::int32_t tree, const Reach& reach, const double* worth) {
    const std::int32_t begin = stretches_->first_slot(tree), end = stretches_->first_slot(tree + 1);
    std::int32_t count = 0;
    for (std::int32_t s = begin; s < end; ++s) position_[s] = first_[s] < last_[s] ? count++ : -1;
    reach.each(tree, [&](std::int32_t leaf) {
        listed_.push_back({leaf, worth[leaf], 0.0, spans_.size()});
        for (std::int32_t s = begin; s < end; ++s)
            if (position_[s] >= 0) spans_.push_back({first_[s], last_[s], 0.0});
        for (const auto& place : stretches_->places(leaf))
            if (position_[place.slot] >= 0) {
                Span& span = spans_[listed_.back().spans + static_cast<std::size_t>(position_[place.slot])];
                span.first = std::max(span.first, place.first);
                span.last = std::min(span.last, place.last);
            }
    });
}

double Potentials::least_potential(const Span& span) const {
    return *std::min_element(potential_.begin() + span.first, potential_.begin() + span.last + 1);
}

void Potentials::begin_with(std::span<const float> potentials, double multiplier) {
    multiplier_ = multiplier;
    largest_ = 0.0;
    residuals_known_ = false;
    if (potentials.empty())
        std::fill(potential_.begin(), potential_.end(), 0.0);
    else
        std::copy(potentials.begin(), potentials.end(), potential_.begin());
    for (std::int32_t j = 0; j < static_cast<std::int32_t>(box_.size()); ++j) {
        for (std::int32_t c = box_[j].low; c <= box_[j].high; ++c) {
            const double distance = located_->distance(j, c);
            const bool counts = counts_distance_ || distance == INFINITE;  // such a cell is not allowed
            residual_[stretches_->grid().first_cell(j) + c] = counts ? distance : 0.0;
        }
        for (const std::int32_t s : stretches_->slots_of_column(j)) {
            if (position_[s] < 0) continue;
            for (std::int32_t i = first_[s]; i <= last_[s]; ++i) {
                const double potential = potential_[i];
                if (potential == INFINITE) {
                    rule_out(i, j);
                    continue;
                }
                largest_ = std::max(largest_, std::abs(potential));
                each_cell(i, j, [&](double& residual) { residual -= potential; });
            }
        }
    }
    for (std::size_t k = 0; k < listed_.size(); ++k) {
        const std::size_t end = k + 1 < listed_.size() ? listed_[k + 1].spans : spans_.size();
        listed_[k].price = multiplier_ * listed_[k].worth;
        for (std::size_t i = listed_[k].spans; i < end; ++i)
            listed_[k].price += spans_[i].least = least_potential(spans_[i]);
    }
}

void Potentials::sweep(bool forward) {
    const auto columns = static_cast<std::int32_t>(box_.size());
    residuals_known_ = false;
    for (std::int32_t i = 0; i < columns; ++i) improve(forward ? i : columns - 1 - i, forward);
}

// Collect what the cells of a column cost all trees that tell them apart, and share it out among these.
void Potentials::improve(std::int32_t j, bool forward) {
    active_.clear();
    for (const std::int32_t s : stretches_->slots_of_column(j))
        if (position_[s] >= 0) active_.push_back(s);
    if (!forward) std::reverse(active_.begin(), active_.end());
    for (const std::int32_t s : active_) collect(s);
    auto left = static_cast<double>(active_.size());
    for (const std::int32_t s : active_) hand_back(s, 1.0 / left--);
}

// Hand over to the cells of a column what each of them costs a tree at least; the tree then has a price of 0 there.
void Potentials::collect(std::int32_t s) {
    const Stretches::Slot& slot = stretches_->slot(s);
    const std::int32_t first = first_[s];
    marginal_.assign(static_cast<std::size_t>(last_[s] - first + 1), INFINITE);
    for (std::size_t k = from_[slot.tree]; k < from_[slot.tree + 1]; ++k) {
        const Span& span = spans_[listed_[k].spans + static_cast<std::size_t>(position_[s])];
        if (span.least == INFINITE) continue;
        const double price = listed_[k].price - span.least;
        for (std::int32_t i = span.first; i <= span.last; ++i)
            marginal_[i - first] = std::min(marginal_[i - first], price);
    }
    for (std::int32_t i = first; i <= last_[s]; ++i) {
        const double price = marginal_[i - first];
        if (price == INFINITE) potential_[i] = INFINITE;  // no leaf of the tree is left here
        if (potential_[i] == INFINITE) {
            rule_out(i, slot.column);
            continue;
        }
        const double moved = price + potential_[i];
        potential_[i] = -price;
        largest_ = std::max(largest_, std::abs(price));
        each_cell(i, slot.column, [&](double& residual) { residual += moved; });
    }
}

// Give a tree its share of what the cells of a column have collected, as far as that is the same all over a stretch.
void Potentials::hand_back(std::int32_t s, double share) {
    const Stretches::Slot& slot = stretches_->slot(s);
    for (std::int32_t i = first_[s]; i <= last_[s]; ++i) {
        double least = INFINITE;
        each_cell(i, slot.column, [&](double& residual) { least = std::min(least, residual); });
        if (least == INFINITE) {
            // No cell is left here: the tree must not take the stretch for one that costs nothing.
            potential_[i] = INFINITE;
            continue;
        }
        const double given = share * least;
        potential_[i] += given;
        largest_ = std::max(largest_, std::abs(potential_[i]));
        each_cell(i, slot.column, [&](double& residual) { residual -= given; });
    }
    for (std::size_t k = from_[slot.tree]; k < from_[slot.tree + 1]; ++k) {
        Span& span = spans_[listed_[k].spans + static_cast<std::size_t>(position_[s])];
        if (span.least == INFINITE) continue;
        const double least = least_potential(span);
        listed_[k].price += least - span.least;
        span.least = least;
    }
}

std::int32_t Potentials::cheapest_cell(std::int32_t j) const {
    const double* const own = residual_.data() + stretches_->grid().first_cell(j);
    return static_cast<std::int32_t>(std::min_element(own + box_[j].low, own + box_[j].high + 1) - own);
}

// The part of the bound that does not depend on the multiplier.
void Potentials::sum_residuals() {
    residual_total_ = residual_size_ = 0.0;
    for (std::int32_t j = 0; j < static_cast<std::int32_t>(box_.size()); ++j) {
        const double least = residual(j, cheapest_cell(j));
        residual_total_ += least;
        residual_size_ += std::abs(least);
    }
    residuals_known_ = true;
}

void Potentials::evaluate(double width) {
    if (!residuals_known_) sum_residuals();
    double total = residual_total_ - multiplier_ * tau_, size = residual_size_ + multiplier_ * std::abs(tau_);
    slope_ = -tau_;
    for (std::size_t t = 0; t + 1 < from_.size(); ++t) {
        double least = INFINITE, weights = 0.0, worth = 0.0;
        for (std::size_t k = from_[t]; k < from_[t + 1]; ++k)
            if (listed_[k].price < least) {
                least = listed_[k].price;
                best_[t] = listed_[k].leaf;
            }
        // Sharing out leaves many leaves equally good: which of them is best by a hair says little about the slope.
        for (std::size_t k = from_[t]; k < from_[t + 1]; ++k) {
            const double weight = 1.0 - (listed_[k].price - least) / width;
            if (weight <= 0.0) continue;
            weights += weight;
            worth += weight * listed_[k].worth;
        }
        total += least;
        size += std::abs(least);
        slope_ += worth / weights;
    }
    // Where no cell of a column is left, neither is a context.
    const double numbers = 10.0 + size + static_cast<double>(box_.size()) * largest_;
    bound_ = total == INFINITE ? INFINITE : total - ROUNDING * numbers;
}

void Potentials::set_multiplier(double multiplier) {
    for (Listed& one : listed_) one.price += (multiplier - multiplier_) * one.worth;
    multiplier_ = multiplier;
}

void Potentials::adjust(double share) {
    set_multiplier(slope_ > 0.0 ? multiplier_ * (1.0 + share) : multiplier_ / (1.0 + share));
}

void Potentials::search_multiplier(double width, double factor, double most) {
    evaluate(width);
    for (const double step : {factor, 1.0 / factor}) {
        const double begun = multiplier_;
        while (multiplier_ * step <= most) {
            const double before = multiplier_, best = bound_;
            set_multiplier(before * step);
            evaluate(width);
            if (bound_ > best) continue;
            set_multiplier(before);
            evaluate(width);
            break;
        }
        if (multiplier_ != begun) return;  // the bound is concave in the multiplier
    }
}

void Potentials::drop_dear(double room) {
    for (std::int32_t j = 0; j < static_cast<std::int32_t>(box_.size()); ++j) {
        double* const own = residual_.data() + stretches_->grid().first_cell(j);
        const double most = own[cheapest_cell(j)] + room;
        for (std::int32_t c = box_[j].low; c <= box_[j].high; ++c)
            if (own[c] >= most) own[c] = INFINITE;
    }
    std::size_t kept = 0, begin = 0;
    for (std::size_t t = 0; t + 1 < from_.size(); ++t) {
        const std::size_t end = from_[t + 1];
        double least = INFINITE;
        for (std::size_t k = begin; k < end; ++k) least = std::min(least, listed_[k].price);
        from_[t] = kept;
        for (std::size_t k = begin; k < end; ++k)
            if (listed_[k].price < least + room) listed_[kept++] = listed_[k];
        begin = end;
    }
    from_.back() = kept;
    listed_.resize(kept);
}

bool Potentials::narrow(Box& box, Reach& reach) const {
    for (std::size_t t = 0; t + 1 < from_.size(); ++t) {
        std::size_t k = from_[t];  // leaves are listed in the order in which the reach goes over them
        reach.drop(static_cast<std::int32_t>(t), [&](std::int32_t leaf) {
            if (k < from_[t + 1] && listed_[k].leaf == leaf) {
                ++k;
                return false;
            }
            return true;
        });
    }
    for (std::int32_t j = 0; j < box.size(); ++j) {
        std::int32_t first = box_[j].low, last = box_[j].high;
        while (first <= last && residual(j, first) == INFINITE) ++first;
        while (last >= first && residual(j, last) == INFINITE) --last;
        if (first > last || !box.restrict(j, first, last)) return false;
    }
    return true;
}

}  // namespace whence
