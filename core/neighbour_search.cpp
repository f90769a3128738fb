#include "neighbour_search.hpp"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "select.hpp"

namespace whence::neighbours {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// With at most this many open members a box is tried by linear programs, at most so many of them.
constexpr std::size_t kFew = 48;
constexpr std::int64_t kPatience = 20;
constexpr std::int64_t kEndless = std::int64_t{1} << 60;

// A leaf counts as solved once its key is its value, up to rounding.
constexpr double kSame = 1e-12;

bool categories_decided(const Space& space, const Box& box) {
    for (int j = 0; j < space.dimension(); ++j) {
        if (space.axes[j].kind == Kind::category && box.moves(j)) return false;
    }
    return true;
}

}  // namespace

void Tree::clear() {
    heap_.clear();
    nodes_.clear();
    free_.clear();
}

void Tree::push(double key, const Box& box, std::shared_ptr<const MemberSets> sets) {
    int node = static_cast<int>(nodes_.size());
    if (free_.empty()) {
        nodes_.emplace_back();
    } else {
        node = free_.back();
        free_.pop_back();
    }
    nodes_[node].low = box.low;
    nodes_[node].high = box.high;
    nodes_[node].sets = std::move(sets);
    heap_.push(key, node);
}

void Tree::forget(int node) {
    nodes_[node].sets.reset();
    free_.push_back(node);
}

NeighbourSearch::NeighbourSearch(Space space, std::unique_ptr<Criterion> criterion)
    : space_(std::move(space)),
      criterion_(std::move(criterion)),
      candidate_(space_.axes.size()),
      met_(space_.axes.size()),
      met_distance_(kInfinity),
      columns_(space_.points.size()) {
    for (int i = 0; i < space_.size(); ++i) {
        for (int j = 0; j < space_.dimension(); ++j) columns_[j * space_.base.size() + i] = space_.point(i)[j];
    }
    workers_.push_back(std::make_unique<Worker>(space_));
    restart();
}

void NeighbourSearch::restart() {
    Box whole(space_.dimension());
    for (int j = 0; j < whole.dimension(); ++j) {
        whole.low[j] = space_.axes[j].lower;
        whole.high[j] = space_.axes[j].upper;
    }
    auto sets = std::make_shared<MemberSets>();
    sets->open.resize(space_.size());
    std::iota(sets->open.begin(), sets->open.end(), 0);
    tree_.clear();
    tree_.push(0.0, whole, std::move(sets));
    nodes_ = 0;
}

double NeighbourSearch::bound() const { return tree_.empty() ? kInfinity : tree_.nearest(); }

void NeighbourSearch::forget_met() { met_distance_ = kInfinity; }

LeafSolver::Outcome Worker::look(const Space& space, const Criterion& criterion, double radius) {
    const Verdict verdict = examiner.examine(criterion, radius);
    const double room = radius - examiner.distance;
    if (verdict == Verdict::pruned) return {kInfinity, kInfinity};
    if (verdict == Verdict::feasible) {
        found = examiner.box.nearest;
        return {0.0, kInfinity};
    }
    if (verdict == Verdict::leaf) return leaf.solve(criterion, examiner, room, kEndless, found);
    if (examiner.sets.open.size() <= kFew && categories_decided(space, examiner.box)) {
        return leaf.solve(criterion, examiner, room, kPatience, found);
    }
    return {kInfinity, 0.0};
}

// Take the nearest box to where it is looked at, all but its members.
NeighbourSearch::Taken NeighbourSearch::take(Worker& worker) {
    const auto [key, node] = tree_.take();
    ++nodes_;
    worker.examiner.box.low = tree_[node].low;
    worker.examiner.box.high = tree_[node].high;
    return {key, node, tree_[node].sets};
}

// Add the two parts of the box that was looked at, none of them nearer than `least`.
void NeighbourSearch::add_parts(Worker& worker, double least, double radius) {
    Box& box = worker.examiner.box;
    const Split split = worker.examiner.split.axis >= 0 ? worker.examiner.split : halves(space_, box);
    const double low = box.low[split.axis], high = box.high[split.axis];
    const auto sets = std::make_shared<const MemberSets>(worker.examiner.sets);
    const auto add = [&](double from, double to) {
        box.low[split.axis] = from;
        box.high[split.axis] = to;
        const double key = std::max(least, box.project(space_));
        if (key < radius) tree_.push(key, box, sets);
    };
    add(low, split.below);
    add(split.above, high);
}

