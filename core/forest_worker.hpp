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

#include "faces.hpp"
#include "queue.hpp"
#include "shares.hpp"

namespace whence {

// What all threads of a search work on.
struct Shared {
    const Located& located;
    const Criterion& criterion;
    double tau;
    Queue queue;
    std::vector<Leaves> excluded;
    std::atomic<std::int64_t> examined = 0;  // boxes
};

class ForestWorker {
public:
    // What only hard questions need: the strong bound (where there are shares), whose first lesson has so many rounds,
    // and splits at the sharpest face.
    struct Hard {
        const Shares* shares = nullptr;
        bool sharp = false;
        std::int32_t lesson = 100;
    };
    struct Candidate {
        double key;  // of its box
        Cells cells;
    };

    explicit ForestWorker(Shared& shared);

    // Work on the nearest boxes until `stop_at` have been examined in all, nothing nearer than `cutoff` is left, or a
    // candidate is met: a projection that satisfies the criterion. Its box goes back, for the threads may have nearer ones.
    std::optional<Candidate> work(std::int64_t stop_at, double cutoff, Hard hard);

private:
    // What becomes of a box: it is done with, it holds a candidate, it shrank and is bounded again, or it has to be split.
    enum class Verdict { done, candidate, again, split };

    Verdict treat(Queue::Entry entry, double cutoff, Hard hard);
    bool open(Queue::Entry entry, double cutoff);
    void look();
    bool strengthen(Hard hard, double cutoff);
    Verdict narrow(double cutoff);
    Verdict refine(double cutoff);
    bool restrict(std::int32_t column, std::int32_t first, std::int32_t last);
    Verdict split(bool sharp, double cutoff);
    std::optional<Face> face(bool sharp);
    void split_at(Face face, double cutoff);
    double far_distance(std::int32_t j, std::int32_t first, std::int32_t last);
    void put_back() { queue_.heap.push(open_.key, open_.link); }

    Shared& shared_;
    const Located& located_;
    const Criterion& criterion_;
    Queue& queue_;
    OpenBox open_;
    Hull hull_;
    Faces faces_;
    Box narrowed_;  // the box under way, narrowed
    Cells moved_;   // the projection on it
    std::optional<Shares> shares_;  // every thread learns by itself
    std::int64_t strong_bounds_ = 0;
};

}  // namespace whence
