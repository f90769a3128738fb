// Quantities that are chosen one by one: some quantities of the set must not cost more than a rival, plus tau.
//
// The best quantity of a product is one of its past demands, a breakpoint. The least cost over all of them is no sum
// over trees, so that it is bounded by one: what the trees say at the projection about moving to another breakpoint is
// shared out among the trees that are not decided, and each of these may then choose breakpoints of its own. A box
// carries the range of breakpoints of every product that can be best somewhere in it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "bounds/common_parts.hpp"
#include "criteria/mean_criterion.hpp"
#include "criteria/stock_exchange.hpp"
#include "criteria/stock_table.hpp"

namespace whence {

// Whether a tree has the leaf of the projection in the whole box; that leaf itself may have been dropped.
inline bool is_decided(const OpenBox& open, std::int32_t tree) {
    bool elsewhere = false;
    open.reach.each(tree, [&](std::int32_t leaf) { elsewhere |= leaf != open.here[tree]; });
    return !elsewhere;
}

// What a leaf costs along the breakpoints of a product, between two of its demands.
struct Piece {
    std::int32_t from, to;
    double cost, slope;
};

// What is computed in a box: sums at its projection, of the set and of all quantities, and the parts of the set's own.
struct StockScratch : MeanScratch {
    StockSums own, all;
    std::vector<double> here;   // what breakpoints cost at the projection, the price of a unit included
    std::vector<double> rival;  // what the rival costs in each leaf
    ListedLeaves listed;
    CommonParts common;
    std::vector<EtaRange> parts, inside;  // the parts, and what of them can be best
};

class StockCriterion final : public MeanCriterion {
public:
    // Against a rival that costs `rival` in each leaf (its mean over the leaf's samples, divided by the number of
    // trees), and against the best quantities of `all` where they are given and keep the budget. The set's own
    // quantities keep it as far as the table's prices of a unit see to that: where they do not, the criterion is less
    // than what is asked for, and whoever asks judges its candidates again.
    // A `limit` is all that sets the quantities of the one table apart from those of the other.
    StockCriterion(std::shared_ptr<const StockTable> table, std::vector<double> rival,
                   std::shared_ptr<const StockTable> all, double budget, std::optional<StockLimit> limit = {})
        : MeanCriterion(table->leaves()),
          table_(std::move(table)),
          all_(std::move(all)),
          rival_(std::move(rival)),
          budget_(budget) {
        if (all_ != nullptr && all_->leaves() != table_->leaves())
            throw std::invalid_argument("Both tables must be about the same leaves.");
        if (limit && all_ == nullptr) throw std::invalid_argument("A limit sets quantities apart from all others.");
        if (limit) exchange_.emplace(*all_, *limit, budget_);
        add_rival(rival_);
    }

    std::size_t breakpoints() const { return table_->breakpoints() + (all_ == nullptr ? 0 : all_->breakpoints()); }

    void make_room(OpenBox& open) const override {
        made<StockScratch>(open);
        MeanCriterion::make_room(open);
    }

    Criterion::Excess excess(LeafView leaves, EtaRange, std::span<std::int32_t>) const override {
        StockSums own, all;
        return judged(leaves, own, all);
    }
    // The sums are kept for the bound.
    Criterion::Excess excess_in(const OpenBox& open, std::span<std::int32_t>) const override {
        return judged(open.counted(), room(open).own, room(open).all);
    }

    // What leaves say of an exchange stands for the criterion: of several, the least.
    void lean(OpenBox& open) const override {
        const StockExchange::Offers offers =
            exchange_ ? exchange_->offers(open.counted(), 0.0, room(open).all) : StockExchange::Offers{};
        if (offers.any.empty()) {
            lean_priced(open, kInfinity);
            return;
        }
        write_row(open, 0, [&](std::int32_t, std::int32_t leaf) {
            double least = kInfinity;
            for (const auto offer : offers.any) least = std::min(least, exchange_->gain(leaf, offer, offers.step));
            return least;
        });
    }

    bool bound(OpenBox& open, double tau) const override {
        if (exchange_) {
            const StockExchange::Offers offers = exchange_->offers(open.counted(), tau, room(open).all);
            if (!offers.any.empty())
                return bound_exchanges(open, offers, tau + kRounding.stock * exchange_->largest(offers));
        }
        if (is_large(open)) return guide(open);  // it is hardly ever ruled out: its halves are bounded
        const double size = lean_priced(open, tau);
        return size >= 0.0 && MeanCriterion::bound(open, tau + kRounding.stock * size);
    }

protected:
    const double* row(const OpenBox& open, std::int32_t) const override { return room(open).rows[0].data(); }

private:
    static StockScratch& room(const OpenBox& open) { return static_cast<StockScratch&>(*open.scratch); }

