// A set of plans, one by one: some plan of the set must not cost more than the best of its rivals, plus tau.
//
// With V(leaf, plan) what a leaf adds to the excess of a plan, the smallest sum over trees of min V(leaf, plan) among
// the leaves that a box meets bounds the excess of every plan by itself. A box carries the plans that its bound leaves
// possible, and hands them down to its halves. Under CVaR a plan is a pair of a plan and a threshold eta, and so is a
// rival: for a pair the CVaR is a sum over trees, too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <stdexcept>
#include <vector>

#include "base/settings.hpp"
#include "criteria/criterion.hpp"
#include "criteria/plan_rows.hpp"
#include "criteria/tail_criterion.hpp"
#include "forest/reach.hpp"
#include "routes/box_routes.hpp"
#include "routes/route_table.hpp"

namespace whence {

inline double sum_at(const double* row, LeafView leaves) {
    double total = 0.0;
    for (const std::int32_t leaf : leaves) total += row[leaf];
    return total;
}

// The leaves that a box meets, tree by tree.
inline ListedLeaves listed_leaves(const OpenBox& open) {
    ListedLeaves listed;
    open.reach.list(open.trees, listed);
    return listed;
}

// Call `use(tree, leaves)` with the alive leaves of every tree.
template <class Use>
void each_tree(const Grid& grid, std::int32_t trees, std::span<const std::int32_t> alive, Use use) {
    std::size_t first = 0;
    for (std::int32_t t = 0; t < trees; ++t) {
        std::size_t last = first;
        while (last < alive.size() && alive[last] < grid.first_leaf(t + 1)) ++last;
        use(t, alive.subspan(first, last - first));
        first = last;
    }
}

inline BoxRoutes<double> with_all_digits(const Tolls& tolls, const LeafSlots& slots) {
    PricedArcs<double> prices = tolls.prices<double>(slots);
    prices.find_ways();
    return {std::move(prices), tolls.rounding()};
}

// Whether a box, or one that holds it, has listed its routes.
inline bool has_listed(const OpenBox& open) { return open.plans && !open.plans->routes; }

struct PlanScratch : Scratch {
    std::int32_t plan = -1;   // the plan that suits the box best, where plans are listed;
    std::vector<double> row;  // otherwise, of each leaf, what its cheapest route costs more than the rival
};

class PlanList final : public SetCriterion {
public:
    explicit PlanList(std::int32_t leaves) : leaves_(leaves), plans_(count()), rivals_(count()), ways_(count()) {}

    // What each leaf adds to the cost of a plan of the set, or of a rival: one number a leaf.
    void add_plan(std::span<const double> row) {
        if (row.size() != count()) throw std::invalid_argument("A plan must have one number a leaf.");
        plans_.add(row);
    }

    void add_rival(std::span<const double> row) {
        if (row.size() != count()) throw std::invalid_argument("A rival must have one number a leaf.");
        rivals_.add(row);
    }

    // All pairs of a plan with its thresholds, but for those under which its CVaR is attained nowhere, or cannot stay
    // below the rivals, plus tau, whichever of the `alive` leaves each tree has; the same of a rival, as far as that
    // goes. The rivals come first. The criterion is then about contexts with such leaves alone.
    void add_tail_plan(const TailTable& table, const Grid& grid, std::span<const std::int32_t> alive, double tau) {
        if (rivals_.count() == 0) throw std::invalid_argument("The rivals must come first.");
        const EtaRange range = attained(table, grid, alive);
        const auto size = static_cast<std::size_t>(range.size());
        // By alive leaf and threshold.
        std::vector<double> values(alive.size() * size), buffer(static_cast<std::size_t>(table.etas()));
        for (std::size_t i = 0; i < alive.size(); ++i) {
            const double* own = table.row(alive[i], range, buffer) + range.first;
            std::copy(own, own + size, values.begin() + static_cast<std::ptrdiff_t>(i * size));
        }
        // The excess over any rival bounds that over the cheapest one from below. A few of them will do here.
        const std::int64_t every = std::max<std::int64_t>(1, rival_rows() / kSettings.plans.few_rivals);
        // The thresholds that no rival has ruled out yet lie between `first` and `last`, mostly all that are in
        // between.
        std::vector<char> out(size, 0);
        std::size_t first = 0, last = size;
        std::vector<double> total(size), least(size);
        for (std::int64_t r = 0; r < rival_rows() && first < last; r += every) {
            const double* rival = this->rival(static_cast<std::int32_t>(r));
            std::fill(total.begin(), total.end(), 0.0);
            const double* own = values.data();
            each_tree(grid, grid.trees_with(leaves_), alive, [&](std::int32_t, std::span<const std::int32_t> leaves) {
                std::fill(least.begin(), least.end(), kInfinity);
                for (const std::int32_t leaf : leaves) {
                    for (std::size_t k = first; k < last; ++k) least[k] = std::min(least[k], own[k] - rival[leaf]);
                    own += size;
                }
                for (std::size_t k = first; k < last; ++k) total[k] += least[k];
            });
            for (std::size_t k = first; k < last; ++k) out[k] |= total[k] > tau;
            while (first < last && out[first]) ++first;
            while (first < last && out[last - 1]) --last;
        }
        for (std::size_t k = first; k < last; ++k) {
            if (out[k]) continue;
            std::vector<double> row(count(), kInfinity);
            for (std::size_t i = 0; i < alive.size(); ++i) row[alive[i]] = values[i * size + k];
            plans_.add(row);
        }
    }

