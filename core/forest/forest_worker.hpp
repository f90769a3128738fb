// One thread of the search over the boxes of a forest.
//
// The nearest box is opened, bounded, narrowed to what its bound leaves possible, and split at the face that keeps its
// nearest point from the leaves that pull hardest. The half with the nearest point is dealt with at once; the other one
// waits.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/deadline.hpp"
#include "base/settings.hpp"
#include "bounds/mixture.hpp"
#include "bounds/shares.hpp"
#include "criteria/plan_rows.hpp"
#include "forest/faces.hpp"
#include "forest/few_changes.hpp"
#include "forest/queue.hpp"

namespace whence {

// What the shares learn at a box. The first lesson is the longest; a forest with very long paths gets a shorter one.
inline Shares::Lesson lesson(std::int64_t bounds_taken, std::size_t path_entries, const Deadline& deadline) {
    constexpr const ForestSettings& own = kSettings.forest;
    if (bounds_taken == 0) {
        const auto entries = static_cast<std::int64_t>(std::max<std::size_t>(1, path_entries));
        const auto longest =
            std::clamp<std::int64_t>(own.lesson_entries / entries, own.shortest_lesson, own.first_lesson);
        return {static_cast<std::int32_t>(longest), 1.0, deadline};
    }
    if (bounds_taken % kSettings.forest.learn_every == 0) return {own.shortest_lesson, own.later_rate, deadline};
    return {1, 0.0, deadline};
}

// What all threads of a search work on.
struct Shared {
    const Located& located;
    Criterion& criterion;
    double tau;
    Queue queue;
    std::vector<Leaves> excluded;             // of all trees, or of the first ones
    const Plausibility* plausible = nullptr;  // where contexts must be
    const FewChanges* few = nullptr;          // where only some features may change together
    std::atomic<std::int64_t> examined = 0;   // boxes
};

// What a slice of the search may use: so many boxes after the first ones, the clock, contexts nearer than the cutoff.
struct Allowance {
    std::int64_t first, budget;
    const Deadline& deadline;
    double cutoff;

    // One box at least is examined, so that questions asked again and again come forward however little time they have.
    bool spent(std::int64_t examined) const {
        return examined >= first + budget || (examined > first && deadline.passed());
    }
};

class ForestWorker {
public:
    // What only hard questions need: the strong bound (where there are shares), and splits at the sharpest face.
    struct Hard {
        const Shares* shares = nullptr;
        bool sharp = false;
    };
    struct Candidate {
        double key;  // of its box
        Cells cells;
    };

    // A worker that is `alone` goes on with the box under way in the next slice; one of several puts it back.
    ForestWorker(Shared& shared, bool alone)
        : shared_(shared),
          located_(shared.located),
          criterion_(shared.criterion),
          queue_(shared.queue),
          tau_(shared.tau),
          alone_(alone),
          open_(located_),
          hull_(located_.grid()),
          faces_(located_),
          narrowed_(located_),
          moved_(located_.grid().columns()),
          met_(criterion_.leaves()),
          mixture_(0) {
        open_.plausible = shared.plausible;
    }

    ForestWorker(const ForestWorker&) = delete;
    ForestWorker& operator=(const ForestWorker&) = delete;
    // The criterion outlives the rows that it was shown: it forgets them.
    ~ForestWorker() {
        if (absolute_) criterion_.show({}, false);
    }

    // Work on the nearest boxes until the allowance is used up, nothing is left, or a candidate is met: the projection
    // of a box satisfies the criterion. The box goes back, for other threads may have nearer ones.
    std::optional<Candidate> work(const Allowance& allowance, Hard hard) {
        const double cutoff = allowance.cutoff;
        // Several threads share the criterion; only a worker that is alone changes it.
        if (absolute_) criterion_.show(rows_, rows_.size() > numbers_.size());
        if (hard.shares != nullptr && !shares_) shares_ = *hard.shares;
        resume(cutoff);
        while (under_way_ || open_next(allowance)) {
            if (allowance.spent(shared_.examined)) queue_.heap.close();
            if (queue_.heap.closed()) break;
            const Verdict verdict = under_way_ ? examine(hard, cutoff) : Verdict::done;
            if (verdict == Verdict::again) continue;
            if (under_way_) leave();
            if (verdict == Verdict::candidate) {
                queue_.heap.close();
                return Candidate{open_.key, open_.cells};
            }
        }
        if (under_way_ && !alone_) {
            put_back();
            leave();
        }
        return std::nullopt;
    }

