// Quantities that are chosen one by one: some quantities of the set must not cost more than a rival, plus tau.
//
// The best quantity of a product is one of its past demands, a breakpoint. The least cost over all of them is no sum
// over trees, so that it is bounded by one: what the trees say at the projection about moving to another breakpoint is
// shared out among the trees that are not decided, and each of these may then choose breakpoints of its own. A box
// carries the range of breakpoints of every product that can be best somewhere in it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/deadline.hpp"
#include "criteria/mean_criterion.hpp"
#include "criteria/tail_criterion.hpp"

namespace whence {

// What every breakpoint of every product costs on average in each leaf, divided by the number of trees.
class StockTable {
public:
    // Demands by sample and product, one row after the other; rates and limits one a product.
    struct Products {
        std::span<const double> demand, holding, backorder, lower, upper;
        std::size_t count() const { return holding.size(); }
    };

    // The leaves that the table is about, in their order, and the tree of each where that is known. Breakpoints that
    // are best nowhere, whichever of them each tree has, are left out, and so are the rows of all other leaves.
    struct Alive {
        std::span<const std::int32_t> leaves, tree;
    };
    // The table ends where it would hold more than so many numbers, or where the deadline has passed.
    struct Limits {
        std::size_t numbers = std::numeric_limits<std::size_t>::max();
        Deadline deadline{};
    };

    StockTable(const LeafSamples& samples, const Products& products, std::int32_t trees, const Alive& alive,
               const Limits& limits);

    // Whether it was made to the end.
    bool whole() const { return whole_; }
    std::int32_t leaves() const { return leaves_; }
    std::int32_t products() const { return static_cast<std::int32_t>(first_.size()) - 1; }
    std::size_t first(std::int32_t product) const { return first_[product]; }
    std::size_t breakpoints() const { return first_.back(); }
    const double* row(std::int32_t leaf) const {
        return values_.data() + static_cast<std::size_t>(place_[leaf]) * breakpoints();
    }
    const std::vector<double>& points() const { return points_; }

    // What every breakpoint costs where each tree has one of these leaves.
    void sum(LeafView leaves, std::vector<double>& total) const;
    // The least total of every product, all together; where it is goes to `at`.
    double least(const std::vector<double>& total, std::vector<std::int32_t>* at = nullptr) const;

private:
    class Demands;

    void write(const Demands& demands, const Products& products, std::size_t j, std::int32_t trees, double origin);

    std::int32_t leaves_;
    bool whole_ = false;
    std::vector<std::size_t> first_;   // breakpoint of each product, and the end
    std::vector<double> points_;       // the quantities
    std::vector<std::int32_t> place_;  // of each leaf: its row, the first one for those that are not alive
    std::vector<double> values_;       // by row and breakpoint
};

class StockCriterion final : public MeanCriterion {
public:
    // Against a rival that costs `rival` in each leaf (its mean over the leaf's samples, divided by the number of
    // trees), and against the best quantities of `all` where they are given and keep the budget. The set's own
    // quantities need not keep it: then the criterion is less than what is asked for, and whoever asks judges its
    // candidates again.
    StockCriterion(std::shared_ptr<const StockTable> table, std::vector<double> rival,
                   std::shared_ptr<const StockTable> all, double budget);

    std::size_t breakpoints() const { return table_->breakpoints() + (all_ == nullptr ? 0 : all_->breakpoints()); }

    Excess excess(LeafView leaves, EtaRange etas, std::span<std::int32_t> levels) const override;
    void lean(OpenBox& open) const override;
    bool bound(OpenBox& open, double tau) const override;

protected:
    const double* row(const OpenBox& open, std::int32_t) const override { return room(open).rows[0].data(); }

private:
    void narrow(OpenBox& open, const std::vector<double>& here) const;
    std::vector<double> against(const OpenBox& open) const;
    bool affordable(const std::vector<std::int32_t>& at) const;

    std::shared_ptr<const StockTable> table_, all_;
    std::vector<double> rival_;
    double budget_;
};

}  // namespace whence