    void add_tail_rival(const TailTable& table, const Grid& grid, std::span<const std::int32_t> alive) {
        const EtaRange range = attained(table, grid, alive);
        const auto size = static_cast<std::size_t>(range.size());
        // By threshold and leaf. Where a leaf is never met the rival costs so little that nothing seems to be an
        // explanation.
        std::vector<double> rows(size * count(), -kInfinity), buffer(static_cast<std::size_t>(table.etas()));
        for (const std::int32_t leaf : alive) {
            const double* own = table.row(leaf, range, buffer) + range.first;
            for (std::size_t k = 0; k < size; ++k) rows[k * count() + static_cast<std::size_t>(leaf)] = own[k];
        }
        for (std::size_t k = 0; k < size; ++k) rivals_.add(std::span(rows).subspan(k * count(), count()));
    }

    // The set is all routes of a network, and so are the rivals where `all` is given: boxes list those that they leave
    // possible, as soon as these are few.
    void set_routes(std::shared_ptr<const RouteTable> routes, std::shared_ptr<const RouteTable> all) {
        if (routes->leaves() != leaves_ || (all != nullptr && all->leaves() != leaves_))
            throw std::invalid_argument("The routes must be about the same leaves.");
        if (rival_rows() != 1) throw std::invalid_argument("There must be one rival, the decision.");
        routes_ = std::move(routes);
        all_routes_ = std::move(all);
        many_ = routes_->network().routes() > kSettings.plans.many_routes;
    }

    // A list of the routes that are best in some contexts, given by the leaves of all trees, one after the other: where
    // one of them is good enough, the set is.
    std::unique_ptr<PlanList> best_at(std::span<const std::int32_t> leaves, std::size_t trees) const {
        if (routes_ == nullptr || all_routes_ != nullptr)
            throw std::invalid_argument("The set must be all routes of a network, and the rival a decision.");
        std::set<Route> found;
        for (; leaves.size() >= trees; leaves = leaves.subspan(trees)) {
            Route route;
            routes_->cheapest(routes_->sum(leaves.first(trees)), &route);
            found.insert(std::move(route));
        }
        auto list = std::make_unique<PlanList>(leaves_);
        list->add_rival({rival(0), count()});
        const std::vector<Route> routes(found.begin(), found.end());
        for (const std::vector<double>& row : routes_->rows(routes)) list->add_plan(row);
        return list;
    }

    // Edges of the networks, where the set is all routes of one.
    std::int32_t edges() const {
        return (routes_ == nullptr ? 0 : routes_->edges()) + (all_routes_ == nullptr ? 0 : all_routes_->edges());
    }
    // Whether there are so many routes that the first box will not list them.
    bool many() const { return many_; }
    // Leave room for about so many bytes of rows, of plans that are met on the way among others. A question whose own
    // plans take more is asked all the same, but boxes list no further ones.
    void limit_memory(std::size_t bytes) {
        for (PlanRows* rows : {&plans_, &rivals_, &ways_}) rows->limit(bytes / sizeof(double) / 4);
    }

