// The leaves that a box meets, laid out for numbers that are compared within each tree and added up over all of them.
//
// The first slot has a leaf of every tree, the second one another leaf of every tree that has two, and so on; trees
// with more leaves come first. So the trees lie side by side, and what is done for one is done for several at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace whence {

// Those of tree t from first[t] on, and what the rival costs in each of them.
struct ReachedLeaves {
    std::span<const std::int32_t> leaves;
    std::span<const std::int32_t> first;
    std::span<const double> rival;

    std::size_t trees() const { return first.size() - 1; }
    std::size_t of(std::size_t tree) const { return static_cast<std::size_t>(first[tree + 1] - first[tree]); }
};

struct LeafSlots {
    explicit LeafSlots(const ReachedLeaves& reached) {
        tree.resize(reached.trees());
        std::iota(tree.begin(), tree.end(), std::size_t{0});
        std::stable_sort(tree.begin(), tree.end(),
                         [&](std::size_t a, std::size_t b) { return reached.of(a) > reached.of(b); });
        from.push_back(0);
        for (std::size_t s = 0; tree.size() > 0 && s < reached.of(tree[0]); ++s) {
            for (std::size_t k = 0; k < tree.size() && reached.of(tree[k]) > s; ++k) {
                const std::size_t i = static_cast<std::size_t>(reached.first[tree[k]]) + s;
                leaf.push_back(reached.leaves[i]);
                rival.push_back(reached.rival[i]);
            }
            from.push_back(leaf.size());
        }
    }

    std::size_t count() const { return leaf.size(); }
    std::size_t trees() const { return tree.size(); }
    std::size_t slots() const { return from.size() - 1; }
    std::size_t width(std::size_t slot) const { return from[slot + 1] - from[slot]; }
    // Whether every tree has a leaf: a context has.
    bool whole() const { return slots() > 0 && width(0) == trees(); }

    std::vector<std::size_t> tree;   // in the order of their leaves
    std::vector<std::size_t> from;   // where each slot begins, and the end
    std::vector<std::int32_t> leaf;  // by slot and tree
    std::vector<double> rival;
};

// The loops over them that take most of the time where there are many routes, compiled for the wide registers of newer
// processors as well.

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
