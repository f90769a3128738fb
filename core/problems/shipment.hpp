// The shipment problem: recourse of all samples, and the cutting planes over the first stage.
//
// Recourse. With one multiplier q_i a warehouse, the cheapest recourse of a sample is the maximum, over multipliers
// between 0 and the spot cost, of
//
//     D(q) = sum_j y_j min_i (ship_ij + q_i) - sum_i z_i q_i.
//
// D is concave and L-natural-concave: where no step that raises (or lowers) one set of warehouses together improves it,
// it is maximal. Looking at all sets of warehouses is therefore a proof, and cheap as long as warehouses are few.
//
// Cutting planes. The multipliers of all samples at a trial plan give a linear function that is nowhere above the risk
// of the cost. The dual simplex over these cuts, in the few first-stage variables, proposes the next plan until both
// meet.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/settings.hpp"
#include "base/simplex.hpp"

namespace whence::shipment {

inline double dot(std::span<const double> a, std::span<const double> b) {
    double total = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
    return total;
}

inline bool holds(unsigned set, int warehouse) { return set >> warehouse & 1U; }

// Put the plan at this share of the way from `center` to `goal`; the sum of its changes.
inline double go(std::span<double> plan, std::span<const double> center, std::span<const double> goal, double share) {
    double moved = 0.0;
    for (std::size_t i = 0; i < plan.size(); ++i) {
        const double full = std::max(goal[i], 0.0);
        const double trial = share < 1.0 ? center[i] + share * (full - center[i]) : full;
        moved += std::abs(trial - plan[i]);
        plan[i] = trial;
    }
    return moved;
}

// Costs of shipping a unit, one row a warehouse, and of producing one at the last minute.
struct Network {
    std::span<const double> ship;
    int warehouses, locations;
    double spot;

    Network(std::span<const double> ship, int warehouses, int locations, double spot)
        : ship(ship),
          warehouses(warehouses),
          locations(locations),
          spot(spot),
          tie(kSettings.shipment.tie * (spot + *std::ranges::max_element(ship))) {}

    double cost(int warehouse, int location) const {
        return ship[static_cast<std::size_t>(warehouse) * locations + location];
    }

    double tie;  // differences of costs up to this one are ties
};

// Stock of every set of warehouses; a set is a number whose bits are its warehouses.
class Stocks {
public:
    explicit Stocks(std::span<const double> plan) : of_set_(std::size_t{1} << plan.size()) {
        for (unsigned set = 1; set < of_set_.size(); ++set) {
            for (std::size_t i = 0; i < plan.size(); ++i) {
                if (holds(set, static_cast<int>(i))) of_set_[set] += plan[i];
            }
        }
    }

    double operator[](unsigned set) const { return of_set_[set]; }
    double all() const { return of_set_.back(); }

private:
    std::vector<double> of_set_;
};

// The recourse of one sample: multipliers of the warehouses, and the demand that each set of them serves best.
class Recourse {
public:
    // Multipliers of 0.
    Recourse(const Network& network, std::span<const double> demand)
        : network_(&network),
          demand_(demand),
          q_(network.warehouses),
          inside_(std::size_t{1} << network.warehouses) {
        survey();
    }
    // Climb to the maximum for these stocks.
    void maximise(const Stocks& stocks) {
        for (Move move = steepest(stocks); move.set != 0; move = steepest(stocks)) {
            go(move);
            survey();
        }
    }
    // Cost of the recourse at a plan, once the multipliers are the best ones for it.
    double cost(std::span<const double> plan) const {
        double total = served_;
        for (std::size_t i = 0; i < plan.size(); ++i) total -= plan[i] * q_[i];
        return total;
    }

    const std::vector<double>& multipliers() const { return q_; }
    // By how much the stocks may change in sum before the multipliers need to move.
    double slack = 0.0;

private:
    // A set of warehouses to raise or to lower together; none where the set is empty.
    struct Move {
        unsigned set = 0;
        bool raises = true;
    };

