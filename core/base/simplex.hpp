// A dense dual simplex for a handful of variables: least cost u >= 0, u <= upper, under rows that are added one by one.
//
// It starts at u = 0, which is dual feasible because no cost is negative, and stays warm when rows are added. A
// variable at its upper bound is replaced by its distance from it, so that all nonbasic ones are 0.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace whence {

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
    Simplex(std::size_t most_variables, std::size_t most_rows);

    // Forget everything.
    void clear();
    // A variable between 0 and `upper`; only before there are rows. Where costs tie, the second costs decide: with any
    // of them the minimum is the lexicographic one.
    void add_variable(double upper, double cost, double second_cost = 0.0);
    // Forget all rows: back to u = 0.
    void clear_rows();
    // Ask for row @ u <= limit.
    void add_row(std::span<const double> row, double limit);
    // Pivot until all rows hold. A cost above `cutoff` counts as infeasible.
    Result minimise(double cutoff);
    // Write the variables' values.
    void solution(std::span<double> u) const;

    std::size_t variables() const { return upper_.size(); }
    std::size_t rows() const { return basic_.size(); }

    Tolerances tolerances;

private:
    double* row(std::size_t i) { return rows_.data() + i * stride_; }
    const double* row(std::size_t i) const { return rows_.data() + i * stride_; }
    void drop_idle_rows();
    int leaving(bool careful);
    int entering(std::size_t leaving, bool careful) const;
    int entering_lexicographic(std::size_t leaving) const;
    void pivot(std::size_t leaving, std::size_t entering);
    void eliminate(double* from, const double* pivot_row, std::size_t entering, double inverse, double sign) const;

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