    // The breakpoints of each product that can be best somewhere in the box, under prices near to one: a breakpoint is
    // not where costs still fall after it whichever leaves the trees have, or have risen before it.
    void narrow(OpenBox& open, std::span<const double> slopes, double price) const {
        const bool begun = open.plans && open.plans->cheapest <= price && price <= open.plans->dearest;
        std::vector<EtaRange> ranges = begun ? open.plans->ranges : table_->ranges();
        const double room = kSettings.plans.price_room * table_->dearest();
        const double cheapest = begun ? open.plans->cheapest : std::max(0.0, price - room);
        const double dearest = begun ? open.plans->dearest : std::min(table_->dearest(), price + room);
        std::vector<std::int32_t> undecided;
        for (std::int32_t t = 0; t < open.trees; ++t)
            if (!is_decided(open, t)) undecided.push_back(t);
        // What a unit after a breakpoint adds at most (sign 1), or at least (-1): it never falls along the breakpoints.
        const auto extreme = [&](std::int32_t j, std::int32_t k, double sign) {
            double found = slopes[k];
            for (const std::int32_t t : undecided) {
                const double own = table_->slope(open.here[t], j, k);
                double most = sign * own;
                open.reach.each(t, [&](std::int32_t leaf) { most = std::max(most, sign * table_->slope(leaf, j, k)); });
                found += sign * most - own;
            }
            return found;
        };
        const std::vector<EtaRange> before = ranges;
        for (std::int32_t j = 0; j < table_->products(); ++j) {
            auto& [first, last] = ranges[j];
            const double hair = kRounding.stock * (table_->steepest(j) + dearest);
            const auto falls = [&](std::int32_t k) { return extreme(j, k, 1.0) + dearest < -hair; };
            const auto rises = [&](std::int32_t k) { return extreme(j, k, -1.0) + cheapest > hair; };
            if (first < last && falls(first)) first = first_without(first + 1, last, falls);
            if (first < last && rises(last - 1))
                last = first_without(first, last - 1, [&](std::int32_t k) { return !rises(k); });
        }
        if (ranges == before && begun) return;
        PossiblePlans left = open.plans ? *open.plans : PossiblePlans{};
        left.ranges = std::move(ranges);
        left.cheapest = cheapest;
        left.dearest = dearest;
        leave(open, std::move(left));
    }

    // The same, and between which breakpoints quantities can lie where the criterion holds; how large the numbers are
    // that were added up, and less than nothing where it holds nowhere.
    //
    // Quantities z that hold are among the runs of parts that a box around this one has left. Those that are best under
    // the price lie in the ranges. As costs are convex, a part outside of a range costs at least what its nearer end
    // does.
    double lean_priced(OpenBox& open, double tau) const {
        StockScratch& own = room(open);
        own.own.find(*table_, open.counted());
        const std::vector<double>& slopes = own.own.slopes;
        const double price = table_->within(own.own.costs, slopes, table_->ranges(), budget_).price;
        const double paid = price > 0.0 ? price * budget_ : 0.0;
        narrow(open, slopes, price);
        const std::vector<double>& rival = against(open);
        std::vector<double>& row = own.rows[0];
        row.resize(static_cast<std::size_t>(leaves()));
        CommonParts& common = own.common;
        common.clear();
        double fixed = -paid, size = std::abs(paid);
        for (std::int32_t t = 0; t < open.trees; ++t) {
            const std::int32_t here = open.here[t];
            row[here] = -rival[here];
            size += std::abs(rival[here]);
            if (is_decided(open, t)) {
                fixed += row[here];
                continue;
            }
            const std::size_t first = common.leaves.size();
            bool met = false;
            open.reach.each(t, [&](std::int32_t leaf) {
                common.leaves.push_back(leaf);
                met |= leaf == here;
            });
            const std::size_t reached = common.leaves.size();
            if (!met) common.leaves.push_back(here);
            common.trees.push_back({t, first, reached, common.leaves.size()});
        }
        cut_parts(open, own);
        const std::vector<double>& points = table_->points();
        own.here.resize(own.own.costs.size());
        double least = 0.0;
        for (std::size_t j = 0; j + 1 < common.from.size(); ++j) {
            double smallest = kInfinity, largest = 0.0;
            for (std::size_t p = common.from[j]; p < common.from[j + 1]; ++p)
                for (std::int32_t k = own.inside[p].first; k <= own.inside[p].last; ++k) {
                    own.here[k] = own.own.costs[k] + price * points[k];
                    smallest = std::min(smallest, own.here[k]);
                    largest = std::max(largest, std::abs(own.here[k]));
                }
            least += smallest;
            size += 2.0 * largest;
        }
        if (common.trees.empty()) {
            row[open.here[0]] += least - paid;
            return size;
        }
        find_least(open, own, price);
        for (const std::int32_t leaf : common.leaves) common.sums.push_back(-rival[leaf]);
        size += common.agree(kSettings.plans.rounds, fixed, tau + kRounding.stock * size);
        // What others pay is shared out among the trees that are not decided.
        const double share = paid / static_cast<double>(common.trees.size());
        for (std::size_t i = 0; i < common.leaves.size(); ++i) row[common.leaves[i]] = common.sums[i] - share;
        return leave_runs(open, own, tau + kRounding.stock * size) ? size : -1.0;
    }

