// A bound on the distance over a box for one plan, by potentials: what each tree is charged for each cell of a column.
//
// A context of the box is nearer than some distance only if the trees agree on it, and the sum of what their leaves are
// worth is at most tau. With a multiplier m >= 0 and potentials p(tree, column, cell), whatever they are,
//
//     sum over trees of  min over leaves of [ m * worth + sum over columns of min over the leaf's cells of p ]
//       + sum over columns of  min over cells of [ distance - sum over trees of p ]  -  m * tau
//
// is at most the distance of every context that counts. Potentials are improved column by column: what a cell costs each
// tree at least (its min-marginal) is collected over all trees and shared out among them evenly. A potential need not
// differ between cells that the tree does not tell apart. It is infinite where none of these is left.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reach.hpp"
#include "stretches.hpp"

namespace whence {

class Potentials {
public:
    Potentials(const Stretches& stretches, const Located& located);

    // Turn to a box and the leaves that it meets, each with what it is worth; false where no context of the box counts,
    // because the best leaves of all trees are worth more than tau in all.
    bool turn_to(const Box& box, const Reach& reach, const double* worth, double tau);

    // What the best and the worst leaves differ by, summed over trees.
    double spread() const { return spread_; }

    // Whether distances count. Otherwise the bound is one on how much the worth of a context exceeds tau, times the
    // multiplier: above 0 no context of the box counts, however far away it is.
    void count_distance(bool counts) { counts_distance_ = counts; }

    // Begin with these potentials, one a stretch (none for zeros), and this multiplier.
    void begin_with(std::span<const float> potentials, double multiplier);
    // Go once over all columns, from the first to the last or back.
    void sweep(bool forward);
    // Evaluate the bound. Leaves that cost up to `width` more than the best one of their tree count for the slope.
    void evaluate(double width);
    // The same with the multiplier, a power of the factor times the present one, and at most so large, that suits best.
    void search_multiplier(double width, double factor, double most);
    // Move the multiplier up or down by this share, whichever the slope says.
    void adjust(double share);
    // Drop the cells and leaves of which no context can be nearer than the bound plus `room`.
    void drop_dear(double room);

    // The bound as evaluated last, lowered by what rounding may have added.
    double bound() const { return bound_; }
    const Located& located() const { return *located_; }
    double multiplier() const { return multiplier_; }
    const std::vector<double>& potentials() const { return potential_; }
    // What the trees leave of the distance of a cell.
    double residual(std::int32_t j, std::int32_t cell) const {
        return residual_[stretches_->grid().first_cell(j) + cell];
    }
    // The best leaf of every tree, and the cheapest cell of a column by what the trees leave of its distance.
    LeafView best() const { return best_; }
    std::int32_t cheapest_cell(std::int32_t j) const;

    // Narrow the box to cells that were not dropped, and the reach to such leaves; false where nothing is left.
    bool narrow(Box& box, Reach& reach) const;

private:
    struct Span {
        std::int32_t first, last;  // stretches
        double least;              // of their potentials
    };
    struct Listed {
        std::int32_t leaf;
        double worth, price;
        std::size_t spans;  // where those of the slots of its tree begin
    };

    void set_multiplier(double multiplier);
    void list(std::int32_t tree, const Reach& reach, const double* worth);
    void sum_residuals();
    void improve(std::int32_t j, bool forward);
    void collect(std::int32_t s);
    void hand_back(std::int32_t s, double share);
    double least_potential(const Span& span) const;
    void rule_out(std::int32_t stretch, std::int32_t j);
    template <class Use>
    void each_cell(std::int32_t stretch, std::int32_t j, Use use);

    const Stretches* stretches_;
    const Located* located_;
    double tau_ = 0.0, spread_ = 0.0, multiplier_ = 0.0, bound_ = 0.0, slope_ = 0.0, largest_ = 0.0;
    double residual_total_ = 0.0, residual_size_ = 0.0;
    bool residuals_known_ = false, counts_distance_ = true;
    std::vector<Interval> box_;
    std::vector<Listed> listed_;
    std::vector<std::size_t> from_;  // where the leaves of each tree begin, and the end
    std::vector<Span> spans_;
    std::vector<std::int32_t> position_;      // of a slot among those of its tree that matter in the box; -1 for others
    std::vector<std::int32_t> first_, last_;  // stretches of a slot that meet the box
    std::vector<double> potential_, residual_, marginal_;
    std::vector<std::int32_t> active_;
    Leaves best_;
};

}  // namespace whence
