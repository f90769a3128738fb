// A bound on the distance over a box for one plan, by potentials: what each tree is charged for each cell of a column.
//
// A context of the box is nearer than some distance only if the trees agree on it, and the sum of what their leaves are
// worth is at most tau. With a multiplier m >= 0 and potentials p(tree, column, cell), whatever they are,
//
//     sum over trees of  min over leaves of [ m * worth + sum over columns of min over the leaf's cells of p ]
//       + sum over columns of  min over cells of [ distance - sum over trees of p ]  -  m * tau
//
// is at most the distance of every context that counts. Potentials are improved column by column: what a cell costs
// each tree at least (its min-marginal) is collected over all trees and shared out among them evenly. A potential need
// not differ between cells that the tree does not tell apart. It is infinite where none of these is left.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bounds/column_sweep.hpp"
#include "bounds/stretches.hpp"
#include "forest/reach.hpp"

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
    // Return to potentials that there were before; what was dropped since then stays so.
    void return_to(std::span<const float> potentials, double multiplier);
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
    const std::vector<float>& potentials() const { return potential_; }
    // The best leaf of every tree, and the cheapest cell of a column by what the trees leave of its distance.
    LeafView best() const { return best_; }
    std::int32_t cheapest_cell(std::int32_t j) const;

    // Narrow the box to cells that were not dropped, and the reach to such leaves; false where nothing is left.
    bool narrow(Box& box, Reach& reach) const;

private:
    bool active(std::int32_t slot) const { return first_[slot] < last_[slot]; }
    std::size_t lanes(std::int32_t tree) const { return from_[tree + 1] - from_[tree]; }
    std::size_t lane(std::int32_t tree, std::int32_t leaf) const {
        return from_[tree] + static_cast<std::size_t>(leaf - stretches_->grid().first_leaf(tree));
    }
    SlotView view(std::int32_t slot);
    bool set_prices();
    void settle();
    void settle_column(std::int32_t j);
    void rule_out(std::int32_t stretch, std::int32_t j);
    double bound_under(double multiplier) const;

    const Stretches* stretches_;
    const Located* located_;
    double tau_ = 0.0, spread_ = 0.0, multiplier_ = 0.0, bound_ = 0.0, slope_ = 0.0;
    bool counts_distance_ = true;

    // Leaves by lane, those of each tree from a place on; what belongs to a slot and its leaves begins at others.
    std::vector<std::size_t> from_, least_from_, bars_from_;
    std::vector<float> bars_, least_, price_;
    std::vector<double> worth_, left_, base_;  // `left_` is 0 where a leaf is left, otherwise infinite; as is the base,
                                               // the price without the worth

    std::vector<Interval> box_;
    std::vector<std::int32_t> first_, last_;  // stretches of a slot that meet the box
    std::vector<float> potential_, marginal_;
    std::vector<SlotView> views_;

    std::vector<double> distance_, residual_, collected_;  // by cell; infinite where it is not left
    std::vector<float> rest_;                              // by cell
    // The part of the bound that columns have, and the size of all that was added up.
    double columns_total_ = 0.0, size_ = 0.0;
    bool settled_ = false;
    Leaves best_;
};

}  // namespace whence