    bool under_way() const { return under_way_; }
    // Proved: nothing in the box under way is nearer.
    double key() const { return open_.key; }
    // The box under way has to be looked at again.
    void forget_look() { rivals_ = 0; }

    // Of an absolute question, for which one worker goes on alone: see ForestSearch.
    void ask_in_boxes(bool eager) {
        if (!absolute_) mixture_ = Mixture(criterion_.leaves());
        absolute_ = alone_ = true;
        eager_ = eager;
        rivals_ = 0;  // the box under way has to be looked at again
    }

    void answer(std::vector<double> row) {
        if (waiting_ == Queue::kWhole) throw std::invalid_argument("No box waits for a plan.");
        Note note = *queue_.known(waiting_).note;
        std::copy_backward(note.rivals.begin(), note.rivals.end() - 1, note.rivals.end());
        note.rivals[0] = met_.add(std::move(row));
        queue_.set_note(waiting_, note);
    }

    void meet(std::vector<double> row) {
        met_.add(std::move(row));
        rivals_ = 0;  // a rival of the box under way may have made room for it
    }

    std::size_t bytes() const { return met_.bytes(); }

    void show_latest(std::int32_t count) {
        std::vector<const double*> rows;
        for (std::int32_t number = met_.count() - 1; number >= 0 && count > 0; --number, --count)
            if (const double* row = met_.row(number)) rows.push_back(row);
        criterion_.show(rows, false);
    }

private:
    // What becomes of a box: it is done with, it holds a candidate, it shrank and is bounded again, or it has to be
    // split.
    enum class Verdict { done, candidate, again, split };

    // Go on with the box under way, unless what it was opened for has changed: then it waits for its turn again.
    void resume(double cutoff) {
        const bool same = cutoff == cutoff_ && criterion_.rivals() == rivals_;
        if (under_way_ && !same) {
            put_back();
            leave();
        }
        cutoff_ = cutoff;
        rivals_ = criterion_.rivals();
        open_.fit(criterion_);
    }

    // Open the nearest box, if there is one; it is not under way where it turned out to be empty, or has to wait.
    bool open_next(const Allowance& allowance) {
        if (allowance.spent(shared_.examined)) {
            queue_.heap.close();
            return false;
        }
        const auto entry = queue_.heap.take(allowance.cutoff);
        if (!entry) return false;
        under_way_ = holds_link_ = true;
        if (!open(*entry, allowance.cutoff) || (shares_ && !strengthen(allowance.cutoff, allowance.deadline))) leave();
        return true;
    }

    // Lay out a box that was taken from the queue; false where it is empty.
    bool open(Queue::Entry entry, double cutoff) {
        const auto [key, link] = entry;
        open_.key = key;
        open_.link = link;
        Queue::Known known = queue_.known(link);
        // Contexts in which a lone rival has other thresholds than a box around this one has left are no explanations.
        open_.ranges_known = criterion_.rivals() == 1 && !known.levels.empty();
        if (open_.ranges_known) open_.level_ranges.assign(1, known.levels);
        if (!queue_.rebuild(link, open_.box)) return false;
        open_.plans = std::move(known.plans);
        open_.etas = link == Queue::kWhole ? EtaRange{0, criterion_.etas() - 1} : known.etas;
        open_.near = open_.box.project(open_.cells);
        const double room = cutoff - open_.near;
        if (room < kInfinity && !open_.box.tighten(open_.cells, room)) return false;
        if (shared_.few != nullptr && !shared_.few->keep(open_.box, changed_, kept_)) return false;
        if (absolute_) recall();
        look();
        if (queue_.take_reach(link, open_.reach.words()))
            open_.reach.keep_near(open_.box, open_.cells, room);
        else
            open_.reach.gather_near(open_.box, open_.cells, room);
        if (shared_.few != nullptr) drop_many();
        if (absolute_ || shares_) criterion_.lean(open_);  // otherwise it is bounded next, which does the same
        if (absolute_) mix();
        return true;
    }