    // Cut the runs of each product into parts, the one with most breakpoints first. Parts next to each other share an
    // end, for quantities also lie between breakpoints.
    void cut_parts(const OpenBox& open, StockScratch& own) const {
        const auto products = static_cast<std::size_t>(table_->products());
        // What a leaf with many demands costs bends about as often as it would be cut, and has to be gone along again.
        const bool few = 2.0 * table_->held() <= static_cast<double>(kSettings.plans.parts);
        const std::size_t each = std::clamp<std::size_t>(
            kSettings.plans.part_numbers / (products * std::max<std::size_t>(1, own.common.leaves.size())), 1,
            few ? std::max<std::size_t>(2, kSettings.plans.parts / products) : 1);
        const std::vector<EtaRange> whole = table_->ranges();
        const bool begun = open.plans && !open.plans->runs.empty();
        own.parts.clear();
        own.inside.clear();
        own.common.from.assign(1, 0);
        for (std::size_t j = 0; j < products; ++j) {
            const auto first = static_cast<std::ptrdiff_t>(own.parts.size());
            if (begun)
                own.parts.insert(own.parts.end(), open.plans->runs.begin() + open.plans->runs_from[j],
                                 open.plans->runs.begin() + open.plans->runs_from[j + 1]);
            else
                own.parts.push_back(whole[j]);
            while (own.parts.size() - static_cast<std::size_t>(first) < each) {
                const auto widest = std::max_element(own.parts.begin() + first, own.parts.end(),
                                                     [](EtaRange a, EtaRange b) { return a.size() < b.size(); });
                if (widest->size() <= 2) break;
                const std::int32_t middle = widest->first + (widest->last - widest->first) / 2;
                const EtaRange before{widest->first, middle};
                widest->first = middle;
                own.parts.insert(widest, before);
            }
            const EtaRange best = open.plans->ranges[j];
            for (std::size_t p = own.common.from.back(); p < own.parts.size(); ++p) {
                const auto [low, high] = own.parts[p];
                own.inside.push_back(
                    {std::max(low, std::min(high, best.first)), std::min(high, std::max(low, best.last))});
            }
            own.common.from.push_back(own.parts.size());
        }
    }

