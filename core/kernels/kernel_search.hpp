// The nearest explanation of a policy that weighs past contexts by a kernel: best-first over boxes of contexts.
//
// Weights are the kernel's values over their sum. That the alternative costs no more than a rival in the mean, up to
// tau, is therefore a sum over past contexts, each of (alternative - rival - tau) times the kernel's value, that must
// not be positive; any positive factor that all values have in common can be left out.
//
// What such a sum can be in a box is bounded twice: by the interval of every value, and by how it can change on the way
// from the box's nearest context, whose slopes lie in intervals too. The second bound also says how far one has to go
// from there at least, and both become exact as boxes shrink.
//
// Where the worst tail of the costs is compared instead of their mean, the sum has two thresholds: the rival's tail is
// no worse than from any threshold on, and the alternative's is best from one of its own costs on. One threshold is
// chosen for every box, and all of the other's must leave the sum positive; only the first bound is taken then.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/deadline.hpp"
#include "base/simplex.hpp"
#include "kernels/kernel_shape.hpp"
#include "neighbours/changing_axes.hpp"
#include "neighbours/neighbour_space.hpp"
#include "neighbours/waiting_boxes.hpp"

namespace whence::kernels {

using neighbours::Axis;
using neighbours::Box;
using neighbours::Kind;
using neighbours::Space;
using neighbours::Split;

// What measures how far a context is from past ones, in bandwidths, up to what all of them have in common.
enum class Measure {
    scores,   // linear functions, which stand for squares of a Gaussian kernel, whose common factor is left out
    squares,  // squares of differences, with a factor an axis
    sums,     // absolute differences, with a factor an axis
};

struct Observations {
    Measure measure;
    Kernel kernel;
    bool gaussian;                // whether any factor that all values have in common can be left out
    std::vector<double> rows;     // slopes or past contexts along the axes, one row each
    std::vector<double> factors;  // one an axis; not for scores
    std::vector<double> base;     // what coordinates that cannot move add
    std::vector<double> entries;  // what every category of every category axis adds, one row each
    double least;                 // least sum of the kernel's values that counts; 0 for any
};

class KernelSearch {
public:
    // With a `tail`, the mean of the worst costs with that much weight is compared; with `few`, only some axes may
    // change together.
    KernelSearch(Space space, Observations past, std::vector<double> alternative, double tau,
                 std::optional<double> tail = std::nullopt, std::unique_ptr<const FewChanges> few = nullptr);
    KernelSearch(const KernelSearch&) = delete;
    KernelSearch& operator=(const KernelSearch&) = delete;

    const Space& space() const { return space_; }
    // From now on the alternative must not lose to a plan with these costs.
    void cut(std::vector<double> rival);
    // From now on it must be better by so much more: what was met is forgotten.
    void tighten(double by);
    // Examine at most so many boxes; whether none is left that may hold an explanation nearer than `cutoff`, or than
    // the one that was met, by more than this share of its distance. The box in which the deadline passes is the last
    // one.
    bool advance(std::int64_t boxes, double cutoff, double gap, const Deadline& deadline);
    // Whether a context is an explanation.
    bool stands(std::span<const double> context);
    void forget_met() { met_distance_ = kInfinity; }

    // Boxes examined so far.
    std::int64_t nodes() const { return nodes_; }
    // About how much memory the boxes take.
    std::size_t bytes() const { return waiting_.bytes(space_.dimension()); }
    // No explanation is nearer; infinite where none is left.
    double bound() const { return waiting_.bound(); }
    // The nearest explanation met so far.
    const std::vector<double>& met() const { return met_; }
    double met_distance() const { return met_distance_; }

private:
    using Waiting = neighbours::WaitingBoxes<std::vector<int>>;
    using Members = Waiting::Shared;  // past contexts that may count in a box

    // What must not be positive: a constant, and a number times the value of every past context. Of a tail, the sum at
    // the thresholds that suit the nearest context of a box, which says where to go on but proves nothing.
    struct Sum {
        double constant;
        std::vector<double> times;
        bool guides = false;
    };

    // What is known of a sum in a box: at its nearest context, its least value, and its slopes.
    struct Look {
        double here, least, size;
        std::vector<Interval> slopes;
    };

    // How far an observation is, at the nearest context and in all of the box.
    struct Far {
        double here, near, far;
    };

    void add_sum(double constant, std::vector<double> times);
    // Whether a context keeps the rules, and not too much changes in it.
    bool exists(std::span<const double> context) const;
    // Values of the kernel for some past contexts in a context, in units of the largest, and their sum.
    double weigh(std::span<const int> members, std::span<const double> context, std::vector<double>& values) const;
    void aim();
    bool tail_hopeless(const std::vector<double>& rival) const;
    double row_way(double room);
    bool choose(const Split& split, double least, Members members);
    void push(double key, Box& box, Members members);
    Members share(const std::vector<int>& members) const {
        return waiting_.share(members, members.size() * sizeof(int));
    }
    void treat(double key, const Members& held, double radius);
    void look(bool slopes);
    void refer();
    Far measure(int member);
    void square(Far& far);
    bool positive_where_enough(const Sum& sum) const;
    double least_way(const Look& look, double room);
    void try_on(const Look& look, double distance);
    void meet(const std::vector<double>& context, double distance);
    Split choose_split() const;
    bool allowed(int axis, double value) const;
    double far_at(int member, std::span<const double> context) const;
    double worst_sum(std::span<const double> context);

    Space space_;
    Observations past_;
    std::vector<double> alternative_;
    double tau_;
    std::optional<double> tail_;
    std::unique_ptr<const FewChanges> few_;
    neighbours::ChangingAxes changing_;
    Simplex simplex_;
    std::vector<std::vector<double>> rivals_;  // of a tail
    std::vector<int> all_;                     // numbers of all past contexts
    std::vector<double> levels_;               // of a tail, the threshold of every rival in the box under way
    std::vector<Sum> sums_;
    std::vector<std::size_t> first_;  // where the entries of an axis begin
    std::size_t ranks_ = 0;

    Waiting waiting_;
    std::int64_t nodes_ = 0;
    std::vector<double> met_;
    double met_distance_;

    // The box under way: as it is, and inside the ball; its past contexts, and what they have in common.
    Box whole_, box_;
    std::vector<int> members_, kept_;
    double common_ = 0.0;
    std::vector<double> mean_;
    std::vector<Interval> along_;
    std::vector<Look> looks_;
    std::vector<double> trial_, values_;
    std::vector<Interval> values_in_;  // of every past context that may count in the box
    struct Step {
        double rate, length, cost;
        int axis;
        double sign;
    };
    std::vector<Step> steps_;
};

}  // namespace whence::kernels