    // The value of the demand at the multipliers, and the demand that each set of warehouses serves best.
    void survey() {
        const Network& net = *network_;
        std::ranges::fill(inside_, 0.0);
        served_ = 0.0;
        for (int j = 0; j < net.locations; ++j) {
            if (demand_[j] <= 0.0) continue;
            double lowest = kInfinity;
            for (int i = 0; i < net.warehouses; ++i) lowest = std::min(lowest, net.cost(i, j) + q_[i]);
            unsigned members = 0;
            for (int i = 0; i < net.warehouses; ++i) {
                if (net.cost(i, j) + q_[i] <= lowest + net.tie) members |= 1U << i;
            }
            inside_[members] += demand_[j];
            served_ += demand_[j] * lowest;
        }
        for (int i = 0; i < net.warehouses; ++i) {
            for (unsigned set = 0; set < inside_.size(); ++set) {
                if (holds(set, i)) inside_[set] += inside_[set ^ (1U << i)];
            }
        }
    }

    // The move with the largest gain a unit; without any gain, the slack is what the best one lacks.
    Move steepest(const Stocks& stocks) {
        const auto everyone = static_cast<unsigned>(inside_.size() - 1);
        unsigned at_top = 0, at_zero = 0;
        for (int i = 0; i < network_->warehouses; ++i) {
            if (q_[i] >= network_->spot) at_top |= 1U << i;
            if (q_[i] <= 0.0) at_zero |= 1U << i;
        }
        const double demand = inside_[everyone];
        Move best;
        double slope = -kInfinity;
        for (unsigned set = 1; set <= everyone; ++set) {
            const double raised = inside_[set] - stocks[set];
            if (raised > slope && (set & at_top) == 0) {
                best = {set, true};
                slope = raised;
            }
            const double lowered = stocks[set] - demand + inside_[everyone ^ set];
            if (lowered > slope && (set & at_zero) == 0) {
                best = {set, false};
                slope = lowered;
            }
        }
        slack = -slope;
        return slope <= kSettings.shipment.flat * (demand + stocks.all()) ? Move{} : best;
    }

    // Raise or lower the multipliers of a set together, up to where the gain changes.
    void go(Move move) {
        const Network& net = *network_;
        double step = kInfinity;
        for (int i = 0; i < net.warehouses; ++i) {
            if (holds(move.set, i)) step = std::min(step, move.raises ? net.spot - q_[i] : q_[i]);
        }
        for (int j = 0; j < net.locations; ++j) {
            if (demand_[j] <= 0.0) continue;
            double within = kInfinity, without = kInfinity;
            for (int i = 0; i < net.warehouses; ++i) {
                double& lowest = holds(move.set, i) ? within : without;
                lowest = std::min(lowest, net.cost(i, j) + q_[i]);
            }
            const double ahead = move.raises ? without - within : within - without;
            if (ahead > net.tie) step = std::min(step, ahead);
        }
        for (int i = 0; i < net.warehouses; ++i) {
            if (!holds(move.set, i)) continue;
            double moved = move.raises ? q_[i] + step : q_[i] - step;
            if (moved < net.tie) moved = 0.0;
            if (moved > net.spot - net.tie) moved = net.spot;
            q_[i] = moved;
        }
    }

    const Network* network_;
    std::span<const double> demand_;
    std::vector<double> q_;
    std::vector<double> inside_;  // demand that only the warehouses of a set serve best
    double served_ = 0.0;         // value of the demand
};

// Cheapest recourse cost at a plan of every row of `demands`.
inline void best_recourse(const Network& network, std::span<const double> plan, std::span<const double> demands,
                          std::span<double> costs) {
    const Stocks stocks(plan);
    for (std::size_t row = 0; row < costs.size(); ++row) {
        Recourse recourse(network, demands.subspan(row * network.locations, network.locations));
        recourse.maximise(stocks);
        costs[row] = recourse.cost(plan);
    }
}

// The first stage that minimises the mean of the worst `tail` share of the costs (1 for the expected cost).
//
// Costs and demands are to be in units that make the largest ones about one. Of equally good plans it is the one that
// produces least, and of these the one with more at earlier warehouses.
class CuttingPlanes {
public:
    CuttingPlanes(const Network& network, double production, std::span<const double> demands,
                  std::span<const double> weights, double tail, std::size_t most_cuts)
        : network_(network),
          production_(production),
          weights_(weights),
          tail_(tail),
          most_cuts_(most_cuts),
          values_(weights.size()),
          distribution_(weights.size()),
          order_(weights.size()),
          simplex_(network.warehouses + 1, network.warehouses + 1 + most_cuts),
          row_(network.warehouses + 1) {
        samples_.reserve(weights.size());
        for (std::size_t s = 0; s < weights.size(); ++s) {
            samples_.emplace_back(network, demands.subspan(s * network.locations, network.locations));
        }
        // Variables: the plan, and the risk of its recourse. Of equally good plans the one with the least weight of
        // quantities is taken, which is a little larger at later warehouses.
        simplex_.tolerances.pivot = kSettings.shipment.pivot;
        for (int i = 0; i < network.warehouses; ++i) simplex_.add_variable(kInfinity, production, 1.0 + 1e-3 * i);
        simplex_.add_variable(kInfinity, 1.0, 0.0);
    }

