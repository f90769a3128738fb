// The least cost of rows that are gathered one by one: what a decision-aware tree chooses its splits by.
//
// A split is worth what it takes off the cost of the best plan, if both sides may have their own. Costs are sums over
// the gathered rows, each as often as its weight says.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/settings.hpp"
#include "routes/network.hpp"

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
                 std::span<double> costs) {
        clear();
        int at = 0;
        for (std::size_t c = 0; c < cuts.size(); ++c) {
            for (; at < cuts[c]; ++at) add(rows[at], weights[at]);
            costs[c] = least();
        }
        clear();
        at = static_cast<int>(rows.size());
        for (std::size_t c = cuts.size(); c-- > 0;) {
            while (at > cuts[c]) {
                --at;
                add(rows[at], weights[at]);
            }
            costs[c] += least();
        }
    }

    // The least cost of all rows.
    double of_all(std::span<const int> rows, std::span<const double> weights) {
        clear();
        for (std::size_t i = 0; i < rows.size(); ++i) add(rows[i], weights[i]);
        return least();
    }
};

// Sums over the rows, one by one: so many numbers a row.
class Sums : public Gathered {
public:
    Sums(std::span<const double> values, std::size_t width) : sums_(width), values_(values) {}

    void clear() override { std::ranges::fill(sums_, 0.0); }
    void add(int row, double weight) override {
        const double* const value = values_.data() + static_cast<std::size_t>(row) * sums_.size();
        for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += weight * value[i];
    }

protected:
    std::vector<double> sums_;

private:
    std::span<const double> values_;
};

// A problem and a history, of which several threads may gather rows.
class LeastCosts {
public:
    virtual ~LeastCosts() = default;
    virtual std::size_t rows() const = 0;
    virtual std::unique_ptr<Gathered> gather() const = 0;
};

struct Demand {
    double value, weight;
};

inline bool smaller(const Demand& a, const Demand& b) { return a.value < b.value; }
inline bool larger(const Demand& a, const Demand& b) { return a.value > b.value; }

// The demands of one product, parted at the best quantity: the smallest of them that covers its share of the weight.
class Parted {
public:
    void clear() {
        below_.clear();
        above_.clear();
        weight_below_ = weight_above_ = sum_below_ = sum_above_ = 0.0;
    }

    void add(Demand demand, double share) {
        if (!below_.empty() && demand.value >= below_.front().value) {
            raise(demand);
        } else {
            lower(demand);
        }
        while (weight_below_ < share * (weight_below_ + weight_above_) && !above_.empty()) lower(taken(above_, larger));
        while (!below_.empty() && weight_below_ - below_.front().weight >= share * (weight_below_ + weight_above_)) {
            raise(taken(below_, smaller));
        }
    }

    // Each unit costs a multiplier beside.
    double cost(double holding, double backorder, double multiplier) const {
        // Without any below, nothing is to be ordered, whatever is short.
        const double quantity = below_.empty() ? 0.0 : below_.front().value;
        return holding * (quantity * weight_below_ - sum_below_) + backorder * (sum_above_ - quantity * weight_above_) +
               multiplier * quantity * (weight_below_ + weight_above_);
    }

private:
    Demand taken(std::vector<Demand>& heap, bool (*order)(const Demand&, const Demand&)) {
        std::pop_heap(heap.begin(), heap.end(), order);
        const Demand demand = heap.back();
        heap.pop_back();
        double& weight = &heap == &below_ ? weight_below_ : weight_above_;
        double& sum = &heap == &below_ ? sum_below_ : sum_above_;
        weight -= demand.weight;
        sum -= demand.weight * demand.value;
        return demand;
    }

    void lower(Demand demand) {
        below_.push_back(demand);
        std::push_heap(below_.begin(), below_.end(), smaller);
        weight_below_ += demand.weight;
        sum_below_ += demand.weight * demand.value;
    }

    void raise(Demand demand) {
        above_.push_back(demand);
        std::push_heap(above_.begin(), above_.end(), larger);
        weight_above_ += demand.weight;
        sum_above_ += demand.weight * demand.value;
    }

    std::vector<Demand> below_, above_;  // heaps: the largest on top, the smallest on top
    double weight_below_ = 0.0, weight_above_ = 0.0, sum_below_ = 0.0, sum_above_ = 0.0;
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
    StockCosts(std::vector<double> demands, std::vector<double> holding, std::vector<double> backorder, Budget budget)
        : demands_(std::move(demands)),
          holding_(std::move(holding)),
          backorder_(std::move(backorder)),
          budget_(std::move(budget)) {
        for (const double multiplier : budget_.multipliers) {
            for (std::size_t j = 0; j < holding_.size(); ++j)
                shares_.push_back(std::max(0.0, backorder_[j] - multiplier) / (holding_[j] + backorder_[j]));
        }
    }

