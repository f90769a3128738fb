// Quantities that are chosen one by one: some quantities of the set must not cost more than a rival, plus tau.
//
// The best quantity of a product is one of its past demands, a breakpoint. The least cost over all of them is no sum
// over trees, so that it is bounded by one: what the trees say at the projection about moving to another breakpoint is
// shared out among the trees that are not decided, and each of these may then choose breakpoints of its own. A box
// carries the range of breakpoints of every product that can be best somewhere in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/deadline.hpp"
#include "criteria/mean_criterion.hpp"
#include "criteria/tail_criterion.hpp"

namespace whence {

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
               double dearest = 0.0, const Deadline& deadline = {});

    // Whether it was made to the end.
    bool whole() const { return whole_; }
    std::int32_t leaves() const { return static_cast<std::int32_t>(place_.size()); }
    std::int32_t products() const { return static_cast<std::int32_t>(first_.size()) - 1; }
    std::size_t first(std::int32_t product) const { return first_[product]; }
    std::size_t breakpoints() const { return first_.back(); }
    const std::vector<double>& points() const { return points_; }
    double dearest() const { return dearest_; }
    // What costs of a product can rise or fall by at most, a unit.
    double steepest(std::int32_t product) const { return steepest_[product]; }
    // The breakpoints of every product.
    std::vector<EtaRange> ranges() const;

    // Call `use(from, to, cost, slope)` for the lines of a leaf over the breakpoints of a range: what `from` costs, and
    // a further unit up to `to`, where the next one begins.
    template <class Use>
    void each_line(std::int32_t leaf, std::int32_t product, EtaRange range, Use use) const;

    // What a breakpoint of a product costs in a leaf.
    double cost(std::int32_t leaf, std::int32_t product, std::int32_t point) const;
    // What a unit after a breakpoint of a product adds in a leaf.
    double slope(std::int32_t leaf, std::int32_t product, std::int32_t point) const;
    // What every breakpoint costs where each tree has one of these leaves; and a unit after every breakpoint.
    void sum(LeafView leaves, std::vector<double>& total, std::vector<double>* slopes = nullptr) const;
    // The least total of every product, all together; where it is goes to `at`.
    double least(const std::vector<double>& total, std::vector<std::int32_t>* at = nullptr) const;

    // The price of a unit, between nothing and the dearest one, under which the least total among these breakpoints,
    // less what a budget costs, is largest: no quantities that keep the budget cost less than that.
    struct Priced {
        double price, least;
    };
    // Where it is lies by the `slopes` that `sum` has told: they never fall, while totals of quantities that are close
    // together differ by rounding alone.
    Priced within(const std::vector<double>& total, const std::vector<double>& slopes, std::span<const EtaRange> ranges,
                  double budget) const;

    // The best quantities that keep a budget: so much of `many`, the rest of `few`, both breakpoints of every product.
    // They cost at most `cost`, which is infinite where even at the dearest price more is bought than it allows.
    struct Bought {
        std::vector<std::int32_t> few, many;
        double share = 0.0, cost = kInfinity;
    };
    Bought bought(const std::vector<double>& total, const std::vector<double>& slopes, std::span<const EtaRange> ranges,
                  double budget) const;
    double quantity(const Bought& bought, std::int32_t product) const {
        return (1.0 - bought.share) * points_[bought.few[product]] + bought.share * points_[bought.many[product]];
    }
    // By how much a product costs more in a leaf if its quantity rises between two of the first and the last one.
    double rise(std::int32_t leaf, std::int32_t product, double from, double to) const;

private:
    class Demands;
    struct Line {
        double cost, slope, rise;  // of the first breakpoint, before it, and by a demand that counts for 1
    };

    void draw(const Demands& demands, const Products& products, std::size_t j, std::int32_t trees,
              std::int32_t left_out);
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
                    std::vector<std::int32_t>& at) const;

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

    StockExchange(const StockTable& all, StockLimit limit, double budget);

    // Steps that all pay, by more than tau, where the trees have these leaves.
    Offers offers(LeafView leaves, double tau) const;
    // What a leaf says an exchange gains.
    double gain(std::int32_t leaf, Offer offer, double step) const;
    // What all trees together can say of a step at most, either way.
    double largest(const Offers& offers) const;

private:
    double least_gain(LeafView leaves, const Offers& offers) const;
    Offers between(const StockTable::Bought& best, const StockTable::Bought& rest, double left, double step,
                   double part) const;

    const StockTable& all_;
    StockLimit limit_;
    double budget_, own_, range_, reach_ = 0.0;
};

class StockCriterion final : public MeanCriterion {
public:
    // Against a rival that costs `rival` in each leaf (its mean over the leaf's samples, divided by the number of
    // trees), and against the best quantities of `all` where they are given and keep the budget. The set's own
    // quantities keep it as far as the table's prices of a unit see to that: where they do not, the criterion is less
    // than what is asked for, and whoever asks judges its candidates again.
    // A `limit` is all that sets the quantities of the one table apart from those of the other.
    StockCriterion(std::shared_ptr<const StockTable> table, std::vector<double> rival,
                   std::shared_ptr<const StockTable> all, double budget, std::optional<StockLimit> limit = {});

    std::size_t breakpoints() const { return table_->breakpoints() + (all_ == nullptr ? 0 : all_->breakpoints()); }

    Excess excess(LeafView leaves, EtaRange etas, std::span<std::int32_t> levels) const override;
    void lean(OpenBox& open) const override;
    bool bound(OpenBox& open, double tau) const override;

protected:
    const double* row(const OpenBox& open, std::int32_t) const override { return room(open).rows[0].data(); }

private:
    void narrow(OpenBox& open, std::span<const double> slopes, double price) const;
    double lean_priced(OpenBox& open) const;
    bool is_large(const OpenBox& open) const;
    bool guide(OpenBox& open) const;
    std::vector<double> against(const OpenBox& open) const;
    bool bound_exchanges(OpenBox& open, const StockExchange::Offers& offers, double tau) const;

    std::shared_ptr<const StockTable> table_, all_;
    std::vector<double> rival_;
    double budget_;
    std::optional<StockExchange> exchange_;
};

}  // namespace whence
