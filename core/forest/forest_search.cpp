#include "forest/forest_search.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include "base/numbers.hpp"
#include "base/team.hpp"

namespace whence {

ForestSearch::ForestSearch(const Located& located, Criterion& criterion, double tau, int threads,
                           const Plausibility* plausible, const FewChanges* few)
    : shared_{located, criterion, tau, {}, {}, plausible, few},
      candidate_{kInfinity, Cells(located.grid().columns())} {
    require_fit(located.grid(), criterion, plausible);
    if (threads < 1) throw std::invalid_argument("'threads' must be positive.");
    require_fit(located.grid(), few);
    for (int i = 0; i < threads; ++i) workers_.push_back(std::make_unique<ForestWorker>(shared_, threads == 1));
}

void ForestSearch::ask_in_boxes(bool eager) {
    // Between two slices none of several threads has a box under way.
    workers_.resize(1);
    workers_[0]->ask_in_boxes(eager);
}

ForestSearch::Slice ForestSearch::advance(std::int64_t budget, double cutoff, Hard hard, const Deadline& deadline) {
    if (shared_.criterion.rivals() < 1) throw std::invalid_argument("There must be a rival.");
    const Allowance allowance{shared_.examined, budget, deadline, cutoff};
    do {
        // A thread may have split a nearer box while another met the candidate: then the search goes on.
        if (work(allowance, hard) && candidate_.key <= bound()) return {End::candidate, candidate_.key};
        if (bound() >= cutoff) return {End::exhausted, bound()};
    } while (!allowance.spent(shared_.examined));
    return {End::budget, bound()};
}

// Let all threads work once; whether one of them met a candidate, of which the nearest is kept.
bool ForestSearch::work(const Allowance& allowance, Hard hard) {
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
double ForestSearch::bound() const {
    double least = shared_.queue.heap.empty() ? kInfinity : shared_.queue.heap.nearest();
    for (const auto& worker : workers_)
        if (worker->under_way()) least = std::min(least, worker->key());
    return least;
}

void ForestSearch::exclude(const Cells& cells, bool all) {
    Leaves leaves(grid().trees());
    grid().leaves_at(cells, leaves);
    if (!all && shared_.plausible != nullptr) leaves.resize(shared_.plausible->first_tree());
    shared_.excluded.push_back(std::move(leaves));
    for (const auto& worker : workers_) worker->forget_look();
}

}  // namespace whence
