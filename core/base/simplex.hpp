// A dense dual simplex for a handful of variables: least cost u >= 0, u <= upper, under rows that are added one by one.
//
// It starts at u = 0, which is dual feasible because no cost is negative, and stays warm when rows are added. A
// variable at its upper bound is replaced by its distance from it, so that all nonbasic ones are 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/settings.hpp"

namespace whence {

// Ratios of cost to coefficient that differ by less are a tie.
inline constexpr double kTie = 1e-12;

class Simplex {
public:
    enum class Status { solved, infeasible, unknown };

    struct Result {
        Status status;
        double cost;  // a lower bound where the status is unknown
        std::size_t pivots;
    };

    struct Tolerances {
        double feasible = 1e-12;  // by so much a bound or a row may be broken
        double pivot = 1e-9;      // coefficients up to this one count as 0
    };

    // Memory for at most so many variables. Rows that do not bind are forgotten when there are more than `most_rows`,
    // which must exceed the number of variables.
    Simplex(std::size_t most_variables, std::size_t most_rows)
        : stride_(most_variables + 1),
          most_rows_(std::max(most_rows, most_variables + 1)),
          objective_(stride_),
          second_(stride_) {}

    // Forget everything.
    void clear() {
        upper_.clear();
        cost_.clear();
        second_cost_.clear();
        lexicographic_ = false;
        clear_rows();
    }
    // A variable between 0 and `upper`; only before there are rows. Where costs tie, the second costs decide: with any
    // of them the minimum is the lexicographic one.
    void add_variable(double upper, double cost, double second_cost = 0.0) {
        upper_.push_back(upper);
        cost_.push_back(cost);
        second_cost_.push_back(second_cost);
        lexicographic_ = lexicographic_ || second_cost != 0.0;
        clear_rows();
    }

    // Forget all rows: back to u = 0.
    void clear_rows() {
        const std::size_t v = variables();
        basic_.clear();
        slacks_ = 0;
        nonbasic_.resize(v);
        flipped_.assign(v, 0);
        for (std::size_t c = 0; c < v; ++c) {
            nonbasic_[c] = static_cast<int>(c);
            objective_[c] = cost_[c];
            second_[c] = second_cost_[c];
        }
        objective_[v] = second_[v] = 0.0;
    }

    // Ask for row @ u <= limit.
    void add_row(std::span<const double> coefficients, double limit) {
        const std::size_t v = variables();
        if (basic_.size() == most_rows_) drop_idle_rows();
        const std::size_t place = basic_.size();
        if (rows_.size() < (place + 1) * stride_) rows_.resize(std::max((place + 1) * stride_, 2 * rows_.size()));
        double* const added = row(place);
        std::fill_n(added, v, 0.0);
        added[v] = limit;
        for (std::size_t c = 0; c < v; ++c) {
            const auto x = static_cast<std::size_t>(nonbasic_[c]);
            if (x >= v) continue;
            if (flipped_[x]) {
                added[c] -= coefficients[x];
                added[v] -= coefficients[x] * upper_[x];
            } else {
                added[c] += coefficients[x];
            }
        }
        for (std::size_t i = 0; i < place; ++i) {
            const auto x = static_cast<std::size_t>(basic_[i]);
            if (x >= v || coefficients[x] == 0.0) continue;
            double factor = coefficients[x];
            if (flipped_[x]) {
                added[v] -= coefficients[x] * upper_[x];
                factor = -factor;
            }
            const double* const held = row(i);
            for (std::size_t c = 0; c <= v; ++c) added[c] -= factor * held[c];
        }
        basic_.push_back(static_cast<int>(v) + slacks_++);
    }

    // Pivot until all rows hold. A cost above `cutoff` counts as infeasible.
    Result minimise(double cutoff) {
        const std::size_t v = variables();
        const std::size_t patience = 20 * (v + basic_.size() + 5);
        for (std::size_t step = 0; step < 2 * patience; ++step) {
            if (objective_[v] > cutoff) return {Status::infeasible, objective_[v], step};
            const bool careful = step > patience;
            const int out = leaving(careful);
            if (out < 0) return {Status::solved, objective_[v], step};
            const int in = entering(out, careful);
            if (in < 0) return {Status::infeasible, kInfinity, step};
            pivot(out, in);
        }
        return {Status::unknown, objective_[v], 2 * patience};
    }

    // Write the variables' values.
    void solution(std::span<double> u) const {
        const std::size_t v = variables();
        for (std::size_t x = 0; x < v; ++x) u[x] = flipped_[x] ? upper_[x] : 0.0;
        for (std::size_t i = 0; i < basic_.size(); ++i) {
            const auto x = static_cast<std::size_t>(basic_[i]);
            if (x >= v) continue;
            const double value = std::min(std::max(row(i)[v], 0.0), upper_[x]);
            u[x] = flipped_[x] ? upper_[x] - value : value;
        }
    }