    // What every leaf costs at least on each part: beyond what the one at the projection does, and with a share of what
    // all of these cost.
    void find_least(const OpenBox& open, StockScratch& own, double price) const {
        CommonParts& common = own.common;
        const std::vector<double>&points = table_->points(), &slopes = own.own.slopes, &here = own.here;
        const double share = 1.0 / static_cast<double>(common.trees.size());
        common.least.resize(common.leaves.size() * common.parts());
        std::vector<Piece> others, pieces;
        std::vector<std::size_t> begins;
        const auto gather = [&](std::int32_t leaf, std::int32_t j, std::vector<Piece>& into) {
            const EtaRange range{own.inside[common.from[j]].first, own.inside[common.from[j + 1] - 1].last};
            table_->each_line(leaf, j, range, [&](std::int32_t from, std::int32_t to, double cost, double slope) {
                into.push_back({from, to, cost, slope});
            });
        };
        for (const CommonParts::Chooser& one : common.trees) {
            others.clear();
            begins.clear();
            for (std::int32_t j = 0; j < table_->products(); ++j) {
                begins.push_back(others.size());
                gather(open.here[one.tree], j, others);
            }
            for (std::size_t i = one.first; i < one.last; ++i)
                for (std::int32_t j = 0; j < table_->products(); ++j) {
                    pieces.clear();
                    gather(common.leaves[i], j, pieces);
                    const Piece *mine = pieces.data(), *other = others.data() + begins[j];
                    for (std::size_t p = common.from[j]; p < common.from[j + 1]; ++p) {
                        const auto [first, last] = own.inside[p];
                        double least = kInfinity;
                        // Between two bends of either leaf their difference is a line, and a share of the totals
                        // convex.
                        for (std::int32_t a = first;;) {
                            while (mine->to < a || (mine->to == a && a < last)) ++mine;
                            while (other->to < a || (other->to == a && a < last)) ++other;
                            const std::int32_t b = std::min({last, mine->to, other->to});
                            const double rise = mine->slope - other->slope;
                            const auto falls = [&](std::int32_t k) { return share * (slopes[k] + price) + rise < 0.0; };
                            std::int32_t k = a;
                            if (a < b && falls(a)) k = falls(b - 1) ? b : first_without(a + 1, b - 1, falls);
                            least = std::min(least, share * here[k] + (mine->cost - other->cost) +
                                                        mine->slope * (points[k] - points[mine->from]) -
                                                        other->slope * (points[k] - points[other->from]));
                            if (b >= last) break;
                            a = b;
                        }
                        common.least[i * common.parts() + p] = least;
                    }
                }
        }
    }

    // Keep the parts that the bound leaves possible, in runs; false where it leaves none of some product.
    bool leave_runs(OpenBox& open, const StockScratch& own, double most) const {
        const CommonParts& common = own.common;
        if (std::none_of(common.totals.begin(), common.totals.end(), [&](double total) { return total > most; }))
            return true;
        std::vector<EtaRange> runs;
        std::vector<std::int32_t> from = {0};
        for (std::size_t j = 0; j < common.ranges(); ++j) {
            for (std::size_t p = common.from[j]; p < common.from[j + 1]; ++p) {
                if (common.totals[p] > most) continue;
                if (static_cast<std::int32_t>(runs.size()) > from.back() && runs.back().last == own.parts[p].first)
                    runs.back().last = own.parts[p].last;
                else
                    runs.push_back(own.parts[p]);
            }
            if (static_cast<std::int32_t>(runs.size()) == from.back()) return false;
            from.push_back(static_cast<std::int32_t>(runs.size()));
        }
        PossiblePlans left = *open.plans;
        left.runs = std::move(runs);
        left.runs_from = std::move(from);
        leave(open, std::move(left));
        return true;
    }

    void leave(OpenBox& open, PossiblePlans left) const {
        const std::size_t bytes =
            (left.ranges.capacity() + left.runs.capacity()) * sizeof(EtaRange) + left.runs_from.capacity() * 4;
        open.plans = left_.make<PossiblePlans>(std::move(left), bytes);
    }

    Criterion::Excess judged(LeafView leaves, StockSums& own, StockSums& all) const {
        own.find(*table_, leaves);
        const double cost = table_->within(own.costs, own.slopes, table_->ranges(), budget_).least;
        double rival = 0.0;
        for (const std::int32_t leaf : leaves) rival += rival_[leaf];
        if (all_ != nullptr) {
            all.find(*all_, leaves);
            rival = std::min(rival, all_->bought(all.costs, all.slopes, all_->ranges(), budget_).cost);
        }
        return {cost - rival, 0};
    }

    // Whether it would take long to ask every leaf of a box about all products.
    bool is_large(const OpenBox& open) const {
        std::int64_t leaves = 0;
        for (std::int32_t t = 0; t < open.trees; ++t) open.reach.each(t, [&](std::int32_t) { ++leaves; });
        return leaves * table_->products() > kSettings.plans.large_stock;
    }

    // What the leaves of a box say about the quantities that are best at its projection, by which it is split.
    bool guide(OpenBox& open) const {
        StockSums& sums = room(open).own;
        sums.find(*table_, open.counted());
        std::vector<double> here = sums.costs;
        const double price = table_->within(here, sums.slopes, table_->ranges(), budget_).price;
        for (std::size_t k = 0; price > 0.0 && k < here.size(); ++k) here[k] += price * table_->points()[k];
        const std::vector<std::int32_t> at = table_->least(here);
        write_row(open, 0, [&](std::int32_t, std::int32_t leaf) {
            double excess = -rival_[leaf];
            for (std::int32_t j = 0; j < table_->products(); ++j) excess += table_->cost(leaf, j, at[j]);
            return excess;
        });
        return MeanCriterion::bound(open, kInfinity);
    }

