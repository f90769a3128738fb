// Best-first search over the boxes of a forest.
//
// The nearest box is opened, bounded, narrowed to what its bound leaves possible, and split at the face that keeps its
// nearest point from the leaves that pull hardest. The half with the nearest point is dealt with at once; the other one
// waits. The first nearest point that satisfies the criterion is the nearest explanation.
#pragma once

#include <cstdint>
#include <vector>

#include "faces.hpp"
#include "queue.hpp"
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
    // What only hard questions need: the strong bound (where there are shares), whose first lesson has so many rounds,
    // and splits at the sharpest face.
    struct Hard {
        Shares* shares = nullptr;
        bool sharp = false;
        std::int32_t lesson = 100;
    };

    ForestSearch(const Located& located, const Criterion& criterion, double tau);

    // Search on for `budget` boxes, or until nothing nearer than `cutoff` is left; a candidate is then `cells()`, and
    // it is handed out again unless a rival or an exclusion removes it. Where a slice ends changes nothing: the next one
    // goes on with the box under way.
    Slice advance(std::int64_t budget, double cutoff, Hard hard);

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
    bool strengthen(Hard hard, double cutoff);
    Verdict examine(Hard hard, double cutoff);
    Verdict refine(double cutoff);
    bool restrict(std::int32_t column, std::int32_t first, std::int32_t last);
    Verdict split(Hard hard, double cutoff);
    std::optional<Face> face(bool sharp);
    void split_at(Face face, double cutoff);
    double far_distance(std::int32_t j, std::int32_t first, std::int32_t last);
    void put_back() { queue_.wait(open_.key, open_.link); }

    const Located& located_;
    const Criterion& criterion_;
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
};

}  // namespace whence
