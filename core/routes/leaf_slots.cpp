#include "routes/leaf_slots.hpp"

#include "base/wide_registers.hpp"

namespace whence {

namespace {

template <class Number>
WHENCE_INLINE void extend_all(const LeafSlots& slots, const Number* cost, const Number* toll, const Number* before,
                              Number* __restrict after) {
    for (std::size_t s = 0; s < slots.slots(); ++s) {
        const std::size_t from = slots.from[s], width = slots.width(s);
        for (std::size_t k = 0; k < width; ++k) after[from + k] = cost[from + k] + toll[k] + before[from + k];
    }
}

template <class Number>
WHENCE_INLINE void cheaper_of_both(const LeafSlots& slots, ArcView<Number> one, ArcView<Number> other,
                                   Number* __restrict into) {
    for (std::size_t s = 0; s < slots.slots(); ++s) {
        const std::size_t from = slots.from[s], width = slots.width(s);
        for (std::size_t k = 0; k < width; ++k) {
            const Number a = one.cost[from + k] + one.toll[k] + one.rest[from + k];
            const Number b = other.cost[from + k] + other.toll[k] + other.rest[from + k];
            into[from + k] = a < b ? a : b;
        }
    }
}

template <class Number>
WHENCE_INLINE double sum_of_least(const LeafSlots& slots, const Number* one, const Number* other,
                                  Number* __restrict least) {
    for (std::size_t k = 0; k < slots.width(0); ++k) least[k] = one[k] + other[k];
    for (std::size_t s = 1; s < slots.slots(); ++s) {
        const std::size_t from = slots.from[s], width = slots.width(s);
        for (std::size_t k = 0; k < width; ++k) {
            const Number own = one[from + k] + other[from + k];
            least[k] = own < least[k] ? own : least[k];
        }
    }
    // Four sums side by side: a single one waits for every addition.
    double sums[4] = {0.0, 0.0, 0.0, 0.0};
    std::size_t k = 0;
    for (; k + 4 <= slots.trees(); k += 4)
        for (std::size_t i = 0; i < 4; ++i) sums[i] += static_cast<double>(least[k + i]);
    for (; k < slots.trees(); ++k) sums[0] += static_cast<double>(least[k]);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

WHENCE_WIDE
void extend(const LeafSlots& slots, const float* cost, const float* toll, const float* before, float* after) {
    extend_all(slots, cost, toll, before, after);
}

WHENCE_WIDE
void extend(const LeafSlots& slots, const double* cost, const double* toll, const double* before, double* after) {
    extend_all(slots, cost, toll, before, after);
}

WHENCE_WIDE
void cheaper_of(const LeafSlots& slots, ArcView<float> one, ArcView<float> other, float* into) {
    cheaper_of_both(slots, one, other, into);
}

WHENCE_WIDE
void cheaper_of(const LeafSlots& slots, ArcView<double> one, ArcView<double> other, double* into) {
    cheaper_of_both(slots, one, other, into);
}

WHENCE_WIDE
double least_sum(const LeafSlots& slots, const float* one, const float* other, float* least) {
    return sum_of_least(slots, one, other, least);
}

WHENCE_WIDE
double least_sum(const LeafSlots& slots, const double* one, const double* other, double* least) {
    return sum_of_least(slots, one, other, least);
}

}  // namespace whence
