// The space of a nearest-neighbour question, and where boxes in it are split.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/numbers.hpp"
#include "neighbours/neighbour_axes.hpp"
#include "neighbours/neighbour_places.hpp"
#include "neighbours/neighbour_rules.hpp"
#include "neighbours/neighbour_scores.hpp"

namespace whence::neighbours {

struct Space {
    std::vector<Axis> axes;
    std::vector<double> points;  // past contexts along the axes, one row each
    std::vector<double> base;    // their distance along the coordinates that cannot move
    int k;                       // number of neighbours
    double separation;           // least gap behind the k-th neighbour
    double margin;               // the slightly larger one that contexts are placed with
    double widest;               // largest distance of the k-th neighbour that counts; infinite for any
    Rules rules = {};            // which contexts can exist
    double apart = 1.0;          // distance of two categories
    Scores scores = {};          // where neighbours are found by squared distances: what stands for these
    Places places = {};          // and where these distances themselves matter: what they are taken between

    int size() const { return static_cast<int>(base.size()); }
    int dimension() const { return static_cast<int>(axes.size()); }
    // Whether neighbours may be too far away to count.
    bool limited() const { return widest < kInfinity; }
    // Whether scores stand for distances.
    bool linear() const { return !scores.empty(); }
    // Distance of a member from a context along the axes, or its score.
    double distance(int member, std::span<const double> context) const;
    // Whether distances from some of the members rise and fall again along an axis of the box.
    bool turns(const Box& box, const std::vector<int>& members) const;
    const double* point(int member) const { return points.data() + static_cast<std::size_t>(member) * axes.size(); }
};

Split choose_split(const Space& space, const Box& box, const std::vector<int>& open);
// The same where scores stand for distances, which are linear as they are: where these vary most, less the mean slopes.
// No axis where they vary too little to set any two members apart.
Split choose_linear_split(const Space& space, const Box& box, const std::vector<int>& open,
                          const std::vector<double>& mean);
// Split the widest continuous axis in the middle.
Split halves(const Space& space, const Box& box);

}  // namespace whence::neighbours
