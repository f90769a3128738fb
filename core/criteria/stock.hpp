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
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/settings.hpp"
#include "bounds/common_parts.hpp"
#include "criteria/mean_criterion.hpp"
#include "criteria/tail_criterion.hpp"

namespace whence {

// Whether a tree has the leaf of the projection in the whole box; that leaf itself may have been dropped.
inline bool is_decided(const OpenBox& open, std::int32_t tree) {
    bool elsewhere = false;
    open.reach.each(tree, [&](std::int32_t leaf) { elsewhere |= leaf != open.here[tree]; });
    return !elsewhere;
}

// The first number of a range without a property that only numbers before it have; its end where all have it.
template <class Has>
std::int32_t first_without(std::int32_t from, std::int32_t end, Has has) {
    while (from < end) {
        const std::int32_t middle = from + (end - from) / 2;
        if (has(middle))
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

// What a leaf costs along the breakpoints of a product, between two of its demands.
struct Piece {
    std::int32_t from, to;
    double cost, slope;
};

// Of some of the quantities, from the first to the last one: the smallest and the largest share of demands up to each
// that the alive leaves can have together, tree by tree.
struct UpTo {
    std::vector<std::size_t> at;
    std::vector<double> least, most;
};

template <class Demands>
UpTo shares_up_to(const std::vector<double>& points, const Demands& demands, std::span<const std::int32_t> tree,
                  std::int32_t trees) {
    UpTo found;
    const std::size_t step = 1 + (points.size() - 1) / kSettings.plans.looked_at;
    for (std::size_t k = 0; k < points.size(); k += step) found.at.push_back(k);
    const std::size_t size = found.at.size();
    found.least.assign(size, 0.0);
    found.most.assign(size, 0.0);
    std::vector<double> least(size), most(size);
    for (std::size_t l = 0; l < tree.size();) {
        std::fill(least.begin(), least.end(), 1.0);
        std::fill(most.begin(), most.end(), 0.0);
        for (const std::int32_t own = tree[l]; l < tree.size() && tree[l] == own; ++l) {
            const std::size_t first = demands.first[l], last = demands.first[l + 1];
            std::size_t passed = first;
            double less = 0.0;
            for (std::size_t g = 0; g < size; ++g) {
                for (; passed < last && static_cast<std::size_t>(demands.rank(passed)) <= found.at[g]; ++passed)
                    less += demands.mass(passed);
                const double share = less / demands.total[l];
                least[g] = std::min(least[g], share);
                most[g] = std::max(most[g], share);
            }
        }
        for (std::size_t g = 0; g < size; ++g) {
            found.least[g] += least[g] / trees;
            found.most[g] += most[g] / trees;
        }
    }
    return found;
}

// What every breakpoint of every product costs on average in each leaf, divided by the number of trees.
//
// Along the breakpoints that is a straight line between any two demands of the leaf, of which there are few: the lines
// are kept, and not what each breakpoint costs.
class StockTable {
public:
    // Demands by sample and product, one row after the other; rates and limits one a product.
    struct Products {
        std::span<const double> demand, holding, backorder, lower, upper;
        std::size_t count() const { return holding.size(); }
    };

    // The leaves that the table is about, in their order, and the tree of each where that is known. Breakpoints that
    // are best nowhere, whichever of them each tree has, are left out, and so are the lines of all other leaves.
    struct Alive {
        std::span<const std::int32_t> leaves, tree;
    };

    // The table ends where the deadline has passed. Breakpoints stay that are best where a unit of any product has a
    // price up to the `dearest` one besides.
    StockTable(const LeafSamples& samples, const Products& products, std::int32_t trees, const Alive& alive,
               double dearest = 0.0, const Deadline& deadline = {})
        : dearest_(dearest),
          place_(samples.size.size(), -1) {
        const std::size_t count = products.count(), n = count == 0 ? 0 : products.demand.size() / count;
        for (std::size_t l = 0; l < alive.leaves.size(); ++l) place_[alive.leaves[l]] = static_cast<std::int32_t>(l);
        Demands demands(samples, alive, n);
        // Only what all trees together say rules out quantities.
        std::int32_t met = 0;
        for (std::size_t l = 0; l < alive.tree.size(); ++l) met += l == 0 || alive.tree[l] != alive.tree[l - 1];
        const bool each_tree = met == trees;
        members_ = demands.first;
        lines_.resize(alive.leaves.size() * count);
        bends_.resize(members_.back() * count);
        if (demands.uneven) masses_.resize(bends_.size());
        first_.assign(count + 1, 0);
        for (std::size_t j = 0; j < count; ++j) {
            if (deadline.passed()) return;
            demands.turn_to(products, j);
            const std::vector<double> own = demands.points(products, j, dearest > 0.0);
            // Costs fall after a quantity as long as (holding + backorder) times the share of demands up to it is less
            // than the rate for backorders, and rise where it is more; the price of a unit adds to that.
            const UpTo shares = each_tree ? shares_up_to(own, demands, alive.tree, trees) : UpTo{};
            const double rates = products.holding[j] + products.backorder[j], rate = products.backorder[j];
            steepest_.push_back(rates);
            std::size_t first = 0, last = own.size() - 1;
            for (std::size_t g = 0; g < shares.at.size(); ++g) {
                if (rates * shares.most[g] + dearest < rate - kRounding.stock * (rates + dearest))
                    first = std::min(shares.at[g] + 1, own.size() - 1);
                if (rates * shares.least[g] > rate + kRounding.stock * rates) {
                    last = std::max(shares.at[g], first);
                    break;
                }
            }
            points_.insert(points_.end(), own.begin() + static_cast<std::ptrdiff_t>(first),
                           own.begin() + static_cast<std::ptrdiff_t>(last) + 1);
            first_[j + 1] = points_.size();
            draw(demands, products, j, trees, static_cast<std::int32_t>(first));
        }
        whole_ = true;
    }

    // Whether it was made to the end.
    bool whole() const { return whole_; }
    std::int32_t leaves() const { return static_cast<std::int32_t>(place_.size()); }
    std::int32_t products() const { return static_cast<std::int32_t>(first_.size()) - 1; }
    std::size_t first(std::int32_t product) const { return first_[product]; }
    std::size_t breakpoints() const { return first_.back(); }
    const std::vector<double>& points() const { return points_; }
    // How many demands a leaf holds on average.
    double held() const {
        return static_cast<double>(members_.back()) /
               static_cast<double>(std::max<std::size_t>(1, members_.size() - 1));
    }
    double dearest() const { return dearest_; }
    // What costs of a product can rise or fall by at most, a unit.
    double steepest(std::int32_t product) const { return steepest_[product]; }
    // The breakpoints of every product.
    std::vector<EtaRange> ranges() const {
        std::vector<EtaRange> all;
        for (std::int32_t j = 0; j < products(); ++j)
            all.push_back({static_cast<std::int32_t>(first(j)), static_cast<std::int32_t>(first(j + 1)) - 1});
        return all;
    }

    // Call `use(from, to, cost, slope)` for the lines of a leaf over the breakpoints of a range: what `from` costs, and
    // a further unit up to `to`, where the next one begins.
    template <class Use>
    void each_line(std::int32_t leaf, std::int32_t product, EtaRange range, Use use) const;

    // What a breakpoint of a product costs in a leaf.
    double cost(std::int32_t leaf, std::int32_t product, std::int32_t point) const {
        double found = kInfinity;  // what is never met does not seem to be an explanation
        each_line(leaf, product, {point, point},
                  [&](std::int32_t, std::int32_t, double cost, double) { found = cost; });
        return found;
    }
    // What a unit after a breakpoint of a product adds in a leaf.
    double slope(std::int32_t leaf, std::int32_t product, std::int32_t point) const {
        const std::int32_t place = place_[leaf];
        if (place < 0) return 0.0;
        const Line& own = line(place, product);
        double found = own.slope;
        const std::size_t begin = bend(place, product), end = begin + size(place);
        for (std::size_t i = begin; i < end && bends_[i] <= point; ++i) found += own.rise * mass(i);
        return found;
    }

    // What every breakpoint costs where each tree has one of these leaves; and a unit after every breakpoint.
    void sum(LeafView leaves, std::vector<double>& total, std::vector<double>& slopes) const {
        total.assign(breakpoints(), 0.0);
        slopes.assign(breakpoints(), 0.0);
        const bool met =
            std::all_of(leaves.begin(), leaves.end(), [&](std::int32_t leaf) { return place_[leaf] >= 0; });
        if (!met) std::fill(total.begin(), total.end(), kInfinity);
        for (std::int32_t j = 0; j < products() && met; ++j) {
            double cost = 0.0, slope = 0.0;
            for (const std::int32_t leaf : leaves) {
                const Line& own = line(place_[leaf], j);
                cost += own.cost;
                slope += own.slope;
                const std::size_t from = bend(place_[leaf], j);
                for (std::size_t i = from; i < from + size(place_[leaf]); ++i)
                    if (static_cast<std::size_t>(bends_[i]) < first(j + 1)) total[bends_[i]] += own.rise * mass(i);
            }
            for (std::size_t k = first(j); k < first(j + 1); ++k) {
                slope += total[k];
                total[k] = cost;
                slopes[k] = slope;
                if (k + 1 < first(j + 1)) cost += slope * (points_[k + 1] - points_[k]);
            }
        }
    }

    // Where the least total of every product is.
    std::vector<std::int32_t> least(const std::vector<double>& total) const {
        std::vector<std::int32_t> at;
        for (const auto [first, last] : ranges())
            at.push_back(static_cast<std::int32_t>(std::min_element(total.begin() + first, total.begin() + last + 1) -
                                                   total.begin()));
        return at;
    }

    // The price of a unit, between nothing and the dearest one, under which the least total among these breakpoints,
    // less what a budget costs, is largest: no quantities that keep the budget cost less than that.
    struct Priced {
        double price, least;
    };
    // Where it is lies by the `slopes` that `sum` has told: they never fall, while totals of quantities that are close
    // together differ by rounding alone.
    Priced within(const std::vector<double>& total, const std::vector<double>& slopes, std::span<const EtaRange> ranges,
                  double budget) const {
        if (budget == kInfinity || dearest_ <= 0.0) budget = kInfinity;
        // The least total under a price, and how much is bought; costs along breakpoints are convex.
        double bought = 0.0;
        std::vector<std::int32_t> at;
        const auto least_at = [&](double price) {
            bought = cheapest(price, slopes, ranges, at);
            double sum = price > 0.0 ? -price * budget : 0.0;
            for (const std::int32_t k : at) sum += total[k] + price * points_[k];
            return sum;
        };
        Priced best{0.0, least_at(0.0)};
        if (bought <= budget || total.empty() || total[0] == kInfinity) return best;
        const auto take = [&](double price) {
            if (const double least = least_at(price); least > best.least) best = {price, least};
        };
        double low = 0.0, high = dearest_;
        take(high);
        if (bought > budget) return best;
        for (int i = 0; i < kSettings.plans.halvings; ++i) {
            const double price = 0.5 * (low + high);
            take(price);
            (bought > budget ? low : high) = price;
        }
        return best;
    }

    // The best quantities that keep a budget: so much of `many`, the rest of `few`, both breakpoints of every product.
    // They cost at most `cost`, which is infinite where even at the dearest price more is bought than it allows.
    struct Bought {
        std::vector<std::int32_t> few, many;
        double share = 0.0, cost = kInfinity;
    };

    Bought bought(const std::vector<double>& total, const std::vector<double>& slopes, std::span<const EtaRange> ranges,
                  double budget) const {
        Bought best;
        if (total.empty() || total[0] == kInfinity) return best;
        double most = cheapest(0.0, slopes, ranges, best.many), least = most;
        best.few = best.many;
        if (most > budget) {
            least = cheapest(dearest_, slopes, ranges, best.few);
            if (least > budget) return best;
            double low = 0.0, high = dearest_;
            std::vector<std::int32_t> at;
            for (int i = 0; i < kSettings.plans.halvings; ++i) {
                const double price = 0.5 * (low + high), bought = cheapest(price, slopes, ranges, at);
                (bought > budget ? low : high) = price;
                (bought > budget ? most : least) = bought;
                (bought > budget ? best.many : best.few) = at;
            }
            best.share = (budget - least) / (most - least);
        }
        best.cost = 0.0;
        for (const std::int32_t k : best.few) best.cost += (1.0 - best.share) * total[k];
        for (const std::int32_t k : best.many) best.cost += best.share * total[k];
        return best;
    }

    double quantity(const Bought& bought, std::int32_t product) const {
        return (1.0 - bought.share) * points_[bought.few[product]] + bought.share * points_[bought.many[product]];
    }
    // What a quantity of a product costs in a leaf, between the first and the last one.
    double cost_of(std::int32_t leaf, std::int32_t product, double quantity) const {
        const std::int32_t place = place_[leaf];
        if (place < 0) return kInfinity;
        return line(place, product).cost + rise(leaf, product, points_[first_[product]], quantity);
    }
    // By how much a product costs more in a leaf if its quantity rises between two of the first and the last one.
    double rise(std::int32_t leaf, std::int32_t product, double from, double to) const {
        const std::int32_t place = place_[leaf];
        if (place < 0) return kInfinity;
        const Line& own = line(place, product);
        const std::size_t begin = bend(place, product), end = begin + size(place);
        double steps = 0.0;
        for (std::size_t i = begin; i < end && static_cast<std::size_t>(bends_[i]) < first_[product + 1]; ++i) {
            const double demand = points_[bends_[i]];
            if (demand >= to) break;
            steps += mass(i) * (to - std::max(from, demand));
        }
        return own.slope * (to - from) + own.rise * steps;
    }

private:
    // The demands for one product in the alive leaves, in ascending order: those of leaf i from `first[i]` on.
    class Demands {
    public:
        Demands(const LeafSamples& samples, const Alive& alive, std::size_t n) : begin_(n + 1, 0) {
            first.push_back(0);
            for (const std::int32_t leaf : alive.leaves) {
                const auto members = samples.of(leaf);
                first.push_back(first.back() + members.size());
                for (const std::int32_t i : members) ++begin_[static_cast<std::size_t>(i) + 1];
            }
            std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
            total.reserve(alive.leaves.size());
            for (const std::int32_t leaf : alive.leaves) total.push_back(samples.total(leaf));
            holder_.resize(first.back());
            std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
            for (std::size_t l = 0; l < alive.leaves.size(); ++l)
                for (const std::int32_t i : samples.of(alive.leaves[l]))
                    holder_[next[i]++] = static_cast<std::int32_t>(l);
            samples_.resize(first.back());
            mass_.resize(n);
            for (std::size_t i = 0; i < n; ++i) mass_[i] = samples.mass_of(static_cast<std::int32_t>(i));
            uneven = std::any_of(mass_.begin(), mass_.end(), [](double mass) { return mass != 1.0; });
            order_.resize(n);
        }

        // Turn to a product: sorted once, the samples are dealt out to the leaves.
        void turn_to(const Products& products, std::size_t j) {
            const std::size_t count = products.count();
            const auto demand = [&](std::size_t i) { return products.demand[i * count + j]; };
            std::iota(order_.begin(), order_.end(), std::size_t{0});
            std::sort(order_.begin(), order_.end(),
                      [&](std::size_t a, std::size_t b) { return demand(a) < demand(b); });
            next_.assign(first.begin(), first.end() - 1);
            for (const std::size_t i : order_)
                for (std::size_t at = begin_[i]; at < begin_[i + 1]; ++at)
                    samples_[next_[holder_[at]]++] = static_cast<std::int32_t>(i);
            values_.resize(order_.size());
            for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = demand(i);
        }

        // Of the i-th one of all leaves: the demand, what it counts for, and the first quantity that meets it.
        double value(std::size_t i) const { return values_[samples_[i]]; }
        double mass(std::size_t i) const { return mass_[samples_[i]]; }
        std::int32_t rank(std::size_t i) const { return rank_[samples_[i]]; }

        // The quantities that can be best: every demand once, as far as the limits let it; and the least one, where a
        // unit has a price.
        std::vector<double> points(const Products& products, std::size_t j, bool priced) {
            std::vector<double> own;
            if (priced) own.push_back(products.lower[j]);
            for (const std::size_t i : order_) {
                const double demand = products.demand[i * products.count() + j];
                own.push_back(std::min(std::max(demand, products.lower[j]), products.upper[j]));
            }
            own.erase(std::unique(own.begin(), own.end()), own.end());
            rank_.clear();
            for (const double value : values_)
                rank_.push_back(
                    static_cast<std::int32_t>(std::lower_bound(own.begin(), own.end(), value) - own.begin()));
            return own;
        }

        std::vector<std::size_t> first;
        std::vector<double> total;  // of the masses in each leaf
        bool uneven = false;        // whether samples do not count alike

    private:
        std::vector<double> mass_, values_;  // of each sample
        std::vector<std::int32_t> rank_, samples_;
        std::vector<std::size_t> begin_;    // of each sample, where the leaves that hold it begin
        std::vector<std::int32_t> holder_;  // and which they are
        std::vector<std::size_t> order_, next_;
    };
    struct Line {
        double cost, slope, rise;  // of the first breakpoint, before it, and by a demand that counts for 1
    };

    // Draw the lines of every leaf for a product, of whose first quantities so many were left out.
    void draw(const Demands& demands, const Products& products, std::size_t j, std::int32_t trees,
              std::int32_t left_out) {
        const auto begin = static_cast<std::int32_t>(first_[j]), end = static_cast<std::int32_t>(first_[j + 1]);
        const double origin = points_[begin];
        const auto product = static_cast<std::int32_t>(j);
        for (std::int32_t l = 0; l + 1 < static_cast<std::int32_t>(members_.size()); ++l) {
            const std::size_t first = demands.first[l], to = bend(l, product);
            const double share = 1.0 / (demands.total[l] * trees);
            double over = 0.0, under = 0.0;
            for (std::size_t i = 0; i < size(l); ++i) {
                const double demand = demands.value(first + i), mass = demands.mass(first + i);
                (demand < origin ? over : under) += mass * std::abs(demand - origin);
                bends_[to + i] = std::clamp(begin + demands.rank(first + i) - left_out, begin, end);
                if (!masses_.empty()) masses_[to + i] = mass;
            }
            lines_[static_cast<std::size_t>(l) * products.count() + j] = {
                share * (products.holding[j] * over + products.backorder[j] * under), -products.backorder[j] / trees,
                share * (products.holding[j] + products.backorder[j])};
        }
    }

    const Line& line(std::int32_t place, std::int32_t product) const {
        return lines_[static_cast<std::size_t>(place) * static_cast<std::size_t>(products()) +
                      static_cast<std::size_t>(product)];
    }
    // Where the demands of a leaf for a product begin among all of them.
    std::size_t bend(std::int32_t place, std::int32_t product) const {
        return members_[place] * static_cast<std::size_t>(products()) + static_cast<std::size_t>(product) * size(place);
    }
    std::size_t size(std::int32_t place) const { return members_[place + 1] - members_[place]; }
    double mass(std::size_t bend) const { return masses_.empty() ? 1.0 : masses_[bend]; }
    // The cheapest breakpoints where a unit has a price besides, and how many units that is.
    double cheapest(double price, const std::vector<double>& slopes, std::span<const EtaRange> ranges,
                    std::vector<std::int32_t>& at) const {
        double bought = 0.0;
        at.clear();
        for (const auto [first, last] : ranges) {
            const std::int32_t low =
                first_without(first, last, [&](std::int32_t k) { return slopes[k] + price < 0.0; });
            at.push_back(low);
            bought += points_[low];
        }
        return bought;
    }

    bool whole_ = false;
    double dearest_;
    std::vector<double> steepest_;
    std::vector<std::size_t> first_;    // breakpoint of each product, and the end
    std::vector<double> points_;        // the quantities
    std::vector<std::int32_t> place_;   // of each leaf among the alive ones, -1 for others
    std::vector<std::size_t> members_;  // of each alive leaf, where its samples begin
    std::vector<Line> lines_;           // by alive leaf and product
    std::vector<std::int32_t> bends_;   // by alive leaf, product and demand: the first breakpoint that meets it
    std::vector<double> masses_;        // what each counts for, where they do not count alike
};

template <class Use>
void StockTable::each_line(std::int32_t leaf, std::int32_t product, EtaRange range, Use use) const {
    const std::int32_t place = place_[leaf];
    if (place < 0) return;
    const Line& own = line(place, product);
    std::size_t next = bend(place, product);
    const std::size_t end = next + size(place);
    auto from = static_cast<std::int32_t>(first_[product]);
    double cost = own.cost, slope = own.slope;
    while (true) {
        for (; next < end && bends_[next] <= from; ++next) slope += own.rise * mass(next);
        const std::int32_t to = next < end ? std::min(bends_[next], range.last) : range.last;
        if (to >= range.first) {
            const std::int32_t begin = std::max(from, range.first);
            use(begin, to, cost + slope * (points_[begin] - points_[from]), slope);
        }
        if (to >= range.last) return;
        cost += slope * (points_[to] - points_[from]);
        from = to;
    }
}

// What the quantities of a table cost at the leaves of a context: all breakpoints, and a unit after each of them.
struct StockSums {
    const StockTable* of = nullptr;
    Leaves at;
    std::vector<double> costs, slopes;

    void find(const StockTable& table, LeafView leaves) {
        if (of == &table && std::equal(leaves.begin(), leaves.end(), at.begin(), at.end())) return;
        table.sum(leaves, costs, slopes);
        of = &table;
        at.assign(leaves.begin(), leaves.end());
    }
};

// A limit on one product that sets quantities apart from all others: at least, or at most, so much of it.
struct StockLimit {
    std::int32_t product;
    double quantity;
    bool at_least;
};

// Why no quantities that keep a limit are the best of all: it would pay to exchange a step of the product for one of
// another.
//
// Take quantities z with at least q of product j, and any m_k of the others that use up what the budget leaves beside
// q. Some z_k is at most m_k. As costs are convex, a step less of j saves at least what the one below q does, and a
// step more of k costs at most what the one above m_k does. So where z is the best, up to tau, of all, there is a
// product k with [step below q of j] - [step above m_k of k] <= tau: one sum over trees for every other product.
// Without a budget it is the step of j alone; with "at most" everything is the other way round, and a budget that is
// not used up is like one more product.
class StockExchange {
public:
    // A step of the product, in exchange for one of another from a quantity on; of none where that is -1.
    struct Offer {
        std::int32_t other;
        double from;
    };
    struct Offers {
        double step = 0.0;
        std::vector<Offer> any;  // none of them may pay: there is none where this is not known to be so
    };

    StockExchange(const StockTable& all, StockLimit limit, double budget) : all_(all), limit_(limit), budget_(budget) {
        const auto [first, last] = all.ranges()[limit.product];
        // Beyond the quantities of the table nothing is known of costs but that they rise, or fall, by more.
        own_ = std::clamp(limit.quantity, all.points()[first], all.points()[last]);
        range_ = all.points()[last] - all.points()[first];
        for (const double point : all.points()) reach_ = std::max(reach_, std::abs(point));
    }

    // Steps that all pay, by more than tau, where the trees have these leaves.
    Offers offers(LeafView leaves, double tau, StockSums& sums) const {
        // Within a tolerance a limit may ask for more than the budget: then no exchange keeps it.
        if (limit_.at_least && limit_.quantity > budget_) return {};
        sums.find(all_, leaves);
        const std::vector<double>&total = sums.costs, &slopes = sums.slopes;
        std::vector<EtaRange> ranges = all_.ranges();
        const StockTable::Bought best = all_.bought(total, slopes, ranges, budget_);
        if (best.cost == kInfinity) return {};
        const std::int32_t j = limit_.product;
        const double sign = limit_.at_least ? 1.0 : -1.0;
        const double missed = sign * (limit_.quantity - all_.quantity(best, j));
        const double step =
            std::min(kSettings.plans.exchanged * range_, 0.5 * missed / static_cast<double>(all_.products()));
        const double end = all_.points()[limit_.at_least ? ranges[j].first : ranges[j].last];
        if (step <= 0.0 || sign * (own_ - end) < step) return {};
        const double enough = tau + kRounding.stock * largest({step, {}});
        const Offers alone{step, {{-1, 0.0}}};
        const bool pays = least_gain(leaves, alone) > enough;
        // Less of a product always keeps the budget.
        if (budget_ == kInfinity || (pays && limit_.at_least)) return pays ? alone : Offers{};
        if (all_.products() == 1) return {};
        const double left = beside() - (limit_.at_least ? 0.0 : step);
        ranges[j] = {ranges[j].first, ranges[j].first};
        const StockTable::Bought rest = all_.bought(total, slopes, ranges, left + all_.points()[ranges[j].first]);
        Offers found;
        double most = enough;
        for (const double part : {0.0, 0.5, 1.0}) {
            if (part < 1.0 && rest.cost == kInfinity) continue;
            Offers made = between(best, part < 1.0 ? rest : best, left, step, part);
            const double gained = least_gain(leaves, made);
            if (gained <= most) continue;
            most = gained;
            found = std::move(made);
        }
        if (found.any.empty() && spreads()) {
            ListedLeaves each{{leaves.begin(), leaves.end()}, std::vector<std::int32_t>(leaves.size() + 1)};
            std::iota(each.from.begin(), each.from.end(), 0);
            const std::vector<double> here = furthest(each, step, enough);
            double all = 0.0, least = 0.0;
            for (const double most : here) all += most;
            for (std::int32_t k = 0; k < all_.products(); ++k)
                if (k != j) least += all_.points()[all_.ranges()[k].first];
            if (!(all > left) || all <= least) return found;
            found.step = step;
            for (std::int32_t k = 0, i = 0; k < all_.products(); ++k) {
                if (k == j) continue;
                const double first = all_.points()[all_.ranges()[k].first];
                found.any.push_back({k, first + (here[i++] - first) * std::max(0.0, left - least) / (all - least)});
            }
        }
        return found;
    }

    // Whether products are exchanged for all others, which use up what the budget leaves beside the limit.
    bool spreads() const { return limit_.at_least && budget_ < kInfinity && all_.products() > 1; }
    // How much that is, with a hair more than rounding can amount to.
    double beside() const {
        return budget_ - limit_.quantity + (limit_.at_least ? 1.0 : -1.0) * kRounding.budget * std::abs(budget_);
    }

    // Of every other product the quantity from which on, at last, an exchange for a step of it gains more than enough,
    // whichever of these leaves the trees have: about that or less, and less than everything where there is none.
    std::vector<double> furthest(const ListedLeaves& listed, double step, double enough) const {
        std::vector<double> saved, found;
        for (const std::int32_t leaf : listed.leaves) saved.push_back(gain(leaf, {-1, 0.0}, step));
        const std::vector<EtaRange> ranges = all_.ranges();
        for (std::int32_t k = 0; k < all_.products(); ++k) {
            if (k == limit_.product) continue;
            const auto pays = [&](double from) {
                double total = 0.0;
                for (std::int32_t t = 0; t < listed.trees(); ++t) {
                    double least = kInfinity;
                    for (std::int32_t i = listed.from[t]; i < listed.from[t + 1]; ++i)
                        least = std::min(least, saved[i] - all_.rise(listed.leaves[i], k, from, from + step));
                    total += least;
                }
                return total > enough;
            };
            double low = all_.points()[ranges[k].first], high = all_.points()[ranges[k].last] - step;
            if (high < low || !pays(low)) {
                found.push_back(-kInfinity);
                continue;
            }
            if (pays(high)) low = high;
            for (int i = 0; i < kSettings.plans.spread_halvings && low < high; ++i) {
                const double middle = 0.5 * (low + high);
                (pays(middle) ? low : high) = middle;
            }
            found.push_back(low);
        }
        return found;
    }

    // Exchanges with all others from quantities between those up to which they pay in a whole box and at its
    // projection, such that they use up what is left; none where they need not, for no exchange of the box fails to
    // pay.
    std::optional<Offers> spread(const ListedLeaves& listed, LeafView here, const Offers& given, double enough) const {
        const double alone = least_sum(
            listed, [&](std::int32_t i) { return gain(listed.leaves[i], {-1, 0.0}, given.step); },
            [](std::int32_t, const Least&) {});
        const std::vector<double> box = furthest(listed, given.step, enough);
        const double left = beside();
        if (alone > enough || std::accumulate(box.begin(), box.end(), 0.0) >= left) return {};
        ListedLeaves each{{here.begin(), here.end()}, std::vector<std::int32_t>(here.size() + 1)};
        std::iota(each.from.begin(), each.from.end(), 0);
        const std::vector<double> own = furthest(each, given.step, enough);
        Offers made{given.step, {}};
        const std::vector<EtaRange> ranges = all_.ranges();
        double low = 0.0, high = 0.0;
        std::vector<double> from;
        for (std::int32_t k = 0, i = 0; k < all_.products(); ++k) {
            if (k == limit_.product) continue;
            from.push_back(std::max(box[i++], all_.points()[ranges[k].first]));
            low += from.back();
        }
        for (const double most : own) high += most;
        if (!(high > left)) return given;
        const double part = low >= left ? 0.0 : (left - low) / (high - low);
        for (std::int32_t k = 0, i = 0; k < all_.products(); ++k) {
            if (k == limit_.product) continue;
            made.any.push_back({k, from[i] + part * (own[i] - from[i])});
            ++i;
        }
        return made;
    }

    // What a leaf says an exchange gains.
    double gain(std::int32_t leaf, Offer offer, double step) const {
        const std::int32_t j = limit_.product;
        double gained =
            limit_.at_least ? all_.rise(leaf, j, own_ - step, own_) : -all_.rise(leaf, j, own_, own_ + step);
        if (offer.other >= 0)
            gained -= limit_.at_least ? all_.rise(leaf, offer.other, offer.from, offer.from + step)
                                      : -all_.rise(leaf, offer.other, offer.from - step, offer.from);
        return gained;
    }
    // What all trees together can say of a step at most, either way.
    double largest(const Offers& offers) const {
        double steepest = 0.0;
        for (std::int32_t k = 0; k < all_.products(); ++k) steepest = std::max(steepest, all_.steepest(k));
        return 2.0 * steepest * (offers.step + reach_);  // quantities themselves are rounded, too
    }

private:
    double least_gain(LeafView leaves, const Offers& offers) const {
        double least = kInfinity;
        for (const Offer offer : offers.any) {
            double total = 0.0;
            for (const std::int32_t leaf : leaves) total += gain(leaf, offer, offers.step);
            least = std::min(least, total);
        }
        return offers.any.empty() ? -kInfinity : least;
    }

    // Exchanges with every other product, from quantities on that use up what is `left`: between those of the best
    // plan, all moved alike, and the best ones beside the limit. None where the table does not reach that far.
    Offers between(const StockTable::Bought& best, const StockTable::Bought& rest, double left, double step,
                   double part) const {
        Offers made{step, {}};
        const std::int32_t count = all_.products();
        double all = 0.0, beside = 0.0;
        for (std::int32_t k = 0; k < count; ++k) {
            if (k == limit_.product) continue;
            all += all_.quantity(best, k);
            beside += all_.quantity(rest, k);
        }
        const double moved = (left - all) / (count - 1), further = (left - beside) / (count - 1);
        const auto ranges = all_.ranges();
        for (std::int32_t k = 0; k < count; ++k) {
            if (k == limit_.product) continue;
            double from = part * (all_.quantity(best, k) + moved) + (1.0 - part) * (all_.quantity(rest, k) + further);
            const double first = all_.points()[ranges[k].first], last = all_.points()[ranges[k].last];
            // A step that is nearer than the one in question costs no less, or saves no more.
            from = limit_.at_least ? std::max(from, first) : std::min(from, last);
            if (limit_.at_least ? from + step > last : from - step < first) return {};
            made.any.push_back({k, from});
        }
        if (!limit_.at_least) made.any.push_back({-1, 0.0});  // what is left of the budget
        return made;
    }

    const StockTable& all_;
    StockLimit limit_;
    double budget_, own_, range_, reach_ = 0.0;
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
