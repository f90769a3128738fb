// The loops over leaves in their slots that take most of the time where there are many routes, compiled for the wide
// registers of newer processors as well.
#pragma once

#include "routes/leaf_slots.hpp"

namespace whence {

// An arc in a box: what it costs by leaf, its toll by tree of the slots, and the way on from its head by leaf.
template <class Number>
struct ArcView {
    const Number *cost, *toll, *rest;
};

// A way that has cost `before` in every leaf, and goes on by an arc.
void extend(const LeafSlots& slots, const float* cost, const float* toll, const float* before, float* after);
void extend(const LeafSlots& slots, const double* cost, const double* toll, const double* before, double* after);

// The cheaper way on by either of two arcs, in every leaf.
void cheaper_of(const LeafSlots& slots, ArcView<float> one, ArcView<float> other, float* into);
void cheaper_of(const LeafSlots& slots, ArcView<double> one, ArcView<double> other, double* into);

// Of each tree, the least sum of what two ways cost in its leaves; the total of them. There is room for a number a
// tree.
double least_sum(const LeafSlots& slots, const float* one, const float* other, float* least);
double least_sum(const LeafSlots& slots, const double* one, const double* other, double* least);

}  // namespace whence
