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

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/simplex.hpp"

namespace whence::shipment {

// Costs of shipping a unit, one row a warehouse, and of producing one at the last minute.
struct Network {
    std::span<const double> ship;
    int warehouses, locations;
    double spot;

    Network(std::span<const double> ship, int warehouses, int locations, double spot);

    double cost(int warehouse, int location) const {
        return ship[static_cast<std::size_t>(warehouse) * locations + location];
    }

    double tie;  // differences of costs up to this one are ties
};

// Stock of every set of warehouses; a set is a number whose bits are its warehouses.
class Stocks {
public:
    explicit Stocks(std::span<const double> plan);
    double operator[](unsigned set) const { return of_set_[set]; }
    double all() const { return of_set_.back(); }

private:
    std::vector<double> of_set_;
};

// The recourse of one sample: multipliers of the warehouses, and the demand that each set of them serves best.
class Recourse {
public:
    // Multipliers of 0.
    Recourse(const Network& network, std::span<const double> demand);

    // Climb to the maximum for these stocks.
    void maximise(const Stocks& stocks);
    // Cost of the recourse at a plan, once the multipliers are the best ones for it.
    double cost(std::span<const double> plan) const;

    const std::vector<double>& multipliers() const { return q_; }
    // By how much the stocks may change in sum before the multipliers need to move.
    double slack = 0.0;

private:
    // A set of warehouses to raise or to lower together; none where the set is empty.
    struct Move {
        unsigned set = 0;
        bool raises = true;
    };

    void survey();
    Move steepest(const Stocks& stocks);
    void go(Move move);

    const Network* network_;
    std::span<const double> demand_;
    std::vector<double> q_;
    std::vector<double> inside_;  // demand that only the warehouses of a set serve best
    double served_ = 0.0;         // value of the demand
};

// Cheapest recourse cost at a plan of every row of `demands`.
void best_recourse(const Network& network, std::span<const double> plan, std::span<const double> demands,
                   std::span<double> costs);

// The first stage that minimises the mean of the worst `tail` share of the costs (1 for the expected cost).
//
// Costs and demands are to be in units that make the largest ones about one. Of equally good plans it is the one that
// produces least, and of these the one with more at earlier warehouses.
class CuttingPlanes {
public:
    CuttingPlanes(const Network& network, double production, std::span<const double> demands,
                  std::span<const double> weights, double tail, std::size_t most_cuts);

    // The optimal plan, from `plan` into `plan`; the number of cuts, or none where it stopped before the optimum.
    std::optional<int> solve(std::span<double> plan);

private:
    double risk_at(std::span<const double> plan, double moved);
    double worst_case();
    void add_cut(std::span<const double> plan, double risk);

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
