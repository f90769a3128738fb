// What the neighbours must satisfy: bounds over the sets still possible, exact once a set is decided.
//
// A cut says that the alternative costs no more than a rival over the k neighbours, up to a tolerance: in the mean, or
// in the mean of the worst tail (the tail counted in neighbours, its last one split).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "base/select.hpp"
#include "base/settings.hpp"

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
    void exclude(std::vector<int> members) {
        std::ranges::sort(members);
        excluded_.push_back(std::move(members));
    }
    // Whether no set of k members, those inside and some of the undecided ones, satisfies all cuts. The buffer has room
    // for the undecided and k more.
    bool hopeless(Members inside, Members undecided, std::span<double> buffer) const {
        const int need = k_ - static_cast<int>(inside.size());
        if (need < 0 || need > static_cast<int>(undecided.size())) return true;
        return any_cut_hopeless(inside, undecided, buffer);
    }
    // Whether these k members, the neighbours in a context, satisfy all cuts there and are not left out.
    bool satisfied(Members members, std::span<const double> context, std::span<double> buffer) const {
        if (!holds(members, context, buffer) || !agreed(members)) return false;
        if (excluded_.empty()) return true;
        std::vector<int> sorted(members.begin(), members.end());
        std::ranges::sort(sorted);
        return std::ranges::find(excluded_, sorted) == excluded_.end();
    }
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
    // What was added up, and the sizes of all of it.
    struct Sum {
        double total = 0.0, size = 0.0;
        void add(double value) {
            total += value;
            size += std::abs(value);
        }
    };
    // Add up the `need` smallest numbers of the undecided members.
    template <class Term>
    static void add_smallest(Sum& sum, std::size_t need, Members undecided, std::span<double> buffer, Term term) {
        for (std::size_t i = 0; i < undecided.size(); ++i) buffer[i] = term(undecided[i]);
        smallest_first(buffer.first(undecided.size()), static_cast<std::ptrdiff_t>(need));
        for (std::size_t i = 0; i < need; ++i) sum.add(buffer[i]);
    }
    // The least sum of what each member counts for, over sets of k of them: those inside and some of the undecided
    // ones.
    template <class Term>
    Sum least_sum(Members inside, Members undecided, std::span<double> buffer, Term term) const {
        Sum sum;
        for (const int member : inside) sum.add(term(member));
        add_smallest(sum, static_cast<std::size_t>(k_) - inside.size(), undecided, buffer, term);
        return sum;
    }
    // Whether what k members say is at most the tolerance on average, with so many standard errors of that.
    template <class Value>
    bool agreed_by(Members members, double confidence, Value value) const {
        double mean = 0.0, squares = 0.0;
        for (const int member : members) mean += value(member) / k_;
        for (const int member : members) squares += (value(member) - mean) * (value(member) - mean);
        return mean + confidence * std::sqrt(squares / (k_ - 1.0) / k_) <= tau_;
    }
    virtual bool any_cut_hopeless(Members inside, Members undecided, std::span<double> buffer) const = 0;
    // Whether these k members satisfy all cuts in a context.
    virtual bool holds(Members members, std::span<const double>, std::span<double> buffer) const {
        return !hopeless(members, {}, buffer);
    }
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

    void cut(std::vector<double> rival) override {
        std::vector<double>& difference = differences_.emplace_back(alternative_);
        for (std::size_t i = 0; i < rival.size(); ++i) difference[i] -= rival[i];
        Criterion::cut(std::move(rival));
    }