    // The box under way is done with, or waits in the queue.
    void leave() {
        under_way_ = false;
        if (holds_link_) queue_.release(open_.link);
        holds_link_ = false;
        queue_.heap.done();
    }
    // Judge the projection of the box, and whether it was excluded.
    void look() {
        open_.judge(criterion_, tau_);
        if (rows_.size() > numbers_.size()) open_.worst = criterion_.rivals() - 1;  // the mixture
        const auto& excluded = shared_.excluded;
        open_.barred = open_.holds && std::any_of(excluded.begin(), excluded.end(), [&](const Leaves& leaves) {
                           return std::equal(leaves.begin(), leaves.end(), open_.here.begin());
                       });
    }

    // Take the strong bound of the box; false where that ends its turn.
    bool strengthen(double cutoff, const Deadline& deadline) {
        if (open_.holds || queue_.known(open_.link).strong) return true;
        const Shares::Lesson now = lesson(strong_bounds_, located_.grid().path_entries(), deadline);
        ++strong_bounds_;
        double least = shares_->bound(open_, criterion_, tau_, cutoff, now);
        least -= kRounding.strong_bound * std::max(1.0, std::abs(least));
        if (least >= cutoff) {
            ++shared_.examined;
            return false;
        }
        EtaRange& etas = open_.etas;
        while (etas.first < etas.last && open_.joint[etas.first] >= cutoff) ++etas.first;
        while (etas.first < etas.last && open_.joint[etas.last] >= cutoff) --etas.last;
        if (least <= open_.key) return true;
        open_.key = least;
        if (open_.link == Queue::kWhole || !queue_.heap.nearer_than(least)) return true;
        // Others are nearer now: come back when it is this box's turn.
        queue_.teach(open_.link, [&](Queue::Known& known) {
            known.etas = etas;
            known.strong = true;
        });
        put_back();
        ++shared_.examined;
        return false;
    }

    // Show the criterion what the box knows about plans.
    void recall() {
        const auto note = queue_.known(open_.link).note;
        note_ = note == nullptr ? Note{} : *note;
        rows_.clear();
        numbers_.clear();
        for (const std::int32_t number : note_.rivals)
            if (const double* row = met_.row(number)) {
                rows_.push_back(row);
                numbers_.push_back(number);
            }
        criterion_.show(rows_, false);
        open_.fit(criterion_);
    }

    // Mix the rivals of the box; the mixture becomes the worst of them, and the best ones are kept for its halves.
    void mix() {
        mixture_.mix(open_, criterion_, criterion_.eta_at(open_.counted(), open_.etas));
        const std::size_t added = mixture_.alone().size() - numbers_.size();
        std::vector<std::size_t> order(numbers_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return mixture_.alone()[added + a] > mixture_.alone()[added + b];
        });
        note_.rivals.fill(-1);
        for (std::size_t i = 0; i < order.size(); ++i) note_.rivals[i] = numbers_[order[i]];
        rows_.push_back(mixture_.row());
        criterion_.show(rows_, true);
        open_.fit(criterion_);
        open_.worst = criterion_.rivals() - 1;
    }

    // Put the box back and hand out its projection; with a link of its own where a plan may be answered.
    Verdict hand_out() {
        if (absolute_) {
            go_into(0, open_.box[0]);
            note_.here = true;
            queue_.set_note(open_.link, note_);
            queue_.hold(open_.link);
            queue_.release(waiting_);
            waiting_ = open_.link;
        }
        put_back();
        return Verdict::candidate;
    }

