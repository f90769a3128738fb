// Best-first search over the boxes of a forest.
//
// The nearest box is opened, bounded, narrowed to what its bound leaves possible, and split at the face that keeps its
// nearest point from the leaves that pull hardest. The half with the nearest point is dealt with at once; the other one
// waits. The first nearest point that satisfies the criterion is the nearest explanation.
#pragma once

#include <cstdint>
#include <vector>

#include "deadline.hpp"
#include "faces.hpp"
#include "mixture.hpp"
#include "queue.hpp"
#include "rivals.hpp"
#include "shares.hpp"

namespace whence {

class ForestSearch {
public:
    // How a slice of the search ends: the budget is spent, the nearest candidate was reached, or nothing is left.
    enum class End { budget, candidate, exhausted };
    struct Slice {
        End end;
        double bound;  // proved: nothing left is nearer
    };
    // What only hard questions need: the strong bound (where there are shares), and splits at the sharpest face.
    struct Hard {
        Shares* shares = nullptr;
        bool sharp = false;
    };

    ForestSearch(const Located& located, Criterion& criterion, double tau);

    // From now on boxes of an absolute question have rivals of their own: a plan that is answered at a candidate, which
    // its box and the parts of it keep in mind. There are too many plans for one list. Where `eager`, the nearest point
    // of every box that its rivals do not rule out is handed out, so that the best plan there becomes one.
    void ask_in_boxes(bool eager);

    // Search on for `budget` boxes, until the deadline (but one box at least), or until nothing nearer than `cutoff` is left; a candidate is
    // then `cells()`, and it is handed out again unless a rival or an exclusion removes it. Where a slice ends changes
    // nothing: the next one goes on with the box under way.
    Slice advance(std::int64_t budget, double cutoff, Hard hard, const Deadline& deadline);

    // Of an absolute question: a plan that beats the alternative at the candidate, as a row of what each leaf adds to
    // the criterion against it. The box of the candidate and its parts keep it in mind.
    void answer(std::vector<double> row);
    // A plan that was met elsewhere.
    void meet(std::vector<double> row);
    std::int32_t rivals_met() const { return met_.count(); }

    // Show the criterion the rivals met last, for whoever else looks at it; the search goes on with those of its box.
    void show_latest(std::int32_t count);

    // Leave out the contexts in which every tree has the same leaf as in this cell.
    void exclude(const Cells& cells);

    const Grid& grid() const { return located_.grid(); }
    const Cells& cells() const { return candidate_; }
    std::int64_t examined() const { return examined_; }

private:
    // What becomes of a box: it is done with, it holds a candidate, it shrank and is bounded again, or it has to be split.
    enum class Verdict { done, candidate, again, split };

    void resume(double cutoff);
    bool open_next(double cutoff);
    void look();
    bool strengthen(Shares& shares, double cutoff, const Deadline& deadline);
    void recall();
    void mix();
    Verdict hand_out();
    Verdict examine(Hard hard, double cutoff);
    Verdict refine(double cutoff);
    bool restrict(std::int32_t column, std::int32_t first, std::int32_t last);
    Verdict split(Hard hard, double cutoff);
    std::optional<Face> face(bool sharp);
    void split_at(Face face, double cutoff);
    double far_distance(std::int32_t j, std::int32_t first, std::int32_t last);
    void put_back() { queue_.wait(open_.key, open_.link); }

    const Located& located_;
    Criterion& criterion_;
    double tau_;
    Queue queue_;
    OpenBox open_;
    Hull hull_;
    Faces faces_;
    Box narrowed_;  // the box under way, narrowed
    Cells moved_;   // the projection on it
    std::vector<Leaves> excluded_;
    Cells candidate_;
    bool under_way_ = false;   // whether the open box is not done with
    double cutoff_ = 0.0;      // the cutoff it was opened with
    std::int32_t rivals_ = 0;  // and the number of rivals
    std::int64_t examined_ = 0;
    std::int64_t strong_bounds_ = 0;

    // Of absolute questions.
    bool absolute_ = false, eager_ = false;  // whether boxes have rivals of their own, and ask for them at once
    Rivals met_;
    Mixture mixture_;
    Note note_;                          // of the box under way
    std::vector<std::int32_t> numbers_;  // of the rivals that it knows,
    std::vector<const double*> rows_;    // and their rows, that of the mixture after them
    std::int32_t waiting_ = Queue::WHOLE;  // link of the box that waits for an answer
};

}  // namespace whence
