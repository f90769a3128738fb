#include "forest_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace whence {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
// The shares of the strong bound learn at the first box, and again whenever this many have been bounded.
constexpr std::int64_t LEARN_EVERY = 64;
// A strong bound is lowered by this much (by this share where it is above 1), so that rounding cannot put it above the
// optimum.
constexpr double ROUNDING = 1e-10;

// What the shares learn at a box: most at the first one.
Shares::Lesson lesson(std::int64_t bounds_taken, std::int32_t longest) {
    if (bounds_taken == 0) return {longest, 1.0};
    if (bounds_taken % LEARN_EVERY == 0) return {std::min(8, longest), 0.1};
    return {1, 0.0};
}

}  // namespace

ForestSearch::ForestSearch(const Located& located, const Criterion& criterion, double tau)
    : located_(located),
      criterion_(criterion),
      tau_(tau),
      open_(located),
      hull_(located.grid()),
      faces_(located),
      narrowed_(located),
      moved_(located.grid().columns()),
      candidate_(located.grid().columns()) {
    if (criterion.leaves() != located.grid().leaves())
        throw std::invalid_argument("The criterion must be about the leaves of the grid.");
}

ForestSearch::Slice ForestSearch::advance(std::int64_t budget, double cutoff, Hard hard) {
    if (criterion_.rivals() < 1) throw std::invalid_argument("There must be a rival.");
    resume(cutoff);
    const std::int64_t stop_at = examined_ + budget;
    while (true) {
        if (!under_way_) {
            if (queue_.empty()) return {End::exhausted, INFINITE};
            if (queue_.nearest() >= cutoff) return {End::exhausted, queue_.nearest()};
            if (examined_ >= stop_at) return {End::budget, queue_.nearest()};
            if (!open_next(cutoff)) continue;
            if (hard.shares != nullptr && !strengthen(hard, cutoff)) continue;
        } else if (examined_ >= stop_at) {
            return {End::budget, queue_.nearer_than(open_.key) ? queue_.nearest() : open_.key};
        }
        const Verdict verdict = examine(hard, cutoff);
        under_way_ = verdict == Verdict::again;
        if (verdict == Verdict::candidate) return {End::candidate, open_.key};
    }
}

// Go on with the box under way, unless what it was opened for has changed: then it waits for its turn again.
void ForestSearch::resume(double cutoff) {
    const bool same = cutoff == cutoff_ && criterion_.rivals() == rivals_;
    if (under_way_ && !same) put_back();
    under_way_ = under_way_ && same;
    cutoff_ = cutoff;
    rivals_ = criterion_.rivals();
    open_.fit(rivals_, criterion_.etas());
}

void ForestSearch::exclude(const Cells& cells) {
    Leaves leaves(located_.grid().trees());
    located_.grid().leaves_at(cells, leaves);
    excluded_.push_back(std::move(leaves));
    rivals_ = 0;  // the box under way has to be looked at again
}

// Take the nearest box from the queue and lay it out; false where it is empty.
bool ForestSearch::open_next(double cutoff) {
    const auto [key, link] = queue_.take();
    open_.key = key;
    open_.link = link;
    if (!queue_.rebuild(link, open_.box)) return false;
    open_.etas = link == Queue::WHOLE ? EtaRange{0, criterion_.etas() - 1} : queue_.etas(link);
    open_.near = open_.box.project(open_.cells);
    const double room = cutoff - open_.near;
    if (room < INFINITE && !open_.box.tighten(open_.cells, room)) return false;
    look();
    open_.reach.gather(open_.box);
    if (room < INFINITE) open_.reach.drop_far(open_.cells, room);
    return true;
}

// Judge the projection of the box, and whether it was excluded.
void ForestSearch::look() {
    open_.judge(criterion_, tau_);
    open_.barred = open_.holds && std::find(excluded_.begin(), excluded_.end(), open_.here) != excluded_.end();
}

// Take the strong bound of the box; false where that ends its turn.
bool ForestSearch::strengthen(Hard hard, double cutoff) {
    if (open_.holds || queue_.strong(open_.link)) return true;
    const Shares::Lesson now = lesson(strong_bounds_, std::max(1, hard.lesson));
    ++strong_bounds_;
    double least = hard.shares->bound(open_, criterion_, tau_, cutoff, now);
    least -= ROUNDING * std::max(1.0, std::abs(least));
    if (least >= cutoff) {
        ++examined_;
        return false;
    }
    EtaRange& etas = open_.etas;
    while (etas.first < etas.last && open_.joint[etas.first] >= cutoff) ++etas.first;
    while (etas.first < etas.last && open_.joint[etas.last] >= cutoff) --etas.last;
    if (least <= open_.key) return true;
    open_.key = least;
    if (open_.link == Queue::WHOLE || !queue_.nearer_than(least)) return true;
    // Others are nearer now: come back when it is this box's turn.
    queue_.set_strong(open_.link, etas);
    put_back();
    ++examined_;
    return false;
}

