#include "neighbours/neighbour_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/numbers.hpp"
#include "base/select.hpp"
#include "base/settings.hpp"
#include "base/team.hpp"

namespace whence::neighbours {

namespace {

// Members for the parts of a box.
Waiting::Shared share(const Waiting& waiting, MemberSets sets) {
    const std::size_t bytes = (sets.settled.capacity() + sets.open.capacity()) * sizeof(int);
    return waiting.share(std::move(sets), bytes);
}

}  // namespace

Found::Found(int dimension) : distance(kInfinity), context(dimension) {}

void Found::improve(double nearer, const std::vector<double>& other) {
    if (nearer >= distance) return;
    distance = nearer;
    context = other;
}

NeighbourWorker::NeighbourWorker(const Space& space, const Criterion& criterion, Waiting& waiting,
                                 const FewChanges* few)
    : candidate(space.dimension()),
      met(space.dimension()),
      examiner(space),
      leaf(space),
      space_(space),
      criterion_(criterion),
      waiting_(waiting),
      changing_(space, few),
      solution_(space.axes.size()) {}

bool NeighbourWorker::examine(Waiting::Open& next, double radius, const Allowance& allowance) {
    next.node.lay_out(examiner.box);
    examiner.sets = *next.node.members;
    if (changing_.limited() && !changing_.keep(examiner.box)) return false;
    const Verdict verdict = examiner.examine(criterion_, radius);
    const bool undecided = verdict == Verdict::split || verdict == Verdict::leaf;
    const int axis = changing_.limited() && undecided ? changing_.undecided(examiner.box, examiner.split.axis) : -1;
    if (axis >= 0) {
        add_choices(axis, std::max(next.key, examiner.distance), radius);
        return false;
    }
    const auto [best, open] = solve(verdict, radius, allowance);
    const double value = std::max(next.key, examiner.distance + std::min(best, open));
    met.improve(examiner.distance + best, solution_);
    if (best <= open && value < radius) {
        waiting_.push(value, std::move(next.node));
        if (waiting_.nearer_than(value - kRounding.same_key)) return false;
        candidate.improve(value, solution_);
        return true;
    }
    if (open < best && value < radius) add_parts(value, radius);
    return false;
}

// Add the box once with the axis at the start, and once with the axis among those that change.
void NeighbourWorker::add_choices(int axis, double least, double radius) {
    if (least >= radius) return;
    Box& box = examiner.box;
    const auto sets = share(waiting_, examiner.sets);
    box.charged[axis] = 1;
    waiting_.push(least, box, sets);
    box.charged[axis] = 0;
    box.low[axis] = box.high[axis] = space_.axes[axis].start;
    waiting_.push(least, box, sets);
}

bool NeighbourWorker::categories_decided() const {
    for (int j = 0; j < space_.dimension(); ++j) {
        if (space_.axes[j].kind == Kind::category && examiner.box.moves(j)) return false;
    }
    return true;
}

// Extra distance of the best explanation in the box last examined, and of the nearest place that is undecided.
LeafSolver::Outcome NeighbourWorker::solve(Verdict verdict, double radius, const Allowance& allowance) {
    const double room = radius - examiner.distance;
    if (verdict == Verdict::pruned) return {kInfinity, kInfinity};
    if (verdict == Verdict::feasible) {
        solution_ = examiner.box.nearest;
        return {0.0, kInfinity};
    }
    if (space_.turns(examiner.box, examiner.sets.open) ||
        (space_.limited() && space_.turns(examiner.box, examiner.sets.settled))) {
        return {kInfinity, 0.0};
    }
    LeafSolver::Patience patience{.numbers = allowance.numbers, .ends = allowance.ends};
    if (verdict == Verdict::leaf) return leaf.solve(criterion_, examiner, room, patience, solution_);
    if (examiner.sets.open.size() <= kSettings.contexts.few_members && categories_decided()) {
        patience.programs = kSettings.contexts.programs;
        return leaf.solve(criterion_, examiner, room, patience, solution_);
    }
    return {kInfinity, 0.0};
}

// Add the two parts of the box last examined, none of them nearer than `least`.
void NeighbourWorker::add_parts(double least, double radius) {
    Box& box = examiner.box;
    // As good as a context, and that is no explanation: only where sums are split for ever does it come to this.
    if (criterion_.by_nearness() && box.narrower_than(kRounding.narrow)) return;
    const Split split = examiner.split.axis >= 0 ? examiner.split : halves(space_, box);
    const double low = box.low[split.axis], high = box.high[split.axis];
    const auto sets = share(waiting_, examiner.sets);
    const auto add = [&](double from, double to) {
        box.low[split.axis] = from;
        box.high[split.axis] = to;
        const double key = std::max(least, box.project(space_));
        if (key < radius) waiting_.push(key, box, sets);
    };
    add(low, split.below);
    add(split.above, high);
}

NeighbourSearch::NeighbourSearch(Space space, std::unique_ptr<Criterion> criterion,
                                 std::unique_ptr<const FewChanges> few)
    : space_(std::move(space)),
      criterion_(std::move(criterion)),
      few_(std::move(few)),
      candidate_(space_.axes.size()),
      met_(space_.dimension()),
      columns_(space_.points.size()) {
    for (int i = 0; i < space_.size(); ++i) {
        const double* const row = space_.linear() ? space_.scores.slopes(i) : space_.point(i);
        for (int j = 0; j < space_.dimension(); ++j) columns_[j * space_.base.size() + i] = row[j];
    }
    criterion_->attach(space_);
    workers_.push_back(std::make_unique<NeighbourWorker>(space_, *criterion_, waiting_, few_.get()));
    restart();
}

void NeighbourSearch::restart() {
    Box whole(space_.dimension());
    if (few_ != nullptr) whole.charged.assign(space_.dimension(), 0);
    for (int j = 0; j < whole.dimension(); ++j) {
        whole.low[j] = space_.axes[j].lower;
        whole.high[j] = space_.axes[j].upper;
    }
    MemberSets sets;
    sets.open.resize(space_.size());
    std::iota(sets.open.begin(), sets.open.end(), 0);
    waiting_.clear();
    waiting_.push(0.0, whole, share(waiting_, std::move(sets)));
    nodes_ = 0;
}

Progress NeighbourSearch::advance(std::int64_t boxes, double radius, int threads, const Allowance& allowance) {
    Budget budget(boxes, allowance.pause);
    const std::int64_t before = nodes_;
    // Such a criterion remembers the box that it looks at.
    if (criterion_->by_nearness()) threads = 1;
    while (bound() < radius) {
        if (budget.spent()) return Progress::spent;
        const bool solved = work(budget, radius, threads, allowance);
        nodes_ = before + budget.visited();
        if (solved) return Progress::candidate;
    }
    return Progress::exhausted;
}

// Let all threads work once; whether the nearest box that is left was solved.
bool NeighbourSearch::work(Budget& budget, double radius, int threads, const Allowance& allowance) {
    while (static_cast<int>(workers_.size()) < threads)
        workers_.push_back(std::make_unique<NeighbourWorker>(space_, *criterion_, waiting_, few_.get()));
    waiting_.open();
    const auto one = [&](int i) {
        waiting_.work(
            budget, [&] { return radius; },
            [&](Waiting::Open& open) { return workers_[i]->examine(open, radius, allowance); });
    };
    work_together(threads, one, [&] { waiting_.close(); });
    Found nearest(space_.dimension());
    for (const auto& worker : workers_) {
        met_.improve(worker->met.distance, worker->met.context);
        worker->met.distance = kInfinity;
        nearest.improve(worker->candidate.distance, worker->candidate.context);
        worker->candidate.distance = kInfinity;
    }
    // A thread may have split a nearer box while another solved this one: then the search goes on.
    if (nearest.distance == kInfinity || nearest.distance > bound() + kRounding.same_key) return false;
    candidate_ = nearest.context;
    return true;
}

bool NeighbourSearch::stands(std::span<const double> context) {
    const std::size_t n = space_.base.size();
    std::vector<double>& buffer = worker().examiner.buffer;
    double* const here = worker().examiner.here.data();
    std::ranges::copy(space_.base, here);
    for (int j = 0; j < space_.dimension(); ++j) {
        const double* const x = columns_.data() + j * n;
        const double at = context[j];
        if (space_.linear()) {
            const bool category = space_.axes[j].kind == Kind::category;
            for (std::size_t i = 0; i < n; ++i) {
                here[i] +=
                    category ? space_.scores.entries(static_cast<int>(i), j)[static_cast<std::size_t>(at)] : x[i] * at;
            }
        } else if (space_.axes[j].kind == Kind::category) {
            for (std::size_t i = 0; i < n; ++i) here[i] += x[i] == at ? 0.0 : space_.apart;
        } else {
            for (std::size_t i = 0; i < n; ++i) here[i] += space_.axes[j].apart(x[i], at);
        }
    }
    std::copy_n(here, n, buffer.begin());
    const Boundary ends = boundary(std::span(buffer).first(n), space_.k);
    if (ends.following - ends.last < space_.margin || ends.last > space_.widest) return false;
    if (!space_.rules.empty() && !space_.rules.hold(context)) return false;
    std::vector<int>& chosen = worker().examiner.chosen;
    chosen.clear();
    for (int i = 0; i < space_.size(); ++i) {
        if (here[i] <= ends.last) chosen.push_back(i);
    }
    return criterion_->satisfied(chosen, context, buffer);
}

}  // namespace whence::neighbours