    // Examine the box under way: it holds a candidate, is done with, or is left, smaller, to be examined again.
    Verdict examine(Hard hard, double cutoff) {
        ++shared_.examined;
        if (open_.holds && !open_.barred) return hand_out();
        const Verdict verdict = open_.barred ? Verdict::split : refine(cutoff);
        return verdict == Verdict::split ? split(hard, cutoff) : verdict;
    }

    // Bound the box and narrow it to the hull of the leaves left.
    Verdict refine(double cutoff) {
        const PlansLeft known = open_.plans;
        if (!criterion_.bound(open_, tau_)) return Verdict::done;
        if (open_.ranges_known && criterion_.rivals() == 1 && open_.link != Queue::kWhole)
            queue_.teach(open_.link, [&](Queue::Known& own) { own.levels = open_.level_ranges[0]; });
        if (open_.plans != known) queue_.teach(open_.link, [&](Queue::Known& own) { own.plans = open_.plans; });
        if (open_.plausible != nullptr) {
            if (!open_.plausible->bound(open_)) return Verdict::done;
            share_pull();
        }
        // Whoever is asked for a better plan takes the point for a candidate where there is none: it has to be
        // plausible.
        if (eager_ && !note_.here && (open_.plausible == nullptr || open_.short_by <= 0.0)) return hand_out();
        narrowed_ = open_.box;
        if (!hull_.narrow(open_.reach, narrowed_)) return Verdict::split;
        for (std::int32_t j = 0; j < narrowed_.size(); ++j) {
            const Interval to = narrowed_[j];
            if (to.low <= open_.box[j].low && to.high >= open_.box[j].high) continue;
            go_into(j, to);
            if (!open_.box.restrict(j, to.low, to.high)) return Verdict::done;
        }
        open_.reach.keep_box(open_.box);
        if (shared_.few != nullptr) {
            if (!shared_.few->keep(open_.box, changed_, kept_)) return Verdict::done;
            drop_many();
        }
        const double near = open_.box.project(moved_);
        if (moved_ == open_.cells) return Verdict::again;
        open_.cells = moved_;
        open_.near = near;
        note_.here = false;
        open_.key = std::max(open_.key, near);
        if (open_.key >= cutoff) return Verdict::done;
        if (queue_.heap.nearer_than(open_.key)) {
            put_back();
            return Verdict::done;
        }
        look();
        return Verdict::again;
    }

    // The criterion and plausibility pull the box away from a projection that they rule out, each as much as it is
    // missed.
    void share_pull() {
        const double criterion = open_.stands ? 0.0 : 1.0 / (open_.over - tau_);
        const double plausibility = open_.short_by <= 0.0 ? 0.0 : 1.0 / open_.short_by;
        for (std::size_t t = 0; t < open_.gains.size(); ++t)
            open_.gains[t] *= static_cast<std::int32_t>(t) < open_.trees ? criterion : plausibility;
    }

    // Drop the leaves that ask for more changes than those of the box allow for.
    void drop_many() {
        const FewChanges& few = *shared_.few;
        const Grid& grid = located_.grid();
        for (std::int32_t t = 0; t < grid.trees(); ++t)
            open_.reach.drop(t, [&](std::int32_t leaf) {
                kept_ = changed_;
                bool more = false;
                for (const PathEntry& entry : grid.path(leaf)) {
                    if (entry.low > open_.box[entry.column].high || entry.high < open_.box[entry.column].low)
                        return true;
                    if (entry.allows(located_.column(entry.column).start) || kept_[few.of(entry.column)]) continue;
                    kept_[few.of(entry.column)] = 1;
                    more = true;
                }
                return more && !few.allows(kept_);
            });
    }

    // Split the box: Verdict::again where a half of it stays under way.
    Verdict split(Hard hard, double cutoff) {
        if (hard.sharp && !open_.barred && !criterion_.bound_again(open_, tau_)) return Verdict::done;
        const std::optional<Face> chosen = face(hard.sharp, cutoff);
        if (!chosen) return Verdict::done;
        split_at(*chosen, cutoff);
        if (!shares_) return Verdict::again;
        // The half that stays under way is worth a strong bound of its own.
        put_back();
        return Verdict::done;
    }