    std::size_t bytes() const override {
        std::lock_guard lock(mutex_);
        return Criterion::bytes() + plans_.bytes() + rivals_.bytes() + ways_.bytes() + tolls_held_ * sizeof(double);
    }

    std::int64_t plans() const { return plans_.count(); }
    std::int64_t rival_rows() const { return rivals_.count(); }

    std::int32_t leaves() const override { return leaves_; }
    void make_room(OpenBox& open) const override { made<PlanScratch>(open).row.resize(count()); }

    Criterion::Excess excess(LeafView leaves, EtaRange, std::span<std::int32_t> levels) const override {
        return least(leaves, nullptr, levels);
    }

    Criterion::Excess excess_in(const OpenBox& open, std::span<std::int32_t> levels) const override {
        return least(open.counted(), open.plans.get(), levels);
    }

    // For routes that are not listed yet, a sum over trees that stays below the excess of all of them.
    void lean(OpenBox& open) const override {
        if (routes_ == nullptr || has_listed(open)) return;
        // Nothing is dropped: whoever asks for the sum bounds the box by it.
        const Reach before = open.reach;
        const double slack = open.slack;
        std::int32_t row = -1;
        if (open.plans) {
            row = open.plans->routes->ways;
        } else {
            const ListedLeaves listed = listed_leaves(open);
            const std::vector<double> nothing(listed.leaves.size(), 0.0);
            const LeafSlots slots({listed.leaves, listed.from, nothing});
            row = row_of_ways(slots, with_all_digits(Tolls(routes_, open.trees), slots).cheapest());
        }
        bound_apart(open, kInfinity, row);
        open.reach = before;
        open.slack = slack;
    }

    bool bound(OpenBox& open, double tau) const override {
        if (routes_ != nullptr && !has_listed(open)) {
            if (!bound_routes(open, tau)) return false;
            if (!has_listed(open)) return true;
        }
        const Bounds found = bounds(open, tau);
        if (found.plans.empty()) return false;
        if (static_cast<double>(found.plans.size()) <= kSettings.plans.worth_keeping * static_cast<double>(found.asked))
            leave(open, {found.plans, {}, {}});
        room(open).plan = found.plans[found.best];
        open.slack = tau - found.totals[found.best];
        choose_best(open, found.listed);
        drop_dear(open, found, tau);
        return true;
    }

protected:
    double value(const OpenBox& open, std::int32_t leaf) const override {
        const PlanScratch& own = room(open);
        return own.plan < 0 ? own.row[leaf] : plan(own.plan)[leaf] - rival(open.levels[0])[leaf];
    }
    double cheapest(OpenBox& open, double multiplier, std::span<const double> way) const override {
        const ListedLeaves listed = listed_leaves(open);
        const std::vector<std::int32_t>& leaves = listed.leaves;
        PlanScratch& own = room(open);
        double smallest = kInfinity;
        const auto sum_of = [&](auto value) { return least_sum(listed, value, [](std::int32_t, const Least&) {}); };
        if (routes_ != nullptr && !has_listed(open)) {
            own.plan = -1;
            smallest = sum_of([&](std::int32_t i) { return multiplier * own.row[leaves[i]] + way[leaves[i]]; });
        } else {
            const double* rival = this->rival(open.levels[0]);
            std::vector<double> rest;
            for (const std::int32_t leaf : leaves) rest.push_back(way[leaf] - multiplier * rival[leaf]);
            each_plan(open, [&](std::int32_t z) {
                const double* row = plan(z);
                const double total = sum_of([&](std::int32_t i) { return multiplier * row[leaves[i]] + rest[i]; });
                if (total < smallest) {
                    smallest = total;
                    own.plan = z;
                }
            });
        }
        return smallest;
    }

private:
    // What the bound of every plan over a box is: of those that it does not rule out.
    struct Bounds {
        ListedLeaves listed;
        std::vector<std::int32_t> plans;
        std::vector<double> totals;  // by plan
        std::vector<double> mins;    // by plan and tree
        std::size_t best = 0;        // the plan with the smallest total
        std::int64_t asked = 0;      // plans that the box was handed
    };

    static PlanScratch& room(const OpenBox& open) { return static_cast<PlanScratch&>(*open.scratch); }

