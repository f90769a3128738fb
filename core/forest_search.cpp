#include "forest_search.hpp"

#include <limits>
#include <mutex>
#include <stdexcept>

#include "team.hpp"

namespace whence {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

}  // namespace

ForestSearch::ForestSearch(const Located& located, const Criterion& criterion, double tau, int threads)
    : shared_{located, criterion, tau, {}, {}}, candidate_{INFINITE, Cells(located.grid().columns())} {
    if (criterion.leaves() != located.grid().leaves())
        throw std::invalid_argument("The criterion must be about the leaves of the grid.");
    if (threads < 1) throw std::invalid_argument("'threads' must be positive.");
    for (int i = 0; i < threads; ++i) workers_.push_back(std::make_unique<ForestWorker>(shared_));
}

ForestSearch::Slice ForestSearch::advance(std::int64_t budget, double cutoff, Hard hard) {
    if (shared_.criterion.rivals() < 1) throw std::invalid_argument("There must be a rival.");
    const std::int64_t stop_at = shared_.examined + budget;
    const auto& heap = shared_.queue.heap;
    while (!heap.empty() && heap.nearest() < cutoff) {
        if (shared_.examined >= stop_at) return {End::budget, heap.nearest()};
        // A thread may have split a nearer box while another met the candidate: then the search goes on.
        if (work(stop_at, cutoff, hard) && candidate_.key <= heap.nearest()) return {End::candidate, candidate_.key};
    }
    return {End::exhausted, heap.empty() ? INFINITE : heap.nearest()};
}

// Let all threads work once; whether one of them met a candidate, of which the nearest is kept.
bool ForestSearch::work(std::int64_t stop_at, double cutoff, Hard hard) {
    std::mutex mutex;
    candidate_.key = INFINITE;
    shared_.queue.heap.open();
    const auto one = [&](int i) {
        auto met = workers_[i]->work(stop_at, cutoff, hard);
        std::lock_guard lock(mutex);
        if (met && met->key < candidate_.key) candidate_ = std::move(*met);
    };
    work_together(static_cast<int>(workers_.size()), one, [&] { shared_.queue.heap.close(); });
    return candidate_.key < INFINITE;
}

void ForestSearch::exclude(const Cells& cells) {
    Leaves leaves(grid().trees());
    grid().leaves_at(cells, leaves);
    shared_.excluded.push_back(std::move(leaves));
}

}  // namespace whence
