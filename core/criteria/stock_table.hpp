// What quantities cost in every leaf, chosen one by one.
//
// The best quantity of a product is one of its past demands, a breakpoint, or lies between two of them where a budget
// is shared.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/settings.hpp"
#include "forest/open_box.hpp"

namespace whence {

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
}  // namespace whence