    // Hand down to the halves of a box what it leaves possible.
    void leave(OpenBox& open, PossiblePlans plans) const {
        const std::size_t numbers = plans.numbers.capacity() + (plans.routes ? plans.routes->arcs.capacity() : 0);
        open.plans = left_.make<PossiblePlans>(std::move(plans), numbers * sizeof(std::int32_t));
    }

    std::size_t count() const { return static_cast<std::size_t>(leaves_); }

    // Bound the box for all routes together, or list those that it leaves possible; false where there are none.
    bool bound_routes(OpenBox& open, double tau) const {
        const PlansLeft before = open.plans;
        if (before && !bound_apart(open, tau, before->routes->ways)) return false;
        const ListedLeaves listed = listed_leaves(open);
        const auto met = static_cast<double>(listed.leaves.size());
        if (before && met > kSettings.plans.try_again * static_cast<double>(before->routes->met)) return true;
        std::vector<double> rival;
        for (const std::int32_t leaf : listed.leaves) rival.push_back(this->rival(open.levels[0])[leaf]);
        const LeafSlots slots({listed.leaves, listed.from, rival});
        if (!slots.whole()) return false;
        Tolls tolls = tolls_of(open);
        // Few routes can often be listed at once; and numbers that are too large or too small for half the digits need
        // all.
        if ((!before && !many_) || !routes_->suits_floats())
            return list_routes(open, slots, with_all_digits(tolls, slots), tolls, tau);
        const std::size_t prices = slots.count() * tolls.network().arcs().size();
        const std::size_t rounds = std::min(before ? kSettings.plans.further_rounds : kSettings.plans.first_rounds,
                                            1 + kSettings.plans.prices / prices);
        const Tolls::Agreement agreed = tolls.agree(slots, tau, static_cast<int>(rounds));
        if (agreed.arcs.empty()) return false;
        Tolls after = tolls.after(agreed);
        if (tau - agreed.bound < kSettings.plans.close_to_tau * agreed.rounding)
            return list_routes(open, slots, with_all_digits(after, slots), after, tau);
        const BoxRoutes<float> routes({agreed.prices, after.network(), agreed.arcs}, agreed.rounding);
        return list_routes(open, slots, routes, after, tau);
    }

    // Bound the box by the cheapest route of every tree, given a row of ways under tolls.
    bool bound_apart(OpenBox& open, double tau, std::int32_t row) const {
        const double *ways = ways_[row], *rival = this->rival(open.levels[0]);
        PlanScratch& own = room(open);
        const auto worth = [&](std::int32_t, std::int32_t leaf) { return own.row[leaf] = ways[leaf] - rival[leaf]; };
        const double total = least_sum(open.reach, 0, open.trees, worth, open.best);
        if (total > tau) return false;
        open.slack = tau - total;
        own.plan = -1;
        for (std::int32_t t = 0; t < open.trees; ++t) {
            const double least = worth(t, open.best[t]);
            open.gains[t] = std::min(worth(t, open.here[t]), least + open.slack) - least;
        }
        whence::drop_dear(open.reach, 0, open.trees, worth, open.best, open.slack);
        return true;
    }

    // Bound the box by what routes cost, and list them if they are few; false where there are none. The tolls may be
    // kept.
    template <class Number>
    bool list_routes(OpenBox& open, const LeafSlots& slots, const BoxRoutes<Number>& routes, Tolls& tolls,
                     double tau) const {
        const PlansLeft before = open.plans;
        const bool room = ways_.has_room(1);
        if (!room && !before) throw std::length_error("There are too many leaves.");
        const std::int32_t row = room ? row_of_ways(slots, routes.cheapest()) : before->routes->ways;
        if (!bound_apart(open, tau, row)) return false;
        const std::vector<Arc>& arcs = tolls.network().arcs();
        typename BoxRoutes<Number>::Listing found{false, {}};
        if (!many_ ||
            arcs.size() <= kSettings.plans.wide_network * static_cast<std::size_t>(tolls.network().longest())) {
            const auto steps = std::max(kSettings.plans.least_steps, kSettings.plans.looks / slots.count());
            found = routes.list(tau, kSettings.plans.listed_routes, static_cast<std::int64_t>(steps));
        }
        if (found.whole && plans_.has_room(found.routes.size())) {
            leave(open, {numbers(known_, plans_, *routes_, found.routes), {}, {}});
            return true;
        }
        PossiblePlans::Routes left{slots.count(), row, 0, {}};
        for (const Arc& arc : arcs) left.arcs.push_back(arc.place);
        left.tolls = hold(std::move(tolls), before);
        leave(open, {{}, {}, std::move(left)});
        return true;
    }

