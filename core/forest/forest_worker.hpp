// One thread of the search over the boxes of a forest.
//
// The nearest box is opened, bounded, narrowed to what its bound leaves possible, and split at the face that keeps its
// nearest point from the leaves that pull hardest. The half with the nearest point is dealt with at once; the other one
// waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.hpp"
#include "bounds/mixture.hpp"
#include "bounds/shares.hpp"
#include "criteria/rivals.hpp"
#include "forest/faces.hpp"
#include "forest/few_changes.hpp"
#include "forest/queue.hpp"

namespace whence {

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
    ForestWorker(Shared& shared, bool alone);
    ForestWorker(const ForestWorker&) = delete;
    ForestWorker& operator=(const ForestWorker&) = delete;
    // The criterion outlives the rows that it was shown: it forgets them.
    ~ForestWorker() {
        if (absolute_) criterion_.show({}, false);
    }

    // Work on the nearest boxes until the allowance is used up, nothing is left, or a candidate is met: the projection
    // of a box satisfies the criterion. The box goes back, for other threads may have nearer ones.
    std::optional<Candidate> work(const Allowance& allowance, Hard hard);

    bool under_way() const { return under_way_; }
    // Proved: nothing in the box under way is nearer.
    double key() const { return open_.key; }
    // The box under way has to be looked at again.
    void forget_look() { rivals_ = 0; }

    // Of an absolute question, for which one worker goes on alone: see ForestSearch.
    void ask_in_boxes(bool eager);
    void answer(std::vector<double> row);
    void meet(std::vector<double> row);
    std::int32_t rivals_met() const { return met_.count(); }
    std::size_t bytes() const { return met_.bytes(); }
    void show_latest(std::int32_t count);

private:
    // What becomes of a box: it is done with, it holds a candidate, it shrank and is bounded again, or it has to be
    // split.
    enum class Verdict { done, candidate, again, split };

    void resume(double cutoff);
    bool open_next(const Allowance& allowance);
    bool open(Queue::Entry entry, double cutoff);
    void leave();
    void look();
    bool strengthen(double cutoff, const Deadline& deadline);
    void recall();
    void mix();
    Verdict hand_out();
    Verdict examine(Hard hard, double cutoff);
    Verdict refine(double cutoff);
    void share_pull();
    void drop_many();
    Verdict split(Hard hard, double cutoff);
    std::optional<Face> face(bool sharp, double cutoff);
    void split_at(Face face, double cutoff);
    double far_distance(std::int32_t j, std::int32_t first, std::int32_t last);
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
