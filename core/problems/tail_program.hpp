// The least CVaR that a plan of a polytope can have for given weights of the samples, whose costs are linear in the
// plan: bounded from both sides, and with the weights of the samples that prove the bound from below.
//
// The CVaR of a plan is the largest mean of its costs where samples may count for up to 1/tail times their weight. The
// worst samples of one plan are thus a cut below the risk of all plans; the plan that is best by the cuts met so far
// gives the next one. The mixture of cuts that suits all corners of the polytope bounds the least risk from below.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "base/simplex.hpp"

namespace whence {

// What a unit of every entry of a plan costs in every sample, one row a sample.
class LinearCosts {
public:
    LinearCosts(std::vector<double> rows, std::size_t entries) : rows_(std::move(rows)), entries_(entries) {
        if (entries == 0 || rows_.size() % entries != 0) throw std::invalid_argument("Costs must have a row a sample.");
    }

    std::size_t entries() const { return entries_; }
    std::size_t samples() const { return rows_.size() / entries_; }
    const double* of(std::int32_t sample) const { return rows_.data() + static_cast<std::size_t>(sample) * entries_; }
    // Every cost of a plan is computed here, in the same order: costs that are compared are the very same number.
    double cost(std::int32_t sample, const double* plan) const {
        const double* row = of(sample);
        double total = 0.0;
        for (std::size_t j = 0; j < entries_; ++j) total += row[j] * plan[j];
        return total;
    }

private:
    std::vector<double> rows_;
    std::size_t entries_;
};

// Samples and their weights, which add up to 1.
struct Weighted {
    std::vector<std::int32_t> samples;
    std::vector<double> weights;
};

// The CVaR of given costs, the cost at which the worst share of the weights begins, and which part of the samples of
// just that cost belongs to it.
struct WorstShare {
    double value = 0.0, begins = 0.0, part = 0.0;
};

inline WorstShare worst_share(const std::vector<double>& costs, const std::vector<double>& weights, double tail,
                              std::vector<std::size_t>& order) {
    order.resize(costs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
    WorstShare found;
    double above = 0.0, sum = 0.0;
    for (std::size_t i = 0; i < order.size();) {
        found.begins = costs[order[i]];
        double equal = 0.0;
        for (; i < order.size() && costs[order[i]] == found.begins; ++i) equal += weights[order[i]];
        if (above + equal >= tail || i == order.size()) {
            found.part = equal > 0.0 ? std::clamp((tail - above) / equal, 0.0, 1.0) : 0.0;
            sum += found.part * equal * found.begins;
            above += found.part * equal;
            break;
        }
        above += equal;
        sum += equal * found.begins;
    }
    found.value = above > 0.0 ? sum / above : 0.0;
    return found;
}

class TailProgram {
public:
    // `corners` hold every plan between them, one row each.
    TailProgram(std::shared_ptr<const LinearCosts> costs, std::vector<double> corners, double tail)
        : costs_(std::move(costs)),
          corners_(std::move(corners)),
          tail_(tail) {
        if (corners_.empty() || corners_.size() % costs_->entries() != 0)
            throw std::invalid_argument("There must be a corner, with a number for every entry of a plan.");
    }

    std::size_t corners() const { return corners_.size() / costs_->entries(); }
    const double* corner(std::size_t v) const { return corners_.data() + v * costs_->entries(); }
    const LinearCosts& costs() const { return *costs_; }
    double tail() const { return tail_; }

    // A plan that was looked at: where its worst samples begin, and how much its cut counts for in the mixture.
    struct Cut {
        std::vector<double> plan;
        double begins = 0.0, part = 0.0, weight = 0.0;
    };
    // The least risk lies between `low` and `high`, which is that of a plan.
    struct Solved {
        double low = -kInfinity, high = kInfinity, begins = 0.0;
        std::vector<double> plan;
        std::vector<Cut> cuts;  // those of the mixture
    };

    // Room for what is computed on the way.
    struct Room {
        std::unique_ptr<Simplex> simplex;
        std::vector<double> costs, mean, row, shares, solution, plan, values, prices;
        std::vector<std::size_t> order;
        std::vector<Cut> cuts;
    };

    // Solve for these weights; the plans of the cuts that are known are looked at first. It may end as soon as `done`
    // says so of the bounds from below and above.
    template <class Done>
    void solve(const Weighted& weighted, Solved& found, Room& room, Done done) const {
        const std::size_t corners = this->corners(), entries = costs_->entries();
        std::vector<std::vector<double>> first;
        for (Cut& cut : found.cuts) first.push_back(std::move(cut.plan));
        if (first.empty()) {
            first.emplace_back(entries, 0.0);
            for (std::size_t v = 0; v < corners; ++v)
                for (std::size_t j = 0; j < entries; ++j)
                    first.back()[j] += corner(v)[j] / static_cast<double>(corners);
        }
        found = {};
        room.cuts.clear();
        room.values.clear();
        if (room.simplex == nullptr || room.simplex->variables() != corners) {
            room.simplex = std::make_unique<Simplex>(corners, kMostCuts + corners + 2);
            // What each corner but the first one counts for, and the risk, above the least that the first cut says.
            for (std::size_t v = 1; v < corners; ++v) room.simplex->add_variable(1.0, 0.0);
            room.simplex->add_variable(kInfinity, 1.0);
        }
        Simplex& simplex = *room.simplex;
        simplex.clear_rows();
        room.row.assign(corners, 1.0);
        room.row[corners - 1] = 0.0;
        simplex.add_row(room.row, 1.0);
        double origin = 0.0;
        room.plan = std::move(first.front());
        std::size_t next = 1;
        while (true) {
            add_cut(weighted, found, room);
            const double* values = room.values.data() + (room.cuts.size() - 1) * corners;
            if (room.cuts.size() == 1) origin = *std::min_element(values, values + corners);
            for (std::size_t v = 1; v < corners; ++v) room.row[v - 1] = values[v] - values[0];
            room.row[corners - 1] = -1.0;
            simplex.add_row(room.row, origin - values[0]);
            if (next < first.size()) {
                room.plan = std::move(first[next++]);
                continue;
            }
            simplex.minimise(kInfinity);
            weigh(found, room);
            const double size = std::max({std::abs(found.low), std::abs(found.high), 1e-300});
            if (found.high - found.low <= kSettings.plans.linear_gap * size || done(found.low, found.high)) break;
            if (room.cuts.size() >= kMostCuts || !next_plan(room)) break;
        }
        for (std::size_t p = 0; p < room.cuts.size(); ++p) {
            if (!(room.prices[p] > 0.0)) continue;
            found.cuts.push_back(std::move(room.cuts[p]));
            found.cuts.back().weight = room.prices[p];
        }
    }

private:
    static constexpr std::size_t kMostCuts = 200;

    // The cut of the plan under way.
    void add_cut(const Weighted& weighted, Solved& found, Room& room) const {
        const std::size_t entries = costs_->entries(), count = weighted.samples.size();
        room.costs.resize(count);
        for (std::size_t i = 0; i < count; ++i) room.costs[i] = costs_->cost(weighted.samples[i], room.plan.data());
        const WorstShare worst = worst_share(room.costs, weighted.weights, tail_, room.order);
        room.mean.assign(entries, 0.0);
        double total = 0.0;
        for (std::size_t i = 0; i < count; ++i) {
            if (room.costs[i] < worst.begins) continue;
            const double part = weighted.weights[i] * (room.costs[i] > worst.begins ? 1.0 : worst.part);
            const double* row = costs_->of(weighted.samples[i]);
            total += part;
            for (std::size_t j = 0; j < entries; ++j) room.mean[j] += part * row[j];
        }
        for (double& mean : room.mean) mean /= total;
        for (std::size_t v = 0; v < corners(); ++v)
            room.values.push_back(std::inner_product(room.mean.begin(), room.mean.end(), corner(v), 0.0));
        if (worst.value < found.high) {
            found.high = worst.value;
            found.begins = worst.begins;
            found.plan = room.plan;
        }
        room.cuts.push_back({room.plan, worst.begins, worst.part, 0.0});
    }

    // The mixture of cuts by the prices of their rows, and what it proves, whatever these are.
    void weigh(Solved& found, Room& room) const {
        const std::size_t corners = this->corners(), count = room.cuts.size();
        room.shares.assign(count + 1, 0.0);
        room.simplex->prices(room.shares);
        double total = 0.0;
        for (std::size_t p = 0; p < count; ++p) total += room.shares[p + 1] = std::max(room.shares[p + 1], 0.0);
        if (!(total > 0.0)) {
            room.shares[1] = total = 1.0;
        }
        double low = kInfinity;
        for (std::size_t v = 0; v < corners; ++v) {
            double mixed = 0.0;
            for (std::size_t p = 0; p < count; ++p)
                if (room.shares[p + 1] > 0.0) mixed += room.shares[p + 1] / total * room.values[p * corners + v];
            low = std::min(low, mixed);
        }
        if (low < found.low) return;
        found.low = low;
        room.prices.assign(kMostCuts + 1, 0.0);
        for (std::size_t p = 0; p < count; ++p) room.prices[p] = room.shares[p + 1] / total;
    }

    // The plan that is best by all cuts; false where it is the one before.
    bool next_plan(Room& room) const {
        const std::size_t corners = this->corners(), entries = costs_->entries();
        room.solution.assign(corners, 0.0);
        room.simplex->solution(room.solution);
        double rest = 1.0;
        for (std::size_t v = 1; v < corners; ++v) rest -= room.solution[v - 1];
        rest = std::max(rest, 0.0);
        std::vector<double> plan(entries, 0.0);
        double total = rest;
        for (std::size_t v = 1; v < corners; ++v) total += room.solution[v - 1];
        for (std::size_t v = 0; v < corners; ++v) {
            const double share = (v == 0 ? rest : room.solution[v - 1]) / total;
            for (std::size_t j = 0; j < entries; ++j) plan[j] += share * corner(v)[j];
        }
        if (plan == room.plan) return false;
        room.plan = std::move(plan);
        return true;
    }

    std::shared_ptr<const LinearCosts> costs_;
    std::vector<double> corners_;
    double tail_;
};

}  // namespace whence
