// Best-first search over the boxes of a forest, by one thread or several.
//
// The first nearest point that satisfies the criterion is the nearest explanation: whatever the number of threads, it is
// handed out only when no box that is left is nearer.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "forest_worker.hpp"

namespace whence {

class ForestSearch {
public:
    // How a slice of the search ends: the budget is spent, the nearest candidate was reached, or nothing is left.
    enum class End { budget, candidate, exhausted };
    struct Slice {
        End end;
        double bound;  // proved: nothing left is nearer
    };
    using Hard = ForestWorker::Hard;

    ForestSearch(const Located& located, const Criterion& criterion, double tau, int threads = 1);

    // Search on for `budget` boxes, or until nothing nearer than `cutoff` is left; a candidate is then `cells()`, and
    // it is handed out again unless a rival or an exclusion removes it.
    Slice advance(std::int64_t budget, double cutoff, Hard hard);

    // Leave out the contexts in which every tree has the same leaf as in this cell.
    void exclude(const Cells& cells);

    const Grid& grid() const { return shared_.located.grid(); }
    const Cells& cells() const { return candidate_.cells; }
    std::int64_t examined() const { return shared_.examined; }

private:
    bool work(std::int64_t stop_at, double cutoff, Hard hard);

    Shared shared_;
    std::vector<std::unique_ptr<ForestWorker>> workers_;
    ForestWorker::Candidate candidate_;
};

}  // namespace whence
