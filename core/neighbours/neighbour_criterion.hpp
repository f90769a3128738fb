// What the neighbours must satisfy: bounds over the sets still possible, exact once a set is decided.
//
// A cut says that the alternative costs no more than a rival over the k neighbours, up to a tolerance: in the mean, or
// in the mean of the worst tail (the tail counted in neighbours, its last one split).
#pragma once

#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

namespace whence::neighbours {

using Members = std::span<const int>;

struct Space;
struct Box;
struct MemberSets;

// What must not be positive in a box, from below: `here` at its nearest context, and by step along the axes, ahead at
// least `low` and back at least minus `high` times its length.
struct Line {
    double here;
    std::vector<double> low, high;
};

class Criterion {
public:
    // `tau` is a little wider than the question's tolerance: what it lets through is checked again.
    Criterion(std::vector<double> alternative, int k, double tau)
        : alternative_(std::move(alternative)),
          k_(k),
          tau_(tau) {}
    virtual ~Criterion() = default;

    // From now on the alternative must not lose to a plan with these costs.
    virtual void cut(std::vector<double> rival) { rivals_.push_back(std::move(rival)); }
    // From now on this set of neighbours is left out.
    void exclude(std::vector<int> members);

    // Whether no set of k members, those inside and some of the undecided ones, satisfies all cuts. The buffer has room
    // for the undecided and k more.
    bool hopeless(Members inside, Members undecided, std::span<double> buffer) const;
    // Whether these k members, the neighbours in a context, satisfy all cuts there and are not left out.
    bool satisfied(Members members, std::span<const double> context, std::span<double> buffer) const;
    // Whether it matters how near neighbours are. Such a criterion looks at a box before it is asked about its members,
    // and remembers what it saw: it is for one thread.
    virtual bool by_nearness() const { return false; }
    // Where distances are taken.
    virtual void attach(const Space&) {}
    virtual void look(const Space&, const Box&, const MemberSets&) const {}
    // What it saw there of every cut, for sets of k members, those inside and some of the undecided ones.
    virtual void lines(Members, Members, std::span<double>, std::vector<Line>& found) const { found.clear(); }
    // From now on the alternative must be better by so much more; for a criterion that cannot leave out a set.
    virtual void tighten(double) {}
    // About how many numbers are looked at to judge whether sets of some of so many members are hopeless.
    virtual std::int64_t effort(std::int64_t members) const { return 8 * members * std::ssize(rivals_); }
    // How much more the alternative costs than the latest rival under one observation.
    double harm(int member) const { return rivals_.empty() ? 0.0 : alternative_[member] - rivals_.back()[member]; }

protected:
    virtual bool any_cut_hopeless(Members inside, Members undecided, std::span<double> buffer) const = 0;
    // Whether these k members satisfy all cuts in a context.
    virtual bool holds(Members members, std::span<const double> context, std::span<double> buffer) const;
    // Whether these k members, which satisfy all cuts, agree as much as is asked for.
    virtual bool agreed(Members) const { return true; }

    std::vector<double> alternative_;
    std::vector<std::vector<double>> rivals_;
    int k_;
    double tau_;

private:
    std::vector<std::vector<int>> excluded_;
};

// Expected cost: the mean over the neighbours. Against the first rival, the alternative must also be better by
// `confidence` standard errors of that mean.
class MeanCriterion : public Criterion {
public:
    MeanCriterion(std::vector<double> alternative, int k, double tau, double confidence = 0.0)
        : Criterion(std::move(alternative), k, tau),
          confidence_(confidence) {}
    void cut(std::vector<double> rival) override;

private:
    // Whether standard errors count: one neighbour has none.
    bool doubts() const { return confidence_ > 0.0 && k_ > 1 && !differences_.empty(); }
    bool agreed(Members members) const override;
    bool exceeds(const std::vector<double>& difference, Members inside, Members undecided,
                 std::span<double> buffer) const;
    bool always_doubtful(Members inside, Members undecided, std::span<double> buffer) const;
    bool any_cut_hopeless(Members inside, Members undecided, std::span<double> buffer) const override;

    double confidence_;
    std::vector<std::vector<double>> differences_;  // alternative minus rival
};

// CVaR: the mean over the worst `tail` neighbours. Against the first rival, the alternative must also be better by
// `confidence` standard errors of what the neighbours say, each at the thresholds that suit all of them together.
// Bounds leave the standard errors out: only decided sets are judged by them.
class TailCriterion : public Criterion {
public:
    TailCriterion(std::vector<double> alternative, int k, double tau, double tail, double confidence = 0.0)
        : Criterion(std::move(alternative), k, tau),
          tail_(tail),
          confidence_(confidence) {}
    // Every member's cost may be a threshold, in three turns.
    std::int64_t effort(std::int64_t members) const override { return 3 * members * members * std::ssize(rivals_); }

private:
    // Mean of the worst tail, and the value at which it begins.
    struct Tail {
        double mean, begin;
    };

    bool any_cut_hopeless(Members inside, Members undecided, std::span<double> buffer) const override;
    bool agreed(Members members) const override;
    double threshold(const std::vector<double>& costs, Members members) const;
    Tail tail_of(std::span<double> values) const;
    Tail completed(const std::vector<double>& costs, Members inside, Members undecided, double sign,
                   std::span<double> buffer) const;
    bool thresholds_hopeless(const std::vector<double>& rival, double threshold, double eta_low, double eta_high,
                             Members inside, Members undecided, std::span<double> buffer) const;

    double tail_, confidence_;
};

}  // namespace whence::neighbours