    // Write the price of every row, by its number since there were none: what a unit more of its limit is worth.
    void prices(std::span<double> price) const {
        std::fill(price.begin(), price.end(), 0.0);
        for (std::size_t c = 0; c < variables(); ++c) {
            const auto x = static_cast<std::size_t>(nonbasic_[c]);
            if (x >= variables() && x - variables() < price.size()) price[x - variables()] = objective_[c];
        }
    }

    std::size_t variables() const { return upper_.size(); }
    std::size_t rows() const { return basic_.size(); }

    Tolerances tolerances;

private:
    double* row(std::size_t i) { return rows_.data() + i * stride_; }
    const double* row(std::size_t i) const { return rows_.data() + i * stride_; }

    // Remove rows whose slack is basic: they do not bind.
    void drop_idle_rows() {
        const std::size_t v = variables();
        std::size_t kept = 0;
        for (std::size_t i = 0; i < basic_.size(); ++i) {
            if (basic_[i] < static_cast<int>(v)) {
                basic_[kept] = basic_[i];
                std::copy_n(row(i), v + 1, row(kept));
                ++kept;
            }
        }
        basic_.resize(kept);
    }

    // Row of the basic variable that breaks its bounds most (the lowest number when careful), made negative; -1 for
    // none.
    int leaving(bool careful) {
        const std::size_t v = variables();
        double worst = tolerances.feasible;
        int found = -1;
        bool above = false;
        for (std::size_t i = 0; i < basic_.size(); ++i) {
            const auto x = static_cast<std::size_t>(basic_[i]);
            const double value = row(i)[v];
            const double over = x < v ? value - upper_[x] : -1.0;
            const double broken = std::max(-value, over);
            if (broken <= tolerances.feasible) continue;
            if (found < 0 || (careful ? basic_[i] < basic_[found] : broken > worst)) {
                worst = broken;
                found = static_cast<int>(i);
                above = over > -value;
            }
        }
        if (found >= 0 && above) {
            const auto x = static_cast<std::size_t>(basic_[found]);
            double* const turned = row(found);
            for (std::size_t c = 0; c <= v; ++c) turned[c] = -turned[c];
            turned[v] += upper_[x];
            flipped_[x] = !flipped_[x];
        }
        return found;
    }

    // Column with the least ratio of cost to coefficient; -1 where the row cannot hold. Of ties, the one with the least
    // second cost, which makes the minimum unique and ends cycling; where there are none, the largest coefficient (the
    // lowest number when careful).
    int entering(std::size_t leaving, bool careful) const {
        const double* const broken = row(leaving);
        double best = kInfinity, best_second = kInfinity;
        int found = -1;
        for (int c = 0; c < static_cast<int>(variables()); ++c) {
            const double a = -broken[c];
            if (a <= tolerances.pivot) continue;
            const double ratio = std::max(objective_[c], 0.0) / a, second = second_[c] / a;
            if (found >= 0 && ratio >= best - kTie) {
                const bool wins = lexicographic_ ? second < best_second
                                  : careful      ? nonbasic_[c] < nonbasic_[found]
                                                 : a > -broken[found];
                if (ratio > best + kTie || !wins) continue;
            }
            if (found < 0 || lexicographic_ || !careful || ratio < best - kTie) best = std::min(best, ratio);
            best_second = second;
            found = c;
        }
        return found;
    }

    void pivot(std::size_t leaving, std::size_t entering) {
        const std::size_t v = variables();
        double* const pivot_row = row(leaving);
        const double inverse = 1.0 / pivot_row[entering];
        for (std::size_t c = 0; c <= v; ++c) pivot_row[c] *= inverse;
        pivot_row[entering] = inverse;
        for (std::size_t i = 0; i < basic_.size(); ++i) {
            if (i != leaving) eliminate(row(i), pivot_row, entering, inverse, 1.0);
        }
        eliminate(objective_.data(), pivot_row, entering, inverse, -1.0);
        if (lexicographic_) eliminate(second_.data(), pivot_row, entering, inverse, -1.0);
        std::swap(basic_[leaving], nonbasic_[entering]);
    }

    // Take the entering variable out of a row; `sign` is -1 for an objective, which adds its nonbasic terms where a row
    // subtracts them: only its constant differs.
    void eliminate(double* from, const double* pivot_row, std::size_t entering, double inverse, double sign) const {
        const double factor = from[entering];
        if (factor == 0.0) return;
        const std::size_t v = variables();
        for (std::size_t c = 0; c < v; ++c) from[c] -= factor * pivot_row[c];
        from[entering] = -factor * inverse;
        from[v] -= sign * (factor * pivot_row[v]);
    }

    // Basic variable i equals row(i)[v] - row(i)[:v] @ nonbasic, where v is the number of variables.
    std::size_t stride_, most_rows_;
    std::vector<double> rows_;
    // Reduced costs, with the cost so far at v; and the same of the second costs.
    std::vector<double> objective_, second_;
    std::vector<double> upper_, cost_, second_cost_;
    // Number of the variable in each row and column: below v the variables, then the rows' slacks.
    std::vector<int> basic_, nonbasic_;
    std::vector<char> flipped_;  // variables that are counted down from their upper bound
    int slacks_ = 0;
    bool lexicographic_ = false;
};

}  // namespace whence
