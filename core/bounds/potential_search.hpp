// Best-first search over boxes for a few plans, each by itself, with bounds by potentials: few boxes, and dear ones.
//
// A box belongs to one plan. It inherits the potentials of the box that it is a half of, which need a sweep or two to
// suit it. The search is over when no box is left whose bound lies below the nearest context that was found.
//
// Boxes are bounded the better, the less far a context may be. So the search first aims at contexts a little farther
// than what is ruled out already, and begins anew, aiming farther, where there are none.
//
// As long as no context is known there may be none at all, which a bound on distances proves slowly: it has to rise
// beyond everything. So the search first asks whether any context counts, however far away it is. Most plans are then
// ruled out at their first box, and for good.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/best_first.hpp"
#include "base/counted.hpp"
#include "base/deadline.hpp"
#include "base/numbers.hpp"
#include "bounds/potentials.hpp"

namespace whence {

class PotentialSearch {
public:
    // `worth` says what each leaf adds to the excess of a plan, one row a plan; a context counts where the sum over
    // trees is at most tau for one of them. No such context is nearer than what was `proved` before.
    PotentialSearch(const Located& located, std::vector<std::vector<double>> worth, double tau, double proved = 0.0);

    struct Slice {
        bool proved;   // whether the context found is the nearest one,
        double bound;  // no context is nearer than this: infinite where there is none
    };

    // Search on for so many boxes or until the deadline, for contexts nearer than the cutoff. Where that is infinite,
    // and a first context is found, the slice ends: it may be the next one's cutoff.
    Slice advance(std::int64_t boxes, double cutoff, const Deadline& deadline);

    // The nearest context found so far, and its distance: infinite where there is none.
    const Cells& cells() const { return found_; }
    double distance() const { return distance_; }
    std::int64_t examined() const { return examined_; }
    // About how much memory the boxes that wait take.
    std::size_t bytes() const { return counted_.bytes() + waiting_.bytes(); }

private:
    // What the halves of a box begin with.
    struct Kept {
        std::vector<Interval> box;
        std::vector<std::uint64_t> words;
        std::vector<float> potentials;
        double multiplier;
    };
    struct Waiting {
        std::shared_ptr<const Kept> kept;  // none for the whole space
        std::int32_t plan = -1, column = 0, first = 0, last = 0;
    };
    struct Face {
        std::int32_t column, cell;
        bool to_high;  // whether more trees lie above it than below
    };
    using Open = BestFirst<Waiting>::Open;

    struct Learned {
        std::vector<float> potentials;
        double multiplier = 0.0, first = 0.0;  // the present multiplier, and the one that it all began with
    };

    void begin_all();
    Slice find_any(Budget& budget, const Deadline& deadline);
    void end_anywhere();
    bool aim_farther(double cutoff);
    void remember();
    double bound() const { return std::max(proved_, waiting_.bound()); }

    void examine(const Open& next, double cutoff, const Deadline& deadline);
    bool open(const Waiting& waiting, double cutoff);
    double total_at(const Cells& cells);
    void look(const Cells& cells, double distance);
    void pull_back(std::int32_t j);
    void begin(const Waiting& waiting, double cutoff);
    double improve(bool whole, double cutoff, const Deadline& deadline);
    double improve_anywhere(bool whole, const Deadline& deadline);
    void round(double cutoff);
    std::optional<Face> face();
    void split(double key, std::int32_t plan);
    const double* worth() const { return worth_[static_cast<std::size_t>(plan_)].data(); }

    const Located& located_;
    Stretches stretches_;
    std::vector<std::vector<double>> worth_;
    double tau_, far_;
    double proved_, aim_, farther_;  // what is ruled out, what is aimed at, and by how much farther one aims next
    std::vector<Learned> whole_;     // of the whole space, by plan
    std::vector<char> possible_;     // of each plan: whether there may be a context anywhere
    bool anywhere_ = false, begun_ = false;  // whether any context is looked for, however far away
    Potentials potentials_;
    Learned best_;  // what the box under way has learned, until it was ruled out
    BestFirst<Waiting> waiting_;
    Counted counted_;  // what they begin with
    std::int64_t examined_ = 0, halves_ = 0, kept_numbers_ = 0;
    bool into_depth_ = false;  // whether a half of the box under way is gone into at once

    // The box under way.
    std::int32_t plan_ = 0;
    Box box_;
    Reach reach_;
    Cells cells_, cheapest_;
    Leaves here_;
    double near_ = 0.0;
    std::vector<std::int32_t> left_, right_;

    Cells found_;
    double distance_ = kInfinity;
};

}  // namespace whence