// Put to the tree what is left of a box; whether the explanation found in it is the nearest one, given that no box that
// others look at is nearer than `under_way`.
bool NeighbourSearch::settle(Worker& worker, const Taken& taken, LeafSolver::Outcome outcome, double radius,
                             double under_way) {
    const auto [best, open] = outcome;
    const double distance = worker.examiner.distance;
    const double value = std::max(taken.key, distance + std::min(best, open));
    if (distance + best < met_distance_) {
        met_distance_ = distance + best;
        met_ = worker.found;
    }
    if (best <= open && value < radius) {
        tree_.put_back(value, taken.node);
        solved_ = std::min(solved_, value);
        if (value > std::min(tree_.nearest(), under_way) + kSame) return false;
        candidate_ = worker.found;
        return true;
    }
    tree_.forget(taken.node);
    if (open < best && value < radius) add_parts(worker, value, radius);
    return false;
}

Progress NeighbourSearch::advance(std::int64_t boxes, double radius, int threads) {
    if (threads > 1) return advance_together(boxes, radius, threads);
    Worker& worker = *workers_.front();
    for (std::int64_t step = 0; step < boxes; ++step) {
        if (bound() >= radius) return Progress::exhausted;
        const Taken taken = take(worker);
        worker.examiner.sets = *taken.sets;
        if (settle(worker, taken, worker.look(space_, *criterion_, radius), radius, kInfinity)) {
            return Progress::candidate;
        }
    }
    return Progress::spent;
}

Progress NeighbourSearch::advance_together(std::int64_t boxes, double radius, int threads) {
    while (static_cast<int>(workers_.size()) < threads) workers_.push_back(std::make_unique<Worker>(space_));
    std::mutex tree_in_use;
    std::condition_variable changed;
    std::vector<double> under_way(threads, kInfinity);  // distance of the box that each thread looks at
    std::int64_t left = boxes;
    std::optional<Progress> end;
    solved_ = kInfinity;
    // A box to look at; one that is solved already has to wait for those that may hold something nearer.
    const auto there_is_work = [&] {
        const double others = std::ranges::min(under_way);
        return others == kInfinity || (bound() < radius && (bound() < solved_ || bound() <= others + kSame));
    };
    const auto work = [&](int thread) {
        Worker& worker = *workers_[thread];
        std::unique_lock lock(tree_in_use);
        while (true) {
            changed.wait(lock, [&] { return end || left == 0 || there_is_work(); });
            if (!end && left == 0) end = Progress::spent;
            if (!end && bound() >= radius) end = Progress::exhausted;
            if (end) break;
            --left;
            const Taken taken = take(worker);
            under_way[thread] = taken.key;
            lock.unlock();
            worker.examiner.sets = *taken.sets;
            const LeafSolver::Outcome outcome = worker.look(space_, *criterion_, radius);
            lock.lock();
            under_way[thread] = kInfinity;
            if (settle(worker, taken, outcome, radius, std::ranges::min(under_way))) end = Progress::candidate;
            changed.notify_all();
        }
        changed.notify_all();
    };
    {
        std::vector<std::jthread> others;
        for (int thread = 1; thread < threads; ++thread) others.emplace_back(work, thread);
        work(0);
    }
    return *end;
}

bool NeighbourSearch::stands(std::span<const double> context) {
    const std::size_t n = space_.base.size();
    Examiner& examiner = workers_.front()->examiner;
    std::vector<double>& buffer = examiner.buffer;
    double* const here = examiner.here.data();
    std::ranges::copy(space_.base, here);
    for (int j = 0; j < space_.dimension(); ++j) {
        const double* const x = columns_.data() + j * n;
        const double at = context[j];
        if (space_.axes[j].kind == Kind::category) {
            for (std::size_t i = 0; i < n; ++i) here[i] += x[i] == at ? 0.0 : 1.0;
        } else {
            for (std::size_t i = 0; i < n; ++i) here[i] += std::abs(x[i] - at);
        }
    }
    std::copy_n(here, n, buffer.begin());
    const Boundary ends = boundary(std::span(buffer).first(n), space_.k);
    if (ends.following - ends.last < space_.margin) return false;
    std::vector<int>& chosen = examiner.chosen;
    chosen.clear();
    for (int i = 0; i < space_.size(); ++i) {
        if (here[i] <= ends.last) chosen.push_back(i);
    }
    return criterion_->satisfied(chosen, buffer);
}

}  // namespace whence::neighbours