    // The tolls to begin with at a box: those of the one that it is a part of.
    Tolls tolls_of(const OpenBox& open) const {
        if (!open.plans) return {routes_, open.trees};
        const PossiblePlans::Routes& routes = *open.plans->routes;
        std::unique_lock lock(mutex_);
        const Tolls& held = *held_[routes.tolls];
        lock.unlock();  // what is held stays as it is
        return held.on(routes.arcs);
    }
    // The number of tolls that are held from now on; where there is no room for them, that of those before.
    std::int32_t hold(Tolls tolls, const PlansLeft& before) const {
        const std::size_t numbers = tolls.trees() * tolls.network().arcs().size();
        std::lock_guard lock(mutex_);
        if (before && tolls_held_ + numbers > kSettings.plans.kept_tolls) return before->routes->tolls;
        tolls_held_ += numbers;
        held_.push_back(std::make_unique<const Tolls>(std::move(tolls)));
        return static_cast<std::int32_t>(held_.size()) - 1;
    }
    // A row with the cheapest ways of the leaves that a box meets. It and its parts have no explanation in any other.
    std::int32_t row_of_ways(const LeafSlots& slots, const std::vector<double>& cheapest) const {
        std::vector<double> row(count(), kInfinity);
        for (std::size_t i = 0; i < slots.count(); ++i) row[slots.leaf[i]] = cheapest[i];
        return ways_.add(row);
    }

    // The rows of routes, which are made where they are new.
    std::vector<std::int32_t> numbers(std::map<Route, std::int32_t>& known, PlanRows& rows, const RouteTable& routes,
                                      std::span<const Route> asked) const {
        std::lock_guard lock(mutex_);
        std::vector<Route> fresh;
        for (const Route& route : asked)
            if (!known.contains(route)) fresh.push_back(route);
        const std::vector<std::vector<double>> made = routes.rows(fresh);
        for (std::size_t i = 0; i < fresh.size(); ++i)
            if (!known.contains(fresh[i])) known.emplace(fresh[i], rows.add(made[i]));
        std::vector<std::int32_t> found;
        for (const Route& route : asked) found.push_back(known.at(route));
        return found;
    }

    // The row of a rival that is best somewhere; that of the decision where there is no room for another: a bound by it
    // is weaker, but holds as well.
    std::int32_t rival_of(const Route& route) const {
        {
            std::lock_guard lock(mutex_);
            if (!known_rivals_.contains(route) && !rivals_.has_room(1)) return 0;
        }
        return numbers(known_rivals_, rivals_, *all_routes_, {&route, 1}).front();
    }

    const double* plan(std::int32_t z) const { return plans_[z]; }
    const double* rival(std::int32_t r) const { return rivals_[r]; }

    // The thresholds under which the CVaR of a plan can be attained: at most the tail lies above, and below it more
    // than that.
    EtaRange attained(const TailTable& table, const Grid& grid, std::span<const std::int32_t> alive) const {
        const std::int32_t trees = grid.trees_with(leaves_);
        if (trees < 0) throw std::invalid_argument("The list must be about the leaves of the grid.");
        const auto etas = static_cast<std::size_t>(table.etas());
        std::vector<double> least(etas, 0.0), most(etas, 0.0), low(etas), high(etas), shares(etas);
        each_tree(grid, trees, alive, [&](std::int32_t, std::span<const std::int32_t> leaves) {
            std::fill(low.begin(), low.end(), leaves.empty() ? 0.0 : 1.0);
            std::fill(high.begin(), high.end(), leaves.empty() ? 1.0 : 0.0);
            for (const std::int32_t leaf : leaves) {
                std::fill(shares.begin(), shares.end(), 0.0);
                table.sum(leaf, shares.data());
                for (std::size_t k = 0; k < etas; ++k) {
                    low[k] = std::min(low[k], shares[k]);
                    high[k] = std::max(high[k], shares[k]);
                }
            }
            for (std::size_t k = 0; k < etas; ++k) {
                least[k] += low[k];
                most[k] += high[k];
            }
        });
        const double tail = table.tail() * trees, slack = kRounding.counted_share * trees;
        std::size_t first = 0, last = etas - 1;
        while (first < last && least[first] > tail + slack) ++first;
        while (last > first && most[last - 1] < tail - slack) --last;
        return {static_cast<std::int32_t>(first), static_cast<std::int32_t>(last)};
    }

