#include "forest_worker.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace whence {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
// The shares of the strong bound learn at the first box, and again whenever this many have been bounded.
constexpr std::int64_t LEARN_EVERY = 64;
// A strong bound is lowered by this much, so that rounding cannot put it above the optimum.
constexpr double ROUNDING = 1e-10;

// What the shares learn at a box: most at the first one.
Shares::Lesson lesson(std::int64_t bounds_taken, std::int32_t longest) {
    if (bounds_taken == 0) return {longest, 1.0};
    if (bounds_taken % LEARN_EVERY == 0) return {std::min(8, longest), 0.1};
    return {1, 0.0};
}

}  // namespace

ForestWorker::ForestWorker(Shared& shared)
    : shared_(shared),
      located_(shared.located),
      criterion_(shared.criterion),
      queue_(shared.queue),
      open_(shared.located),
      hull_(shared.located.grid()),
      faces_(shared.located),
      narrowed_(shared.located),
      moved_(shared.located.grid().columns()) {}

std::optional<ForestWorker::Candidate> ForestWorker::work(std::int64_t stop_at, double cutoff, Hard hard) {
    open_.fit(criterion_.rivals(), criterion_.etas());
    if (hard.shares != nullptr && !shares_) shares_ = *hard.shares;
    while (const auto entry = queue_.heap.take(cutoff)) {
        const Verdict verdict = treat(*entry, cutoff, hard);
        queue_.heap.done();
        const bool met = verdict == Verdict::candidate;
        if (met || shared_.examined >= stop_at) queue_.heap.close();
        if (met) return Candidate{open_.key, open_.cells};
    }
    return std::nullopt;
}

// Deal with a box until it is done with, or met a candidate.
ForestWorker::Verdict ForestWorker::treat(Queue::Entry entry, double cutoff, Hard hard) {
    if (!open(entry, cutoff)) return Verdict::done;
    if (shares_ && !strengthen(hard, cutoff)) return Verdict::done;
    Verdict verdict = Verdict::split;
    while (verdict == Verdict::split) {
        verdict = narrow(cutoff);
        if (verdict == Verdict::split) verdict = split(hard.sharp, cutoff);
    }
    return verdict;
}

// Lay out a box that was taken from the queue; false where it is empty.
bool ForestWorker::open(Queue::Entry entry, double cutoff) {
    const auto [key, link] = entry;
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
void ForestWorker::look() {
    open_.judge(criterion_, shared_.tau);
    const auto& excluded = shared_.excluded;
    open_.barred = open_.holds && std::find(excluded.begin(), excluded.end(), open_.here) != excluded.end();
}

// Take the strong bound of the box; false where that ends its turn.
bool ForestWorker::strengthen(Hard hard, double cutoff) {
    if (open_.holds || queue_.strong(open_.link)) return true;
    const Shares::Lesson now = lesson(strong_bounds_, std::max(1, hard.lesson));
    ++strong_bounds_;
    const double least = shares_->bound(open_, criterion_, shared_.tau, cutoff, now) - ROUNDING;
    if (least >= cutoff) {
        ++shared_.examined;
        return false;
    }
    EtaRange& etas = open_.etas;
    while (etas.first < etas.last && open_.joint[etas.first] >= cutoff) ++etas.first;
    while (etas.first < etas.last && open_.joint[etas.last] >= cutoff) --etas.last;
    if (least <= open_.key) return true;
    open_.key = least;
    if (open_.link == Queue::WHOLE || !queue_.heap.nearer_than(least)) return true;
    // Others are nearer now: come back when it is this box's turn.
    queue_.set_strong(open_.link, etas);
    put_back();
    ++shared_.examined;
    return false;
}

// Deal with the box under way as far as its bound goes; Verdict::split where it is left.
ForestWorker::Verdict ForestWorker::narrow(double cutoff) {
    while (true) {
        ++shared_.examined;
        if (open_.barred) return Verdict::split;
        if (open_.holds) {
            put_back();
            return Verdict::candidate;
        }
        const Verdict verdict = refine(cutoff);
        if (verdict != Verdict::again) return verdict;
    }
}

// Bound the box and narrow it to the hull of the leaves left.
ForestWorker::Verdict ForestWorker::refine(double cutoff) {
    if (!criterion_.bound(open_, shared_.tau)) return Verdict::done;
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
    if (queue_.heap.nearer_than(open_.key)) {
        put_back();
        return Verdict::done;
    }
    look();
    return Verdict::again;
}

// Restrict a column of the box and drop the leaves that it no longer meets; false where the box becomes empty.
bool ForestWorker::restrict(std::int32_t column, std::int32_t first, std::int32_t last) {
    if (!open_.box.restrict(column, first, last)) return false;
    const std::int32_t group = located_.column(column).group;
    for (std::int32_t j = 0; j < open_.box.size(); ++j)
        if (j == column || (group >= 0 && located_.column(j).group == group)) open_.reach.keep_column(open_.box, j);
    return true;
}

// Split the box: Verdict::split where a half of it stays under way.
ForestWorker::Verdict ForestWorker::split(bool sharp, double cutoff) {
    if (sharp && !open_.barred && !criterion_.bound_again(open_, shared_.tau)) return Verdict::done;
    const std::optional<Face> chosen = face(sharp);
    if (!chosen) return Verdict::done;
    split_at(*chosen, cutoff);
    if (!shares_) return Verdict::split;
    // The half that stays under way is worth a strong bound of its own.
    put_back();
    return Verdict::done;
}

std::optional<Face> ForestWorker::face(bool sharp) {
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
void ForestWorker::split_at(Face face, double cutoff) {
    const auto [column, cut] = face;
    Interval near{open_.box[column].low, cut}, far{cut + 1, open_.box[column].high};
    if (open_.cells[column] > cut) std::swap(near, far);
    if (far.low <= far.high) {
        const double key = std::max(open_.key, far_distance(column, far.low, far.high));
        if (key < cutoff) queue_.heap.push(key, queue_.link(open_.link, column, far.low, far.high, open_.etas));
    }
    open_.link = queue_.link(open_.link, column, near.low, near.high, open_.etas);
    restrict(column, near.low, near.high);
}

// Distance of the box when column j is restricted to first..last, infinite where that is empty.
double ForestWorker::far_distance(std::int32_t j, std::int32_t first, std::int32_t last) {
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
