// Best-first search over the boxes of a forest, by one thread or several.
//
// The first nearest point that satisfies the criterion is the nearest explanation: whatever the number of threads, it
// is handed out only when no box that is left is nearer.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "forest/forest_worker.hpp"

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

    // Where `plausible` is given, contexts must be so, and the criterion is about the trees before its own; where `few`
    // is, only some features may change together.
    ForestSearch(const Located& located, Criterion& criterion, double tau, int threads = 1,
                 const Plausibility* plausible = nullptr, const FewChanges* few = nullptr);

    // From now on boxes of an absolute question have rivals of their own: a plan that is answered at a candidate, which
    // its box and the parts of it keep in mind. There are too many plans for one list. Where `eager`, the nearest point
    // of every box that its rivals do not rule out is handed out, so that the best plan there becomes one. One thread
    // goes on, since it waits for plans.
    void ask_in_boxes(bool eager);

    // Search on for `budget` boxes, until the deadline (but for one box), or until nothing nearer than `cutoff` is
    // left; a candidate is then `cells()`, and it is handed out again unless a rival or an exclusion removes it. With
    // one thread, where a slice ends changes nothing: the next one goes on with the box under way.
    Slice advance(std::int64_t budget, double cutoff, Hard hard, const Deadline& deadline);

    // Of an absolute question: a plan that beats the alternative at the candidate, as a row of what each leaf adds to
    // the criterion against it. The box of the candidate and its parts keep it in mind.
    void answer(std::vector<double> row) { workers_[0]->answer(std::move(row)); }
    // A plan that was met elsewhere.
    void meet(std::vector<double> row) { workers_[0]->meet(std::move(row)); }
    std::int32_t rivals_met() const { return workers_[0]->rivals_met(); }
    // Show the criterion the rivals met last, for whoever else looks at it; the search goes on with those of its box.
    void show_latest(std::int32_t count) { workers_[0]->show_latest(count); }

    // Leave out the contexts in which every tree of the criterion has the same leaf as in this cell; or, of `all` trees
    // of the grid, every one.
    void exclude(const Cells& cells, bool all = false);

    const Grid& grid() const { return shared_.located.grid(); }
    const Cells& cells() const { return candidate_.cells; }
    std::int64_t examined() const { return shared_.examined; }
    // About how much memory is taken by boxes, plans met, and what the criterion has kept of them.
    std::size_t bytes() const { return shared_.queue.bytes() + workers_[0]->bytes() + shared_.criterion.bytes(); }

private:
    bool work(const Allowance& allowance, Hard hard);
    double bound() const;

    Shared shared_;
    std::vector<std::unique_ptr<ForestWorker>> workers_;
    ForestWorker::Candidate candidate_;
};

}  // namespace whence