    std::size_t rows() const override { return demands_.size() / holding_.size(); }
    std::unique_ptr<Gathered> gather() const override { return std::make_unique<Rows>(*this); }

private:
    class Rows : public Gathered {
    public:
        explicit Rows(const StockCosts& all) : all_(all), parted_(all.shares_.size()) {}

        void clear() override {
            for (Parted& product : parted_) product.clear();
            weight_ = 0.0;
        }

        void add(int row, double weight) override {
            const std::size_t products = all_.holding_.size();
            const double* const demand = all_.demands_.data() + static_cast<std::size_t>(row) * products;
            for (std::size_t k = 0; k < parted_.size(); ++k)
                parted_[k].add({demand[k % products], weight}, all_.shares_[k]);
            weight_ += weight;
        }

        double least() override {
            double largest = -kInfinity;
            auto product = parted_.begin();
            for (const double multiplier : all_.budget_.multipliers) {
                double total = -multiplier * all_.budget_.units * weight_;
                for (std::size_t j = 0; j < all_.holding_.size(); ++j, ++product)
                    total += product->cost(all_.holding_[j], all_.backorder_[j], multiplier);
                largest = std::max(largest, total);
            }
            return largest;
        }

    private:
        const StockCosts& all_;
        std::vector<Parted> parted_;  // by multiplier and product
        double weight_ = 0.0;
    };

    std::vector<double> demands_, holding_, backorder_;
    Budget budget_;
    std::vector<double> shares_;  // of the weight that the best quantity covers, by multiplier and product
};

// Routes of a network without cycles, under expected cost: dynamic programming.
class RouteCosts : public LeastCosts {
public:
    // Costs by row and edge.
    RouteCosts(std::span<const double> costs, std::size_t edges, Network network) : network_(std::move(network)) {
        for (std::size_t row = 0; row < costs.size(); row += edges)
            for (const Arc& arc : network_.arcs()) costs_.push_back(costs[row + static_cast<std::size_t>(arc.edge)]);
    }

    std::size_t rows() const override { return costs_.size() / network_.arcs().size(); }
    std::unique_ptr<Gathered> gather() const override { return std::make_unique<Rows>(*this); }

private:
    class Rows : public Sums {
    public:
        explicit Rows(const RouteCosts& all) : Sums(all.costs_, all.network_.arcs().size()), network_(all.network_) {}

        double least() override {
            return network_.cheapest(distance_, [&](std::size_t a) { return sums_[a]; }, [](std::size_t) {});
        }

    private:
        const Network& network_;
        std::vector<double> distance_;
    };

    std::vector<double> costs_;  // by row and arc, in the order of the arcs
    Network network_;
};

// Plans that are tried: what each row counts for under each of them.
class PlanCosts : public LeastCosts {
public:
    PlanCosts(std::vector<double> values, std::size_t plans)
        : rows_(values.size() / plans),
          width_((plans + kLanes - 1) / kLanes * kLanes) {
        // Lanes are filled up with the first plan, which changes no minimum.
        values_.reserve(rows_ * width_);
        for (std::size_t row = 0; row < rows_; ++row) {
            for (std::size_t p = 0; p < width_; ++p) values_.push_back(values[row * plans + (p < plans ? p : 0)]);
        }
    }

    std::size_t rows() const override { return rows_; }
    std::unique_ptr<Gathered> gather() const override { return std::make_unique<Rows>(values_, width_); }

private:
    class Rows : public Sums {
    public:
        using Sums::Sums;

        double least() override {
            std::array<double, kLanes> lane;
            lane.fill(kInfinity);
            for (std::size_t p = 0; p < sums_.size(); p += kLanes) {
                for (std::size_t i = 0; i < kLanes; ++i) lane[i] = sums_[p + i] < lane[i] ? sums_[p + i] : lane[i];
            }
            return *std::ranges::min_element(lane);
        }
    };

    // Plans whose smallest sum is looked for side by side.
    static constexpr std::size_t kLanes = 8;
    std::size_t rows_, width_;    // plans, made up to full lanes
    std::vector<double> values_;  // by row and plan
};

}  // namespace whence
