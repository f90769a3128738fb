// The least cost of rows that are gathered one by one: what a decision-aware tree chooses its splits by.
//
// A split is worth what it takes off the cost of the best plan, if both sides may have their own. Costs are sums over
// the gathered rows, each as often as its weight says.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace whence {

// Rows of the history that were gathered so far.
class Gathered {
public:
    virtual ~Gathered() = default;
    virtual void clear() = 0;
    virtual void add(int row, double weight) = 0;
    // Cost of the best plan for the rows gathered.
    virtual double least() = 0;

    // For every cut (a number of rows before it), the least costs of the rows before and after it together.
    void of_cuts(std::span<const int> rows, std::span<const double> weights, std::span<const int> cuts,
                 std::span<double> costs);
    // The least cost of all rows.
    double of_all(std::span<const int> rows, std::span<const double> weights);
};

// A problem and a history, of which several threads may gather rows.
class LeastCosts {
public:
    virtual ~LeastCosts() = default;
    virtual std::size_t rows() const = 0;
    virtual std::unique_ptr<Gathered> gather() const = 0;
};

// Quantities of several products under expected cost. Without a budget the best one is a quantile. With a budget, a
// multiplier makes every unit dearer; what is cheapest then, less what the budget would cost, is nowhere above the
// least cost, and equal to it for the right multiplier. The largest over some multipliers is taken.
class StockCosts : public LeastCosts {
public:
    struct Budget {
        double units = 0.0;
        std::vector<double> multipliers{0.0};
    };

    // Demands by row and product, at least 0; holding and backorder cost a unit, one each a product.
    StockCosts(std::vector<double> demands, std::vector<double> holding, std::vector<double> backorder, Budget budget);
    std::size_t rows() const override { return demands_.size() / holding_.size(); }
    std::unique_ptr<Gathered> gather() const override;

private:
    std::vector<double> demands_, holding_, backorder_;
    Budget budget_;
};

// Routes of a network without cycles, under expected cost: dynamic programming.
class RouteCosts : public LeastCosts {
public:
    struct Arc {
        int from, edge, to;
    };

    // Costs by row and edge; arcs such that all that leave a node come after all that leave the nodes behind it.
    RouteCosts(std::vector<double> costs, std::size_t edges, std::vector<Arc> arcs, int nodes, int source, int target);
    std::size_t rows() const override { return costs_.size() / arcs_.size(); }
    std::unique_ptr<Gathered> gather() const override;

private:
    std::vector<double> costs_;  // by row and arc, in the order of the arcs
    std::vector<Arc> arcs_;
    int nodes_, source_, target_;
};

// Plans that are tried: what each row counts for under each of them.
class PlanCosts : public LeastCosts {
public:
    PlanCosts(std::vector<double> values, std::size_t plans);
    std::size_t rows() const override { return rows_; }
    std::unique_ptr<Gathered> gather() const override;

private:
    std::size_t rows_, width_;    // plans, made up to full lanes
    std::vector<double> values_;  // by row and plan
};

}  // namespace whence
