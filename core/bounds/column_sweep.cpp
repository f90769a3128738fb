#include "bounds/column_sweep.hpp"

#include <algorithm>
#include <limits>

#include "base/wide_registers.hpp"

namespace whence {

namespace {

constexpr float kInfiniteFloat = std::numeric_limits<float>::infinity();

// The smaller one; the second one where they do not compare.
WHENCE_INLINE float smaller(float a, float b) { return a < b ? a : b; }

// The least of eight numbers, which are lost.
WHENCE_INLINE float least_of(float* numbers) {
    for (std::size_t half = kLanes / 2; half > 0; half /= 2)
        for (std::size_t l = 0; l < half; ++l) numbers[l] = smaller(numbers[l], numbers[l + half]);
    return numbers[0];
}

// The least of the numbers first..last.
WHENCE_INLINE float least_in(const float* numbers, std::int32_t first, std::int32_t last) {
    constexpr auto kWidth = static_cast<std::int32_t>(kLanes);
    float least = kInfiniteFloat;
    if (last - first + 1 >= kWidth) {
        float some[kLanes];
        for (std::size_t l = 0; l < kLanes; ++l) some[l] = kInfiniteFloat;
        for (; first + kWidth - 1 <= last; first += kWidth)
            for (std::size_t l = 0; l < kLanes; ++l)
                some[l] = smaller(numbers[static_cast<std::size_t>(first) + l], some[l]);
        least = least_of(some);
    }
    for (; first <= last; ++first) least = smaller(numbers[first], least);
    return least;
}

WHENCE_INLINE void find_least_of(const SlotView& slot, float* __restrict into) {
    for (std::size_t k = 0; k < slot.lanes; k += kLanes) {
        float least[kLanes];
        for (std::size_t l = 0; l < kLanes; ++l) least[l] = kInfiniteFloat;
        for (std::int32_t i = 0; i < slot.stretches; ++i) {
            const float* bars = slot.bars + static_cast<std::size_t>(i) * slot.lanes + k;
            const float potential = slot.potential[i];
            for (std::size_t l = 0; l < kLanes; ++l) least[l] = smaller(potential + bars[l], least[l]);
        }
        for (std::size_t l = 0; l < kLanes; ++l) into[k + l] = least[l];
    }
}

// What each stretch costs a tree at least, apart from its own potential.
WHENCE_INLINE void find_marginals(const SlotView& slot) {
    for (std::int32_t i = 0; i < slot.stretches; ++i) {
        const float* bars = slot.bars + static_cast<std::size_t>(i) * slot.lanes;
        float least[kLanes];
        for (std::size_t l = 0; l < kLanes; ++l) least[l] = kInfiniteFloat;
        for (std::size_t k = 0; k < slot.lanes; k += kLanes)
            for (std::size_t l = 0; l < kLanes; ++l)
                least[l] = smaller(slot.price[k + l] - slot.least[k + l] + bars[k + l], least[l]);
        slot.marginal[i] = least_of(least);
    }
}

// Hand over to the cells of a column what each of them costs a tree at least; the tree then has a price of 0 there.
WHENCE_INLINE void collect(const SlotView& slot, std::int32_t low, std::int32_t high, double* distance,
                           double* collected) {
    find_marginals(slot);
    for (std::int32_t i = 0; i < slot.stretches; ++i) {
        const std::int32_t first = std::max(slot.begin[i], low), last = std::min(slot.end[i], high);
        const float price = slot.marginal[i];
        if (price == kInfiniteFloat || slot.potential[i] == kInfiniteFloat) {
            // No leaf of the tree is left here, or no cell.
            slot.potential[i] = kInfiniteFloat;
            std::fill(distance + first, distance + last + 1, std::numeric_limits<double>::infinity());
            continue;
        }
        slot.potential[i] = -price;
        collected[first] += static_cast<double>(price);
        collected[last + 1] -= static_cast<double>(price);
    }
}

// Give a tree its share of what the cells of a column have collected, as far as that is the same all over a stretch.
WHENCE_INLINE void hand_back(const SlotView& slot, float share, std::int32_t low, std::int32_t high, float* residual) {
    for (std::int32_t i = 0; i < slot.stretches; ++i) {
        const std::int32_t first = std::max(slot.begin[i], low), last = std::min(slot.end[i], high);
        const float least = least_in(residual, first, last);
        if (least == kInfiniteFloat) {
            // No cell is left here: the tree must not take the stretch for one that costs nothing.
            slot.potential[i] = kInfiniteFloat;
            continue;
        }
        const float given = share * least;
        slot.potential[i] += given;
        for (std::int32_t c = first; c <= last; ++c) residual[c] -= given;
    }
    for (std::size_t k = 0; k < slot.lanes; ++k) slot.price[k] -= slot.least[k];
    find_least_of(slot, slot.least);
    for (std::size_t k = 0; k < slot.lanes; ++k) slot.price[k] += slot.least[k];
}

}  // namespace

WHENCE_WIDE
void find_least(const SlotView& slot) { find_least_of(slot, slot.least); }

WHENCE_WIDE
void sweep_column(std::span<const SlotView> slots, std::int32_t low, std::int32_t high, double* distance,
                  double* collected, float* residual) {
    std::fill(collected + low, collected + high + 2, 0.0);
    for (const SlotView& slot : slots) collect(slot, low, high, distance, collected);
    double sum = 0.0;
    for (std::int32_t c = low; c <= high; ++c) {
        sum += collected[c];
        residual[c] = static_cast<float>(distance[c] + sum);
    }
    auto left = static_cast<float>(slots.size());
    for (const SlotView& slot : slots) {
        hand_back(slot, 1.0F / left, low, high, residual);
        left -= 1.0F;
    }
}

}  // namespace whence