    Criterion::Excess least(LeafView leaves, const PossiblePlans* among, std::span<std::int32_t> levels) const {
        double best = kInfinity, cheapest = kInfinity;
        if (routes_ != nullptr) {
            if (among != nullptr && !among->routes && among->numbers.size() <= kSettings.plans.summed_routes)
                for (const std::int32_t z : among->numbers) best = std::min(best, sum_at(plan(z), leaves));
            else
                best = routes_->cheapest(routes_->sum(leaves));
            if (all_routes_ != nullptr) {
                Route route;
                // Rivals may count for a share more than they cost.
                cheapest = all_routes_->cheapest(all_routes_->sum(leaves), &route);
                levels[0] = rival_of(route);
                // The decision, which has the first row, may count for less than it costs.
                const double given = sum_at(rival(0), leaves);
                if (given <= cheapest) {
                    cheapest = given;
                    levels[0] = 0;
                }
                return {best - cheapest, 0};
            }
        } else if (among != nullptr)
            for (const std::int32_t z : among->numbers) best = std::min(best, sum_at(plan(z), leaves));
        else
            for (std::int32_t z = 0; z < plans(); ++z) best = std::min(best, sum_at(plan(z), leaves));
        for (std::int32_t r = 0; r < rival_rows(); ++r) {
            const double cost = sum_at(rival(r), leaves);
            if (cost < cheapest) {
                cheapest = cost;
                levels[0] = r;
            }
        }
        return {best == kInfinity ? kInfinity : best - cheapest, 0};
    }

    template <class Use>
    void each_plan(const OpenBox& open, Use use) const {
        if (open.plans)
            for (const std::int32_t z : open.plans->numbers) use(z);
        else
            for (std::int32_t z = 0; z < plans(); ++z) use(z);
    }

    Bounds bounds(const OpenBox& open, double tau) const {
        Bounds found;
        found.listed = listed_leaves(open);
        const std::vector<std::int32_t>& leaves = found.listed.leaves;
        const double* rival = this->rival(open.levels[0]);
        std::vector<double> against, mins(static_cast<std::size_t>(open.trees));
        for (const std::int32_t leaf : leaves) against.push_back(rival[leaf]);
        each_plan(open, [&](std::int32_t z) {
            ++found.asked;
            const double* row = plan(z);
            const double total = least_sum(
                found.listed, [&](std::int32_t i) { return row[leaves[i]] - against[i]; },
                [&](std::int32_t t, const Least& own) { mins[t] = own.value; });
            if (total > tau) return;
            if (found.totals.empty() || total < found.totals[found.best]) found.best = found.totals.size();
            found.plans.push_back(z);
            found.totals.push_back(total);
            found.mins.insert(found.mins.end(), mins.begin(), mins.end());
        });
        return found;
    }

    // Drop the leaves that would take every plan beyond tau, if all other trees took what is best for it.
    void drop_dear(OpenBox& open, const Bounds& found, double tau) const {
        const double* rival = this->rival(open.levels[0]);
        const auto trees = static_cast<std::size_t>(open.trees);
        std::vector<std::int32_t> dear;
        for (std::size_t t = 0; t < trees; ++t) {
            const LeafView leaves = found.listed.of(static_cast<std::int32_t>(t));
            if (leaves.size() < 2) continue;
            dear.assign(leaves.begin(), leaves.end());
            const auto keep = [&](std::size_t i) {
                const double* row = plan(found.plans[i]);
                const double most = found.mins[i * trees + t] + (tau - found.totals[i]);
                std::erase_if(dear, [&](std::int32_t leaf) { return row[leaf] - rival[leaf] <= most; });
            };
            keep(found.best);
            for (std::size_t i = 0; i < found.plans.size() && !dear.empty(); ++i) keep(i);
            if (dear.empty()) continue;
            open.reach.drop(static_cast<std::int32_t>(t),
                            [&](std::int32_t leaf) { return std::find(dear.begin(), dear.end(), leaf) != dear.end(); });
        }
    }

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