    std::optional<Face> face(bool sharp, double cutoff) {
        std::optional<Face> chosen;
        if (!open_.barred) {
            if (sharp) chosen = faces_.sharpest(open_, criterion_, cutoff);
            if (!chosen) chosen = faces_.pulling(open_);
        }
        // The bound may be attained at the projection itself, though that does not hold: with another threshold for the
        // rival, or by rounding.
        return chosen ? chosen : faces_.around(open_);
    }

    // The far half waits, the half with the projection stays under way.
    void split_at(Face face, double cutoff) {
        const auto [column, cut] = face;
        Interval near{open_.box[column].low, cut}, far{cut + 1, open_.box[column].high};
        if (open_.cells[column] > cut) std::swap(near, far);
        if (far.low <= far.high) {
            const double key = std::max(open_.key, far_distance(column, far.low, far.high));
            if (key < cutoff) {
                const std::int32_t link = queue_.link(open_.link, column, far.low, far.high, open_.etas);
                if (absolute_) queue_.set_note(link, {note_.rivals, false});
                queue_.set_reach(link, open_.reach.words());
                queue_.heap.push(key, link);
            }
        }
        go_into(column, near);
        if (absolute_) queue_.set_note(open_.link, note_);
        open_.box.restrict(column, near.low, near.high);
        open_.reach.keep_box(open_.box);
        if (absolute_) {
            // The rivals are mixed again for the half.
            recall();
            look();
            criterion_.lean(open_);
            mix();
        }
    }

    // Distance of the box when column j is restricted to first..last, infinite where that is empty.
    double far_distance(std::int32_t j, std::int32_t first, std::int32_t last) {
        const Column& column = located_.column(j);
        if (column.group < 0) {
            first = located_.up(j, first);
            last = located_.down(j, last);
            if (first < 0 || last < 0 || first > last) return kInfinity;
            const std::int32_t cell = std::min(std::max(column.start, first), last);
            return open_.near + std::max(0.0, located_.distance(j, cell) - located_.distance(j, open_.cells[j]));
        }
        narrowed_ = open_.box;
        return narrowed_.restrict(j, first, last) ? narrowed_.project(moved_) : kInfinity;
    }

    // The box under way waits in the queue.
    void put_back() {
        queue_.set_reach(open_.link, open_.reach.words());
        queue_.heap.push(open_.key, open_.link);
        holds_link_ = false;
    }
    // Go on with a part of the box under way.
    void go_into(std::int32_t column, Interval part) {
        const std::int32_t whole = open_.link;
        open_.link = queue_.link(whole, column, part.low, part.high, open_.etas);
        queue_.release(whole);
    }

    Shared& shared_;
    const Located& located_;
    Criterion& criterion_;
    Queue& queue_;
    double tau_;
    bool alone_;
    OpenBox open_;
    Hull hull_;
    Faces faces_;
    Box narrowed_;                         // the box under way, narrowed
    Cells moved_;                          // the projection on it
    FewChanges::Features changed_, kept_;  // features that change everywhere in the box, and that must stay
    bool under_way_ = false;               // whether the open box is not done with
    bool holds_link_ = false;              // whether its link does not wait in the queue
    double cutoff_ = 0.0;                  // the cutoff it was opened with
    std::int32_t rivals_ = 0;              // and the number of rivals
    std::optional<Shares> shares_;         // every thread learns by itself
    std::int64_t strong_bounds_ = 0;

    // Of absolute questions.
    bool absolute_ = false, eager_ = false;  // whether boxes have rivals of their own, and ask for them at once
    Rivals met_;
    Mixture mixture_;
    Note note_;                             // of the box under way
    std::vector<std::int32_t> numbers_;     // of the rivals that it knows,
    std::vector<const double*> rows_;       // and their rows, that of the mixture after them
    std::int32_t waiting_ = Queue::kWhole;  // link of the box that waits for an answer
};

}  // namespace whence
