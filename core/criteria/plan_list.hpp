// A set of plans, one by one: some plan of the set must not cost more than the best of its rivals, plus tau.
//
// With V(leaf, plan) what a leaf adds to the excess of a plan, the smallest sum over trees of min V(leaf, plan) among
// the leaves that a box meets bounds the excess of every plan by itself. A box carries the plans that its bound leaves
// possible, and hands them down to its halves. Under CVaR a plan is a pair of a plan and a threshold eta, and so is a
// rival: for a pair the CVaR is a sum over trees, too.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "criteria/criterion.hpp"
#include "criteria/plan_rows.hpp"
#include "criteria/tail_criterion.hpp"
#include "forest/least_per_tree.hpp"
#include "routes/box_routes.hpp"
#include "routes/route_table.hpp"

namespace whence {

struct PlanScratch : Scratch {
    std::int32_t plan = -1;   // the plan that suits the box best, where plans are listed;
    std::vector<double> row;  // otherwise, of each leaf, what its cheapest route costs more than the rival
};

class PlanList final : public Criterion {
public:
    explicit PlanList(std::int32_t leaves) : leaves_(leaves), plans_(count()), rivals_(count()), ways_(count()) {}

    // What each leaf adds to the cost of a plan of the set, or of a rival: one number a leaf.
    void add_plan(std::span<const double> row);
    void add_rival(std::span<const double> row);

    // All pairs of a plan with its thresholds, but for those under which its CVaR is attained nowhere, or cannot stay
    // below the rivals, plus tau, whichever of the `alive` leaves each tree has; the same of a rival, as far as that
    // goes. The rivals come first. The criterion is then about contexts with such leaves alone.
    void add_tail_plan(const TailTable& table, const Grid& grid, std::span<const std::int32_t> alive, double tau);
    void add_tail_rival(const TailTable& table, const Grid& grid, std::span<const std::int32_t> alive);

    // The set is all routes of a network, and so are the rivals where `all` is given: boxes list those that they leave
    // possible, as soon as these are few.
    void set_routes(std::shared_ptr<const RouteTable> routes, std::shared_ptr<const RouteTable> all);

    // A list of the routes that are best in some contexts, given by the leaves of all trees, one after the other: where
    // one of them is good enough, the set is.
    std::unique_ptr<PlanList> best_at(std::span<const std::int32_t> leaves, std::size_t trees) const;

    // Edges of the networks, where the set is all routes of one.
    std::int32_t edges() const {
        return (routes_ == nullptr ? 0 : routes_->edges()) + (all_routes_ == nullptr ? 0 : all_routes_->edges());
    }
    // Whether there are so many routes that the first box will not list them.
    bool many() const { return many_; }
    // Leave room for about so many bytes of rows, of plans that are met on the way among others. A question whose own
    // plans take more is asked all the same, but boxes list no further ones.
    void limit_memory(std::size_t bytes);
    std::size_t bytes() const override;
    std::int64_t plans() const { return plans_.count(); }
    std::int64_t rival_rows() const { return rivals_.count(); }

    std::int32_t rivals() const override { return 1; }
    std::int32_t leaves() const override { return leaves_; }
    // Two of a kind: leaves that one plan cannot afford may be needed by another, as with thresholds.
    std::int32_t etas() const override { return 2; }
    void make_room(OpenBox& open) const override { made<PlanScratch>(open).row.resize(count()); }
    Excess excess(LeafView leaves, EtaRange etas, std::span<std::int32_t> levels) const override;
    Excess excess_in(const OpenBox& open, std::span<std::int32_t> levels) const override;
    double worth(const OpenBox& open, std::int32_t, std::int32_t, std::int32_t leaf, std::int32_t) const override {
        return value(open, leaf);
    }
    double rival_part(const OpenBox& open, std::int32_t, std::int32_t, std::int32_t leaf) const override {
        return value(open, leaf);
    }
    std::int32_t eta_at(LeafView, EtaRange etas) const override { return etas.first; }
    void show(std::span<const double* const>, bool) override {}
    // For routes that are not listed yet, a sum over trees that stays below the excess of all of them.
    void lean(OpenBox& open) const override;
    bool bound(OpenBox& open, double tau) const override;
    bool bound_again(OpenBox&, double) const override { return true; }
    // The plan with the smallest sum is the one that `worth` is about from then on.
    std::int32_t cheapest_eta(OpenBox& open, double multiplier, std::span<const double> way) const override;

private:
    struct Bounds;

    static PlanScratch& room(const OpenBox& open) { return static_cast<PlanScratch&>(*open.scratch); }
    void leave(OpenBox& open, PossiblePlans plans) const;
    double value(const OpenBox& open, std::int32_t leaf) const {
        const PlanScratch& own = room(open);
        return own.plan < 0 ? own.row[leaf] : plan(own.plan)[leaf] - rival(open.levels[0])[leaf];
    }
    std::size_t count() const { return static_cast<std::size_t>(leaves_); }
    bool bound_routes(OpenBox& open, double tau) const;
    bool bound_apart(OpenBox& open, double tau, std::int32_t row) const;
    template <class Number>
    bool list_routes(OpenBox& open, const LeafSlots& slots, const BoxRoutes<Number>& routes, Tolls& tolls,
                     double tau) const;
    Tolls tolls_of(const OpenBox& open) const;
    std::int32_t hold(Tolls tolls, const PlansLeft& before) const;
    std::int32_t row_of_ways(const LeafSlots& slots, const std::vector<double>& cheapest) const;
    std::vector<std::int32_t> numbers(std::map<Route, std::int32_t>& known, PlanRows& rows, const RouteTable& routes,
                                      std::span<const Route> asked) const;
    std::int32_t rival_of(const Route& route) const;
    const double* plan(std::int32_t z) const { return plans_[z]; }
    const double* rival(std::int32_t r) const { return rivals_[r]; }
    EtaRange attained(const TailTable& table, const Grid& grid, std::span<const std::int32_t> alive) const;
    Excess least(LeafView leaves, const PossiblePlans* among, std::span<std::int32_t> levels) const;
    template <class Use>
    void each_plan(const OpenBox& open, Use use) const;
    Bounds bounds(const OpenBox& open, double tau) const;
    void drop_dear(OpenBox& open, const Bounds& found, double tau) const;

    std::int32_t leaves_;
    mutable PlanRows plans_, rivals_;
    std::shared_ptr<const RouteTable> routes_, all_routes_;
    bool many_ = false;
    mutable std::mutex mutex_;                                    // of what is known
    mutable std::vector<std::unique_ptr<const Tolls>> held_;      // of boxes with many routes,
    mutable std::size_t tolls_held_ = 0;                          // so many numbers
    mutable PlanRows ways_;                                       // the cheapest ways of leaves under tolls
    mutable std::map<Route, std::int32_t> known_, known_rivals_;  // routes that have a row
};

}  // namespace whence