private:
    // Whether standard errors count: one neighbour has none.
    bool doubts() const { return confidence_ > 0.0 && k_ > 1 && !differences_.empty(); }

    bool agreed(Members members) const override {
        if (!doubts()) return true;
        return agreed_by(members, confidence_, [&](int member) { return differences_.front()[member]; });
    }

    // Whether, by the standard errors asked for, no set that is left stands against the first rival.
    //
    // With e the differences less tau, a set must have sum e + steep |e - mean e| <= 0. The norm is the least of
    // sum (e - c)^2 / 2w + w / 2 over all c and w; for any two of these, the best others are those with the smallest
    // e + steep (e - c)^2 / 2w, a parabola: they stand next to each other in the order of e. So only such rows of
    // others are looked at, and the answer is exact.
    bool always_doubtful(Members inside, Members undecided, std::span<double> buffer) const {
        const std::vector<double>& difference = differences_.front();
        const std::size_t need = static_cast<std::size_t>(k_) - inside.size();
        const std::span<double> others = buffer.first(undecided.size());
        double sum = 0.0, squares = 0.0, most = 0.0;
        for (const int member : inside) {
            const double e = difference[member] - tau_;
            sum += e;
            squares += e * e;
            most = std::max(most, std::abs(e));
        }
        for (std::size_t i = 0; i < others.size(); ++i) others[i] = difference[undecided[i]] - tau_;
        std::ranges::sort(others);
        if (!others.empty()) most = std::max({most, std::abs(others.front()), std::abs(others.back())});
        for (std::size_t i = 0; i < need; ++i) {
            sum += others[i];
            squares += others[i] * others[i];
        }
        const double steep = confidence_ * std::sqrt(k_ / (k_ - 1.0));
        const double rounding = kRounding.neighbours * k_ * most;
        for (std::size_t end = need;; ++end) {
            const double variance = squares - sum * sum / k_ - rounding * most;
            if (sum + steep * std::sqrt(std::max(0.0, variance)) <= rounding * (1.0 + steep)) return false;
            if (end == others.size() || need == 0) return true;
            const double enters = others[end], leaves = others[end - need];
            sum += enters - leaves;
            squares += enters * enters - leaves * leaves;
        }
    }

    bool any_cut_hopeless(Members inside, Members undecided, std::span<double> buffer) const override {
        for (const std::vector<double>& difference : differences_) {
            const auto term = [&](int member) { return difference[member]; };
            if (least_sum(inside, undecided, buffer, term).total > k_ * tau_) return true;
        }
        return doubts() && always_doubtful(inside, undecided, buffer);
    }

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
    // The alternative's smallest tail mean exceeds a rival's largest; failing that, so do all pairs of thresholds.
    bool any_cut_hopeless(Members inside, Members undecided, std::span<double> buffer) const override {
        const Tail least = completed(alternative_, inside, undecided, 1.0, buffer);
        const double eta_high = completed(alternative_, inside, undecided, -1.0, buffer).begin;
        for (const std::vector<double>& rival : rivals_) {
            const Tail most = completed(rival, inside, undecided, -1.0, buffer);
            if (least.mean > most.mean + tau_) return true;
            if (static_cast<int>(inside.size()) == k_) continue;
            const double lowest = completed(rival, inside, undecided, 1.0, buffer).begin;
            for (int step = 0; step < 3; ++step) {
                const double threshold = most.begin - 0.5 * step * (most.begin - lowest);
                if (thresholds_hopeless(rival, threshold, least.begin, eta_high, inside, undecided, buffer))
                    return true;
            }
        }
        return false;
    }

    bool agreed(Members members) const override {
        if (confidence_ == 0.0 || k_ < 2 || rivals_.empty()) return true;
        const std::vector<double>& rival = rivals_.front();
        const double eta = threshold(alternative_, members), level = threshold(rival, members);
        return agreed_by(members, confidence_, [&](int member) {
            const double beyond = std::max(alternative_[member] - eta, 0.0) - std::max(rival[member] - level, 0.0);
            return eta - level + beyond * k_ / tail_;
        });
    }

    // The smallest of the members' costs above which there are no more of them than the tail.
    double threshold(const std::vector<double>& costs, Members members) const {
        std::vector<double> own;
        for (const int member : members) own.push_back(costs[member]);
        std::ranges::sort(own);
        const double last = static_cast<double>(k_ - 1) - tail_ - kRounding.same_share * k_;
        return own[static_cast<std::size_t>(std::clamp(std::ceil(last), 0.0, k_ - 1.0))];
    }

    Tail tail_of(std::span<double> values) const {
        const auto count = static_cast<int>(values.size());
        const int whole = std::clamp(static_cast<int>(std::ceil(tail_ - kRounding.counted_share)), 1, count);
        smallest_first(values, count - whole);
        double total = 0.0, begin = kInfinity;
        for (int i = count - whole; i < count; ++i) {
            total += values[i];
            begin = std::min(begin, values[i]);
        }
        // The last of them is split. Taking what is left out off the sum instead, a short tail would magnify its
        // rounding.
        return {(total - begin + (tail_ - (whole - 1)) * begin) / tail_, begin};
    }

    // The tail over the decided members and the smallest (sign 1) or largest (-1) others.
    Tail completed(const std::vector<double>& costs, Members inside, Members undecided, double sign,
                   std::span<double> buffer) const {
        const std::size_t need = static_cast<std::size_t>(k_) - inside.size();
        for (std::size_t i = 0; i < undecided.size(); ++i) buffer[i] = sign * costs[undecided[i]];
        smallest_first(buffer.first(undecided.size()), static_cast<std::ptrdiff_t>(need));
        for (std::size_t i = 0; i < need; ++i) buffer[i] *= sign;
        for (std::size_t i = 0; i < inside.size(); ++i) buffer[need + i] = costs[inside[i]];
        return tail_of(buffer.first(static_cast<std::size_t>(k_)));
    }

    // CVaR(rival) <= eta' + sum (rival - eta')+ / tail for every eta', and CVaR(alternative) attains its minimum over
    // eta at one of the members' costs: for a fixed pair the best members are the smallest terms.
    bool thresholds_hopeless(const std::vector<double>& rival, double threshold, double eta_low, double eta_high,
                             Members inside, Members undecided, std::span<double> buffer) const {
        const auto possible = [&](double eta) {
            const auto term = [&](int member) {
                return std::max(alternative_[member] - eta, 0.0) - std::max(rival[member] - threshold, 0.0);
            };
            return eta - threshold + least_sum(inside, undecided, buffer, term).total / tail_ <= tau_;
        };
        for (const Members group : {inside, undecided}) {
            for (const int member : group) {
                const double eta = alternative_[member];
                if (eta >= eta_low && eta <= eta_high && possible(eta)) return false;
            }
        }
        return true;
    }

    double tail_, confidence_;
};

}  // namespace whence::neighbours