    // What the rival costs in each leaf that the box meets: where the best of all quantities are asked for, those that
    // are so at the projection.
    const std::vector<double>& against(const OpenBox& open) const {
        if (all_ == nullptr) return rival_;
        StockSums& sums = room(open).all;
        sums.find(*all_, open.counted());
        const StockTable::Bought best = all_->bought(sums.costs, sums.slopes, all_->ranges(), budget_);
        double given = 0.0;
        for (const std::int32_t leaf : open.counted()) given += rival_[leaf];
        if (given <= best.cost) return rival_;
        std::vector<double>& found = room(open).rival;
        found.resize(rival_.size());
        const auto write = [&](std::int32_t leaf) {
            found[leaf] = 0.0;
            for (std::int32_t j = 0; j < all_->products(); ++j)
                found[leaf] += all_->cost_of(leaf, j, all_->quantity(best, j));
        };
        for (std::int32_t t = 0; t < open.trees; ++t) {
            open.reach.each(t, write);
            write(open.here[t]);
        }
        return found;
    }

    // Rule the box out, or leaves of it, where every exchange pays; split it by the one that pays least.
    bool bound_exchanges(OpenBox& open, StockExchange::Offers offers, double tau) const {
        struct Open {
            StockExchange::Offer offer;
            double slack;
            std::vector<double> values;      // of each leaf that is listed
            std::vector<std::int32_t> best;  // of each tree, the number of its best leaf
        };
        ListedLeaves& listed = room(open).listed;
        open.reach.list(open.trees, listed);
        // A large box is hardly ever ruled out, and it takes long to find out up to where exchanges pay.
        const auto numbers = static_cast<std::int64_t>(listed.leaves.size()) * table_->products();
        const bool few = 2.0 * all_->held() <= static_cast<double>(kSettings.plans.parts);
        if (exchange_->spreads() && few && numbers <= kSettings.plans.few_numbers) {
            auto spread = exchange_->spread(listed, open.counted(), offers, tau);
            if (!spread) return false;
            offers = std::move(*spread);
        }
        std::vector<Open> left;
        for (const auto offer : offers.any) {
            Open one{offer, 0.0, {}, std::vector<std::int32_t>(static_cast<std::size_t>(open.trees))};
            for (const std::int32_t leaf : listed.leaves)
                one.values.push_back(exchange_->gain(leaf, offer, offers.step));
            const double total = least_sum(
                listed, [&](std::int32_t i) { return one.values[i]; },
                [&](std::int32_t t, const Least& least) { one.best[t] = least.leaf; });
            if (total > tau) continue;
            one.slack = tau - total;
            left.push_back(std::move(one));
            if (left.size() > 1 && left.back().slack > left.front().slack) std::swap(left.front(), left.back());
        }
        if (left.empty()) return false;
        // Whoever asks for the criterion's row is told the least that is known, whichever exchange it is.
        std::vector<double>& row = room(open).rows[0];
        row.resize(static_cast<std::size_t>(leaves()));
        for (std::int32_t t = 0; t < open.trees; ++t) {
            const std::int32_t here = open.here[t];
            row[here] = kInfinity;
            for (const Open& one : left) row[here] = std::min(row[here], exchange_->gain(here, one.offer, offers.step));
            for (std::int32_t i = listed.from[t]; i < listed.from[t + 1]; ++i) {
                row[listed.leaves[i]] = kInfinity;
                for (const Open& one : left) row[listed.leaves[i]] = std::min(row[listed.leaves[i]], one.values[i]);
            }
            std::int32_t i = listed.from[t];
            open.reach.drop(t, [&](std::int32_t) {
                const std::int32_t own = i++;
                return std::all_of(left.begin(), left.end(), [&](const Open& one) {
                    return one.values[own] > one.values[one.best[t]] + one.slack;
                });
            });
            const Open& worst = left.front();
            open.best[t] = listed.leaves[worst.best[t]];
            open.gains[t] = exchange_->gain(here, worst.offer, offers.step) - worst.values[worst.best[t]];
        }
        open.slack = left.front().slack;
        return true;
    }

    std::shared_ptr<const StockTable> table_, all_;
    std::vector<double> rival_;
    double budget_;
    std::optional<StockExchange> exchange_;
};

}  // namespace whence
