// Expected costs: with a(leaf) the mean cost difference over a leaf's samples, divided by the number of trees, the
// criterion at a context is the sum over trees of a(its leaf) <= tau.
#pragma once

#include <stdexcept>
#include <vector>

#include "base/settings.hpp"
#include "criteria/criterion.hpp"
#include "forest/reach.hpp"

namespace whence {

// What stands in a box for a criterion that is no sum over trees: of each rival and leaf a number, of each rival and
// tree a factor; and the ends of what some numbers can be.
struct MeanScratch : Scratch {
    Leaves others;  // the best ones against a rival that is not the worst
    std::vector<std::vector<double>> rows, tilts;
    std::vector<double> low, high;
};

class MeanCriterion : public Criterion {
public:
    explicit MeanCriterion(std::int32_t leaves) : leaves_(leaves) {}

    // One more plan that the alternative must not cost more than: the mean difference between both in every leaf,
    // divided by the number of trees.
    void add_rival(std::vector<double> means) {
        if (means.size() != static_cast<std::size_t>(leaves_))
            throw std::invalid_argument("'means' must hold one number a leaf.");
        means_.push_back(std::move(means));
    }

    std::int32_t rivals() const override { return static_cast<std::int32_t>(means_.size() + shown_.size()); }
    std::int32_t leaves() const override { return leaves_; }
    std::int32_t etas() const override { return 1; }

    void make_room(OpenBox& open) const override {
        MeanScratch& own = made<MeanScratch>(open);
        own.others.resize(open.best.size());
        own.rows.resize(static_cast<std::size_t>(rivals()));
        own.tilts.resize(static_cast<std::size_t>(rivals()));
    }

    Criterion::Excess excess(LeafView leaves, EtaRange, std::span<std::int32_t>) const override {
        Excess found{-kInfinity, 0};
        for (std::int32_t r = 0; r < rivals(); ++r) {
            double total = 0.0;
            for (const std::int32_t leaf : leaves) total += values(r)[leaf];
            if (total > found.over) found = {total, r};
        }
        return found;
    }

    double worth(const OpenBox& open, std::int32_t rival, std::int32_t, std::int32_t leaf,
                 std::int32_t) const override {
        return row(open, rival)[leaf];
    }
    double rival_part(const OpenBox& open, std::int32_t rival, std::int32_t, std::int32_t leaf) const override {
        return row(open, rival)[leaf];
    }
    std::int32_t eta_at(LeafView, EtaRange etas) const override { return etas.first; }
    void show(std::span<const double* const> rows, bool) override { shown_.assign(rows.begin(), rows.end()); }

    bool bound(OpenBox& open, double tau) const override {
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

    bool bound_again(OpenBox&, double) const override { return true; }
    std::int32_t cheapest_eta(OpenBox& open, double, std::span<const double>) const override { return open.etas.first; }

protected:
    static MeanScratch& room(const OpenBox& open) { return static_cast<MeanScratch&>(*open.scratch); }
    // The row of a rival in the box, to be written for the leaves that it meets and those at its projection.
    template <class Worth>
    void write_row(OpenBox& open, std::int32_t rival, Worth worth) const {
        std::vector<double>& row = room(open).rows[rival];
        row.resize(static_cast<std::size_t>(leaves_));
        for (std::int32_t t = 0; t < open.trees; ++t) {
            open.reach.each(t, [&](std::int32_t leaf) { row[leaf] = worth(t, leaf); });
            row[open.here[t]] = worth(t, open.here[t]);
        }
    }
    // What a leaf's tree can say in the box, by what each leaf does: where none is reached, that at the projection.
    template <class Value>
    static Extent extent(const OpenBox& open, std::int32_t tree, Value value) {
        Extent found;
        open.reach.each(tree, [&](std::int32_t leaf) { found.take(value(leaf)); });
        if (found.empty()) found.take(value(open.here[tree]));
        return found;
    }
    // The ends of what the trees can say against a rival in the box, into its room.
    MeanScratch& find_ends(OpenBox& open, std::int32_t rival) const {
        MeanScratch& own = room(open);
        own.low.resize(static_cast<std::size_t>(open.trees));
        own.high.resize(own.low.size());
        const double* values = this->values(rival);
        for (std::int32_t t = 0; t < open.trees; ++t) {
            const Extent says = extent(open, t, [values](std::int32_t leaf) { return values[leaf]; });
            own.low[t] = says.low;
            own.high[t] = says.high;
        }
        return own;
    }
    // Sum over trees of the largest `size(leaf)`, which is not negative.
    template <class Size>
    static double largest_sum(const OpenBox& open, Size size) {
        double total = 0.0;
        for (std::int32_t t = 0; t < open.trees; ++t) {
            double most = 0.0;
            open.reach.each(t, [&](std::int32_t leaf) { most = std::max(most, size(leaf)); });
            total += most;
        }
        return total;
    }
    // What the trees say against a rival at their leaves; and the excess over the worst one, where `over(rival, says)`
    // is that over each.
    std::vector<double> values_at(LeafView leaves, std::int32_t rival) const {
        std::vector<double> says;
        says.reserve(leaves.size());
        for (const std::int32_t leaf : leaves) says.push_back(values(rival)[leaf]);
        return says;
    }
    template <class Over>
    Excess worst_excess(LeafView leaves, Over over) const {
        Excess found{-kInfinity, 0};
        for (std::int32_t r = 0; r < rivals(); ++r)
            if (const double own = over(r, values_at(leaves, r)); own > found.over) found = {own, r};
        return found;
    }
    // Whether the sum over trees that stands for the criterion is broken at the projection, as it is itself: then it
    // pulls the box away from there.
    bool pulls(const OpenBox& open, double tau) const {
        double there = 0.0;
        for (const std::int32_t leaf : open.counted()) there += row(open, open.worst)[leaf];
        return there > tau;
    }
    // What each leaf adds in the box against a rival.
    virtual const double* row(const OpenBox&, std::int32_t rival) const { return values(rival); }
    const double* values(std::int32_t rival) const {
        const auto r = static_cast<std::size_t>(rival);
        return r < means_.size() ? means_[r].data() : shown_[r - means_.size()];
    }

private:
    std::int32_t leaves_;
    std::vector<std::vector<double>> means_;  // by rival and leaf
    std::vector<const double*> shown_;        // further rivals, by leaf
};

}  // namespace whence
