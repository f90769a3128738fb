#include "forest_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace whence {

namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
// The shares of the strong bound learn at the first box, and again whenever this many have been bounded.
constexpr std::int64_t LEARN_EVERY = 64;
// A strong bound is lowered by this much (by this share where it is above 1), so that rounding cannot put it above the
// optimum.
constexpr double ROUNDING = 1e-10;

// What the shares learn at a box. The first lesson is the longest; a forest with very long paths gets a shorter one.
Shares::Lesson lesson(std::int64_t bounds_taken, std::size_t path_entries, const Deadline& deadline) {
    if (bounds_taken == 0) {
        const auto entries = static_cast<std::int64_t>(std::max<std::size_t>(1, path_entries));
        const auto longest = std::min<std::int64_t>(100, std::max<std::int64_t>(8, 4'000'000 / entries));
        return {static_cast<std::int32_t>(longest), 1.0, deadline};
    }
    if (bounds_taken % LEARN_EVERY == 0) return {8, 0.1, deadline};
    return {1, 0.0, deadline};
}

}  // namespace

ForestSearch::ForestSearch(const Located& located, Criterion& criterion, double tau)
    : located_(located),
      criterion_(criterion),
      tau_(tau),
      open_(located),
      hull_(located.grid()),
      faces_(located),
      narrowed_(located),
      moved_(located.grid().columns()),
      candidate_(located.grid().columns()),
      met_(located.grid().leaves()),
      mixture_(0) {
    if (criterion.leaves() != located.grid().leaves())
        throw std::invalid_argument("The criterion must be about the leaves of the grid.");
}

ForestSearch::Slice ForestSearch::advance(std::int64_t budget, double cutoff, Hard hard, const Deadline& deadline) {
    criterion_.show(rows_);
    if (criterion_.rivals() < 1) throw std::invalid_argument("There must be a rival.");
    resume(cutoff);
    const std::int64_t first = examined_, stop_at = examined_ + budget;
    // One box at least, so that questions asked again and again come forward however little time they have.
    const auto spent = [&] { return examined_ >= stop_at || (examined_ > first && deadline.passed()); };
    while (true) {
        if (!under_way_) {
            if (queue_.empty()) return {End::exhausted, INFINITE};
            if (queue_.nearest() >= cutoff) return {End::exhausted, queue_.nearest()};
            if (spent()) return {End::budget, queue_.nearest()};
            if (!open_next(cutoff)) continue;
            if (hard.shares != nullptr && !strengthen(*hard.shares, cutoff, deadline)) continue;
        } else if (spent()) {
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
    if (absolute_) recall();
    look();
    open_.reach.gather(open_.box);
    if (room < INFINITE) open_.reach.drop_far(open_.cells, room);
    if (absolute_) mix();
    return true;
}

void ForestSearch::ask_in_boxes(bool eager) {
    if (!absolute_) mixture_ = Mixture(located_.grid().leaves());
    absolute_ = true;
    eager_ = eager;
    rivals_ = 0;  // the box under way has to be looked at again
}

// Show the criterion what the box knows about plans.
void ForestSearch::recall() {
    note_ = queue_.note(open_.link);
    rows_.clear();
    numbers_.clear();
    for (const std::int32_t number : note_.rivals)
        if (const double* row = met_.row(number)) {
            rows_.push_back(row);
            numbers_.push_back(number);
        }
    criterion_.show(rows_);
    open_.fit(criterion_.rivals(), criterion_.etas());
}

// Mix the rivals of the box; the mixture becomes the worst of them, and the best ones are kept for its halves.
void ForestSearch::mix() {
    mixture_.mix(open_, criterion_, criterion_.eta_at(open_.here, open_.etas));
    const std::size_t added = mixture_.alone().size() - numbers_.size();
    std::vector<std::size_t> order(numbers_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return mixture_.alone()[added + a] > mixture_.alone()[added + b];
    });
    note_.rivals.fill(-1);
    for (std::size_t i = 0; i < order.size(); ++i) note_.rivals[i] = numbers_[order[i]];
    rows_.push_back(mixture_.row());
    criterion_.show(rows_);
    open_.fit(criterion_.rivals(), criterion_.etas());
    open_.worst = criterion_.rivals() - 1;
}

// Put the box back and hand out its projection; with a link of its own where a plan may be answered.
ForestSearch::Verdict ForestSearch::hand_out() {
    if (absolute_) {
        open_.link = queue_.link(open_.link, 0, open_.box[0].low, open_.box[0].high, open_.etas);
        note_.here = true;
        queue_.set_note(open_.link, note_);
        waiting_ = open_.link;
    }
    put_back();
    candidate_ = open_.cells;
    return Verdict::candidate;
}

void ForestSearch::answer(std::vector<double> row) {
    if (waiting_ == Queue::WHOLE) throw std::invalid_argument("No box waits for a plan.");
    Note note = queue_.note(waiting_);
    std::copy_backward(note.rivals.begin(), note.rivals.end() - 1, note.rivals.end());
    note.rivals[0] = met_.add(std::move(row));
    queue_.set_note(waiting_, note);
}

void ForestSearch::meet(std::vector<double> row) {
    met_.add(std::move(row));
    rivals_ = 0;  // a rival of the box under way may have made room for it
}

void ForestSearch::show_latest(std::int32_t count) {
    std::vector<const double*> rows;
    for (std::int32_t number = met_.count() - 1; number >= 0 && count > 0; --number, --count)
        if (const double* row = met_.row(number)) rows.push_back(row);
    criterion_.show(rows);
}

// Judge the projection of the box, and whether it was excluded.
void ForestSearch::look() {
    open_.judge(criterion_, tau_);
    if (rows_.size() > numbers_.size()) open_.worst = criterion_.rivals() - 1;  // the mixture
    open_.barred = open_.holds && std::find(excluded_.begin(), excluded_.end(), open_.here) != excluded_.end();
}

// Take the strong bound of the box; false where that ends its turn.
bool ForestSearch::strengthen(Shares& shares, double cutoff, const Deadline& deadline) {
    if (open_.holds || queue_.strong(open_.link)) return true;
    const Shares::Lesson now = lesson(strong_bounds_, located_.grid().path_entries(), deadline);
    ++strong_bounds_;
    double least = shares.bound(open_, criterion_, tau_, cutoff, now);
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
    if (open_.holds && !open_.barred) return hand_out();
    const Verdict verdict = open_.barred ? Verdict::split : refine(cutoff);
    return verdict == Verdict::split ? split(hard, cutoff) : verdict;
}

// Bound the box and narrow it to the hull of the leaves left.
ForestSearch::Verdict ForestSearch::refine(double cutoff) {
    if (!criterion_.bound(open_, tau_)) return Verdict::done;
    if (eager_ && !note_.here) return hand_out();
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
    note_.here = false;
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
        if (key < cutoff) {
            const std::int32_t link = queue_.link(open_.link, column, far.low, far.high, open_.etas);
            if (absolute_) queue_.set_note(link, {note_.rivals, false});
            queue_.wait(key, link);
        }
    }
    open_.link = queue_.link(open_.link, column, near.low, near.high, open_.etas);
    if (absolute_) queue_.set_note(open_.link, note_);
    restrict(column, near.low, near.high);
    if (absolute_) {
        // The rivals are mixed again for the half.
        recall();
        look();
        mix();
    }
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
