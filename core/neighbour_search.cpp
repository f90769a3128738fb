#include "neighbour_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

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
      examiner_(space_),
      leaf_(space_),
      candidate_(space_.axes.size()),
      met_(space_.axes.size()),
      met_distance_(kInfinity),
      columns_(space_.points.size()) {
    for (int i = 0; i < space_.size(); ++i) {
        for (int j = 0; j < space_.dimension(); ++j) columns_[j * space_.base.size() + i] = space_.point(i)[j];
    }
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

// Copy a box and its members to where they are examined.
void NeighbourSearch::load(int node) {
    examiner_.box.low = tree_[node].low;
    examiner_.box.high = tree_[node].high;
    examiner_.sets = *tree_[node].sets;
}

bool NeighbourSearch::categories_decided() const {
    for (int j = 0; j < space_.dimension(); ++j) {
        if (space_.axes[j].kind == Kind::category && examiner_.box.moves(j)) return false;
    }
    return true;
}

// Extra distance of the best explanation in the box last examined, and of the nearest place that is undecided.
LeafSolver::Outcome NeighbourSearch::solve(Verdict verdict, double radius) {
    const double room = radius - examiner_.distance;
    if (verdict == Verdict::pruned) return {kInfinity, kInfinity};
    if (verdict == Verdict::feasible) {
        candidate_ = examiner_.box.nearest;
        return {0.0, kInfinity};
    }
    if (verdict == Verdict::leaf) return leaf_.solve(*criterion_, examiner_, room, kEndless, candidate_);
    if (examiner_.sets.open.size() <= kFew && categories_decided()) {
        return leaf_.solve(*criterion_, examiner_, room, kPatience, candidate_);
    }
    return {kInfinity, 0.0};
}

// Add the two parts of the box last examined, none of them nearer than `least`.
void NeighbourSearch::add_parts(double least, double radius) {
    Box& box = examiner_.box;
    const Split split = examiner_.split.axis >= 0 ? examiner_.split : halves(space_, box);
    const double low = box.low[split.axis], high = box.high[split.axis];
    const auto sets = std::make_shared<const MemberSets>(examiner_.sets);
    const auto add = [&](double from, double to) {
        box.low[split.axis] = from;
        box.high[split.axis] = to;
        const double key = std::max(least, box.project(space_));
        if (key < radius) tree_.push(key, box, sets);
    };
    add(low, split.below);
    add(split.above, high);
}

Progress NeighbourSearch::advance(std::int64_t boxes, double radius) {
    for (std::int64_t step = 0; step < boxes; ++step) {
        if (tree_.empty() || tree_.nearest() >= radius) return Progress::exhausted;
        const auto [key, node] = tree_.take();
        ++nodes_;
        load(node);
        const Verdict verdict = examiner_.examine(*criterion_, radius);
        const auto [best, open] = solve(verdict, radius);
        const double value = std::max(key, examiner_.distance + std::min(best, open));
        if (examiner_.distance + best < met_distance_) {
            met_distance_ = examiner_.distance + best;
            met_ = candidate_;
        }
        if (best <= open && value < radius) {
            tree_.put_back(value, node);
            if (value <= tree_.nearest() + kSame) return Progress::candidate;
            continue;
        }
        tree_.forget(node);
        if (open < best && value < radius) add_parts(value, radius);
    }
    return Progress::spent;
}

bool NeighbourSearch::stands(std::span<const double> context) {
    const std::size_t n = space_.base.size();
    std::vector<double>& buffer = examiner_.buffer;
    double* const here = examiner_.here.data();
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
    std::vector<int>& chosen = examiner_.chosen;
    chosen.clear();
    for (int i = 0; i < space_.size(); ++i) {
        if (here[i] <= ends.last) chosen.push_back(i);
    }
    return criterion_->satisfied(chosen, buffer);
}

}  // namespace whence::neighbours
