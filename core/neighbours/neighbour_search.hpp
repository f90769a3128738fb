// The exact nearest explanation of a nearest-neighbour policy: best-first over boxes of contexts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "base/best_first.hpp"
#include "base/deadline.hpp"
#include "base/select.hpp"
#include "base/settings.hpp"
#include "base/team.hpp"
#include "forest/few_changes.hpp"
#include "neighbours/neighbour_box.hpp"
#include "neighbours/neighbour_criterion.hpp"
#include "neighbours/neighbour_leaf.hpp"
#include "neighbours/neighbour_space.hpp"
#include "neighbours/waiting_boxes.hpp"

namespace whence::neighbours {

using Waiting = WaitingBoxes<MemberSets>;

// Members for the parts of a box.
inline Waiting::Shared share(const Waiting& waiting, MemberSets sets) {
    const std::size_t bytes = (sets.settled.capacity() + sets.open.capacity()) * sizeof(int);
    return waiting.share(std::move(sets), bytes);
}

// When threads return to their caller.
struct Allowance {
    Deadline pause{};  // no box is begun after it
    Deadline ends{};   // nor is one under way looked at any closer: what is known of it by then has to do
    std::int64_t numbers = LeafSolver::Patience{}.numbers;  // that linear programs of one box may look at
};

// One thread of the search.
class NeighbourWorker {
public:
    NeighbourWorker(const Space& space, const Criterion& criterion, Waiting& waiting, const FewChanges* few)
        : candidate(space.dimension()),
          met(space.dimension()),
          examiner(space),
          leaf(space),
          space_(space),
          criterion_(criterion),
          waiting_(waiting),
          changing_(space, few),
          solution_(space.axes.size()) {}

    // Examine a box; whether it is solved and no other that waits is nearer: that is a candidate. Explanations met on
    // the way go to `met`.
    bool examine(Waiting::Open& next, double radius, const Allowance& allowance) {
        next.node.lay_out(examiner.box);
        examiner.sets = *next.node.members;
        if (changing_.limited() && !changing_.keep(examiner.box)) return false;
        const Verdict verdict = examiner.examine(criterion_, radius);
        const bool undecided = verdict == Verdict::split || verdict == Verdict::leaf;
        const int axis = changing_.limited() && undecided ? changing_.undecided(examiner.box, examiner.split.axis) : -1;
        if (axis >= 0) {
            const double least = std::max(next.key, examiner.distance);
            const auto sets = share(waiting_, examiner.sets);
            if (least < radius)
                changing_.either_way(examiner.box, axis, [&](const Box& part) { waiting_.push(least, part, sets); });
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

    Found candidate, met;
    Examiner examiner;
    LeafSolver leaf;

private:
    // Extra distance of the best explanation in the box last examined, and of the nearest place that is undecided.
    LeafSolver::Outcome solve(Verdict verdict, double radius, const Allowance& allowance) {
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
        if (examiner.sets.open.size() <= kSettings.contexts.few_members &&
            !examiner.box.has_open_category(space_.axes)) {
            patience.programs = kSettings.contexts.programs;
            return leaf.solve(criterion_, examiner, room, patience, solution_);
        }
        return {kInfinity, 0.0};
    }

    // Add the two parts of the box last examined, none of them nearer than `least`.
    void add_parts(double least, double radius) {
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

    const Space& space_;
    const Criterion& criterion_;
    Waiting& waiting_;
    ChangingAxes changing_;
    std::vector<double> solution_;  // nearest explanation of the box under way
};

enum class Progress {
    spent,      // the boxes or the time that were allowed
    candidate,  // the nearest explanation is proved nearest
    exhausted,  // nothing nearer than the radius is left
};

class NeighbourSearch {
public:
    // Where `few` is given, only some axes may change together.
    NeighbourSearch(Space space, std::unique_ptr<Criterion> criterion, std::unique_ptr<const FewChanges> few = nullptr)
        : space_(std::move(space)),
          criterion_(std::move(criterion)),
          few_(std::move(few)),
          candidate_(space_.axes.size()),
          met_(space_.dimension()) {
        criterion_->attach(space_);
        workers_.push_back(std::make_unique<NeighbourWorker>(space_, *criterion_, waiting_, few_.get()));
        restart();
    }

    NeighbourSearch(const NeighbourSearch&) = delete;
    NeighbourSearch& operator=(const NeighbourSearch&) = delete;

    const Space& space() const { return space_; }
    Criterion& criterion() { return *criterion_; }
    NeighbourWorker& worker() { return *workers_.front(); }

    void cut(std::vector<double> rival) { criterion_->cut(std::move(rival)); }
    void tighten(double by) { criterion_->tighten(by); }
    // Begin again with the whole space.
    void restart() {
        MemberSets sets;
        sets.open.resize(space_.size());
        std::iota(sets.open.begin(), sets.open.end(), 0);
        waiting_.clear();
        waiting_.push(0.0, ChangingAxes(space_, few_.get()).whole(), share(waiting_, std::move(sets)));
        nodes_ = 0;
    }

    // Examine at most `boxes` boxes nearer than `radius`, which may only shrink until a restart: what lies beyond it is
    // cut off. Several threads share the tree, each with a box of its own; a candidate is proved nearest all the same.
    Progress advance(std::int64_t boxes, double radius, int threads, const Allowance& allowance) {
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

    // Whether a context is an explanation.
    bool stands(std::span<const double> context) {
        const std::size_t n = space_.base.size();
        std::vector<double>&buffer = worker().examiner.buffer, &here = worker().examiner.here;
        for (std::size_t i = 0; i < n; ++i) buffer[i] = here[i] = space_.distance(static_cast<int>(i), context);
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

    void forget_met() { met_.distance = kInfinity; }

    // Boxes examined since the last restart.
    std::int64_t nodes() const { return nodes_; }
    std::size_t bytes() const { return waiting_.bytes(space_.dimension()); }
    // Distance of the nearest box left; infinite for none.
    double bound() const { return waiting_.bound(); }
    // The last candidate, and the nearest explanation met on the way, without proof.
    const std::vector<double>& candidate() const { return candidate_; }
    const std::vector<double>& met() const { return met_.context; }
    double met_distance() const { return met_.distance; }

private:
    // Let all threads work once; whether the nearest box that is left was solved.
    bool work(Budget& budget, double radius, int threads, const Allowance& allowance) {
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

    Space space_;
    std::unique_ptr<Criterion> criterion_;
    std::unique_ptr<const FewChanges> few_;
    Waiting waiting_;
    std::vector<std::unique_ptr<NeighbourWorker>> workers_;
    std::vector<double> candidate_;
    Found met_;
    std::int64_t nodes_ = 0;
};

}  // namespace whence::neighbours