    // The optimal plan, from `plan` into `plan`; the number of cuts, or none where it stopped before the optimum.
    std::optional<int> solve(std::span<double> plan) {
        const std::size_t warehouses = plan.size();
        std::vector<double> model(warehouses + 1), center(plan.begin(), plan.end());
        double best = kInfinity, moved = 0.0;
        bool far = true;
        for (std::size_t cut = 0; cut < most_cuts_; ++cut) {
            const double risk = risk_at(plan, moved);
            const double total = risk + production_ * std::accumulate(plan.begin(), plan.end(), 0.0);
            const double gap = std::max(kSettings.shipment.gap * total, kSettings.shipment.least_gap);
            if (!far && risk - model[warehouses] <= gap) return static_cast<int>(cut);
            if (total < best) {
                best = total;
                std::ranges::copy(plan, center.begin());
            }
            add_cut(plan, risk);
            simplex_.tolerances.feasible = 0.1 * gap;
            const Simplex::Result result = simplex_.minimise(kInfinity);
            if (result.status != Simplex::Status::solved) return std::nullopt;
            simplex_.solution(model);
            // Far from the optimum the model's own minimum is erratic: go part of the way from the best plan so far.
            far = best - result.cost > std::max(kSettings.shipment.near * best, gap);
            moved = go(plan, center, model, far ? kSettings.shipment.pull : 1.0);
        }
        return std::nullopt;
    }

private:
    // Risk of the recourse at a plan whose quantities moved by so much in sum since the last one.
    double risk_at(std::span<const double> plan, double moved) {
        const Stocks stocks(plan);
        for (std::size_t s = 0; s < samples_.size(); ++s) {
            Recourse& sample = samples_[s];
            sample.slack -= moved;
            if (sample.slack <= 0.0) sample.maximise(stocks);
            values_[s] = sample.cost(plan);
        }
        return worst_case();
    }

    // Mean of the worst share of the values, and the distribution of the risk envelope that attains it.
    double worst_case() {
        if (tail_ >= 1.0) {
            const double all = std::accumulate(weights_.begin(), weights_.end(), 0.0);
            for (std::size_t s = 0; s < weights_.size(); ++s) distribution_[s] = weights_[s] / all;
        } else {
            std::iota(order_.begin(), order_.end(), 0);
            std::ranges::stable_sort(order_, {}, [this](int s) { return values_[s]; });
            double left = tail_;
            for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
                const double share = std::min(left, weights_[*at]);
                distribution_[*at] = share / tail_;
                left -= share;
            }
        }
        return dot(distribution_, values_);
    }

    // The risk lies nowhere below its value at the plan, continued with the multipliers there.
    void add_cut(std::span<const double> plan, double risk) {
        const std::size_t warehouses = plan.size();
        std::ranges::fill(row_, 0.0);
        for (std::size_t s = 0; s < samples_.size(); ++s) {
            if (distribution_[s] == 0.0) continue;
            for (std::size_t i = 0; i < warehouses; ++i) row_[i] += distribution_[s] * samples_[s].multipliers()[i];
        }
        const double least = risk + dot(std::span(row_).first(warehouses), plan);
        for (double& coefficient : row_) coefficient = -coefficient;
        row_[warehouses] = -1.0;
        simplex_.add_row(row_, -least);
    }

    const Network& network_;
    double production_;
    std::span<const double> weights_;
    double tail_;
    std::size_t most_cuts_;
    std::vector<Recourse> samples_;
    std::vector<double> values_;        // recourse cost of every sample
    std::vector<double> distribution_;  // of the risk envelope that attains the risk
    std::vector<int> order_;
    Simplex simplex_;
    std::vector<double> row_;
};

}  // namespace whence::shipment