// Examine the box under way: it holds a candidate, is done with, or is left, smaller, to be examined again.
ForestSearch::Verdict ForestSearch::examine(Hard hard, double cutoff) {
    ++examined_;
    if (open_.holds && !open_.barred) {
        put_back();
        candidate_ = open_.cells;
        return Verdict::candidate;
    }
    const Verdict verdict = open_.barred ? Verdict::split : refine(cutoff);
    return verdict == Verdict::split ? split(hard, cutoff) : verdict;
}

// Bound the box and narrow it to the hull of the leaves left.
ForestSearch::Verdict ForestSearch::refine(double cutoff) {
    if (!criterion_.bound(open_, tau_)) return Verdict::done;
    narrowed_ = open_.box;
    if (!hull_.narrow(open_.reach, narrowed_)) return Verdict::split;
    for (std::int32_t j = 0; j < narrowed_.size(); ++j) {
        const Interval to = narrowed_[j];
        if (to.low <= open_.box[j].low && to.high >= open_.box[j].high) continue;
        open_.link = queue_.link(open_.link, j, to.low, to.high, open_.etas);
        if (!restrict(j, to.low, to.high)) return Verdict::done;
    }
    const double near = open_.box.project(moved_);
    if (moved_ == open_.cells) return Verdict::again;
    open_.cells = moved_;
    open_.near = near;
    open_.key = std::max(open_.key, near);
    if (open_.key >= cutoff) return Verdict::done;
    if (queue_.nearer_than(open_.key)) {
        put_back();
        return Verdict::done;
    }
    look();
    return Verdict::again;
}

// Restrict a column of the box and drop the leaves that it no longer meets; false where the box becomes empty.
bool ForestSearch::restrict(std::int32_t column, std::int32_t first, std::int32_t last) {
    if (!open_.box.restrict(column, first, last)) return false;
    const std::int32_t group = located_.column(column).group;
    for (std::int32_t j = 0; j < open_.box.size(); ++j)
        if (j == column || (group >= 0 && located_.column(j).group == group)) open_.reach.keep_column(open_.box, j);
    return true;
}

// Split the box: Verdict::again where a half of it stays under way.
ForestSearch::Verdict ForestSearch::split(Hard hard, double cutoff) {
    if (hard.sharp && !open_.barred && !criterion_.bound_again(open_, tau_)) return Verdict::done;
    const std::optional<Face> chosen = face(hard.sharp);
    if (!chosen) return Verdict::done;
    split_at(*chosen, cutoff);
    if (hard.shares == nullptr) return Verdict::again;
    // The half that stays under way is worth a strong bound of its own.
    put_back();
    return Verdict::done;
}

std::optional<Face> ForestSearch::face(bool sharp) {
    std::optional<Face> chosen;
    if (!open_.barred) {
        if (sharp) chosen = faces_.sharpest(open_, criterion_);
        if (!chosen) chosen = faces_.pulling(open_);
    }
    // The bound may be attained at the projection itself, though that does not hold: with another threshold for the
    // rival, or by rounding.
    return chosen ? chosen : faces_.around(open_);
}

// The far half waits, the half with the projection stays under way.
void ForestSearch::split_at(Face face, double cutoff) {
    const auto [column, cut] = face;
    Interval near{open_.box[column].low, cut}, far{cut + 1, open_.box[column].high};
    if (open_.cells[column] > cut) std::swap(near, far);
    if (far.low <= far.high) {
        const double key = std::max(open_.key, far_distance(column, far.low, far.high));
        if (key < cutoff) queue_.wait(key, queue_.link(open_.link, column, far.low, far.high, open_.etas));
    }
    open_.link = queue_.link(open_.link, column, near.low, near.high, open_.etas);
    restrict(column, near.low, near.high);
}

// Distance of the box when column j is restricted to first..last, infinite where that is empty.
double ForestSearch::far_distance(std::int32_t j, std::int32_t first, std::int32_t last) {
    const Column& column = located_.column(j);
    if (column.group < 0) {
        first = located_.up(j, first);
        last = located_.down(j, last);
        if (first < 0 || last < 0 || first > last) return INFINITE;
        const std::int32_t cell = std::min(std::max(column.start, first), last);
        return open_.near + std::max(0.0, located_.distance(j, cell) - located_.distance(j, open_.cells[j]));
    }
    narrowed_ = open_.box;
    return narrowed_.restrict(j, first, last) ? narrowed_.project(moved_) : INFINITE;
}

}  // namespace whence
