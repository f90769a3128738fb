// Best-first search over the boxes of a forest, by one thread or several.
//
// The first nearest point that satisfies the criterion is the nearest explanation: whatever the number of threads, it
// is handed out only when no box that is left is nearer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "base/settings.hpp"
#include "base/team.hpp"
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
                 const Plausibility* plausible = nullptr, const FewChanges* few = nullptr)
        : shared_{located, criterion, tau, {}, {}, plausible, few},
          candidate_{kInfinity, Cells(located.grid().columns())} {
        require_fit(located.grid(), criterion, plausible);
        if (threads < 1) throw std::invalid_argument("'threads' must be positive.");
        require_fit(located.grid(), few);
        for (int i = 0; i < threads; ++i) workers_.push_back(std::make_unique<ForestWorker>(shared_, threads == 1));
    }
    // From now on boxes of an absolute question have rivals of their own: a plan that is answered at a candidate, which
    // its box and the parts of it keep in mind. There are too many plans for one list. Where `eager`, the nearest point
    // of every box that its rivals do not rule out is handed out, so that the best plan there becomes one. One thread
    // goes on, since it waits for plans.
    void ask_in_boxes(bool eager) {
        // Between two slices none of several threads has a box under way.
        workers_.resize(1);
        workers_[0]->ask_in_boxes(eager);
    }

    // Search on for `budget` boxes, until the deadline (but for one box), or until nothing nearer than `cutoff` is
    // left; a candidate is then `cells()`, and it is handed out again unless a rival or an exclusion removes it. With
    // one thread, where a slice ends changes nothing: the next one goes on with the box under way.
    Slice advance(std::int64_t budget, double cutoff, Hard hard, const Deadline& deadline) {
        if (shared_.criterion.rivals() < 1) throw std::invalid_argument("There must be a rival.");
        const Allowance allowance{shared_.examined, budget, deadline, cutoff};
        do {
            // A thread may have split a nearer box while another met the candidate: then the search goes on.
            if (work(allowance, hard) && candidate_.key <= bound()) return {End::candidate, candidate_.key};
            if (bound() >= cutoff) return {End::exhausted, bound()};
        } while (!allowance.spent(shared_.examined));
        return {End::budget, bound()};
    }

    // Of an absolute question: a plan that beats the alternative at the candidate, as a row of what each leaf adds to
    // the criterion against it. The box of the candidate and its parts keep it in mind.
    void answer(std::vector<double> row) { workers_[0]->answer(std::move(row)); }
    // A plan that was met elsewhere.
    void meet(std::vector<double> row) { workers_[0]->meet(std::move(row)); }
    // Show the criterion the rivals met last, for whoever else looks at it; the search goes on with those of its box.
    void show_latest(std::int32_t count) { workers_[0]->show_latest(count); }

    // Leave out the contexts in which every tree of the criterion has the same leaf as in this cell; or, of `all` trees
    // of the grid, every one.
    void exclude(const Cells& cells, bool all = false) {
        Leaves leaves(grid().trees());
        grid().leaves_at(cells, leaves);
        if (!all && shared_.plausible != nullptr) leaves.resize(shared_.plausible->first_tree());
        shared_.excluded.push_back(std::move(leaves));
        for (const auto& worker : workers_) worker->forget_look();
    }

    const Grid& grid() const { return shared_.located.grid(); }
    const Cells& cells() const { return candidate_.cells; }
    std::int64_t examined() const { return shared_.examined; }
    // About how much memory is taken by boxes, plans met, and what the criterion has kept of them.
    std::size_t bytes() const { return shared_.queue.bytes() + workers_[0]->bytes() + shared_.criterion.bytes(); }

private:
    // Let all threads work once; whether one of them met a candidate, of which the nearest is kept.
    bool work(const Allowance& allowance, Hard hard) {
        std::mutex mutex;
        candidate_.key = kInfinity;
        shared_.queue.heap.open();
        const auto one = [&](int i) {
            auto met = workers_[i]->work(allowance, hard);
            std::lock_guard lock(mutex);
            if (met && met->key < candidate_.key) candidate_ = std::move(*met);
        };
        work_together(static_cast<int>(workers_.size()), one, [&] { shared_.queue.heap.close(); });
        return candidate_.key < kInfinity;
    }

    // Nothing left is nearer: neither a box that waits nor one under way.
    double bound() const {
        double least = shared_.queue.heap.empty() ? kInfinity : shared_.queue.heap.nearest();
        for (const auto& worker : workers_)
            if (worker->under_way()) least = std::min(least, worker->key());
        return least;
    }

    Shared shared_;
    std::vector<std::unique_ptr<ForestWorker>> workers_;
    ForestWorker::Candidate candidate_;
};

}  // namespace whence
