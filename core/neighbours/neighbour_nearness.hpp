// Neighbours that count the more the nearer they are: each by the inverse of its distance, as one at distance 0 alone.
//
// In a box, what each counts for lies in an interval. All of them are taken in units of what one of them, which is
// nearest, counts for: then they stay bounded around it as well. That the alternative costs no more than a rival is a
// sum over the neighbours that must not be positive. Where the neighbours of a box are known but not yet whether it is
// so anywhere, the sum lies above a linear function of the steps from its nearest context, since its slopes lie in
// intervals too.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "base/select.hpp"
#include "base/settings.hpp"
#include "neighbours/neighbour_box.hpp"
#include "neighbours/neighbour_criterion.hpp"
#include "neighbours/neighbour_space.hpp"

namespace whence::neighbours {

// The quotient of an interval's end and a positive number between two: as low, or as high, as it gets.
inline double least_quotient(double value, double near, double far) {
    if (value == 0.0) return 0.0;
    const double by = value < 0.0 ? near : far;
    return by > 0.0 ? value / by : value < 0.0 ? -kInfinity : kInfinity;
}

inline double most_quotient(double value, double near, double far) { return -least_quotient(-value, near, far); }

class NearnessCriterion : public Criterion {
public:
    // With a `tail`, the mean of the worst costs with so much weight is compared, else the mean of all.
    NearnessCriterion(std::vector<double> alternative, int k, double tau, std::optional<double> tail, int axes)
        : Criterion(std::move(alternative), k, tau),
          tail_(tail),
          axes_(static_cast<std::size_t>(axes)),
          seen_(alternative_.size()),
          along_(alternative_.size() * axes_),
          weights_(alternative_.size()),
          products_(axes_) {}

    bool by_nearness() const override { return true; }
    void attach(const Space& space) override { space_ = &space; }

    void look(const Space& space, const Box& box, const MemberSets& sets) const override {
        const bool places = !space.places.empty();
        double around = 0.0;
        if (places) {
            space.places.locate(space.axes, box.nearest, nearest_);
            around = space.places.around(space.axes, box, place_);
            for (std::size_t j = 0; j < axes_; ++j) {
                const double off = space.places.product_around(space.axes, box, static_cast<int>(j));
                products_[j] = {off, space.places.steep(static_cast<int>(j))};
            }
        }
        sloped_ = !box.has_open_category(space.axes);
        int nearest = -1;
        const auto see = [&](int member) {
            if (places) {
                look_by_places(space, member, around);
            } else {
                look_by_sums(space, box, member);
            }
            const Seen& seen = seen_[member];
            if (nearest < 0 || seen.near + seen.far < seen_[nearest].near + seen_[nearest].far) nearest = member;
        };
        for (const int member : sets.settled) see(member);
        for (const int member : sets.open) see(member);
        for (const int member : sets.settled) count(space, box, member, nearest);
        for (const int member : sets.open) count(space, box, member, nearest);
    }

    void lines(Members inside, Members undecided, std::span<double> buffer, std::vector<Line>& found) const override {
        found.clear();
        if (tail_ || !sloped_ || inside.empty()) return;
        const std::size_t need = static_cast<std::size_t>(k_) - inside.size();
        double unit = kInfinity;
        for (const int member : inside) unit = std::min(unit, seen_[member].near);
        if (unit <= 0.0) return;
        for (const std::vector<double>& rival : rivals_) {
            Line line{0.0, std::vector<double>(axes_), std::vector<double>(axes_)};
            Sum here;
            for (const int member : inside) {
                const double term = alternative_[member] - rival[member] - tau_;
                const Seen& seen = seen_[member];
                here.add(term * unit / seen.here);
                const double slow = unit / (seen.far * seen.far), fast = unit / (seen.near * seen.near);
                for (std::size_t j = 0; j < axes_; ++j) {
                    const Interval along = along_[static_cast<std::size_t>(member) * axes_ + j];
                    const double low = -along.high * (along.high > 0.0 ? fast : slow);
                    const double high = -along.low * (along.low < 0.0 ? fast : slow);
                    line.low[j] += term * (term > 0.0 ? low : high);
                    line.high[j] += term * (term > 0.0 ? high : low);
                }
            }
            add_smallest(here, need, undecided, buffer, [&](int member) {
                const double term = alternative_[member] - rival[member] - tau_;
                const Seen& seen = seen_[member];
                return term > 0.0 ? term * unit / seen.far : least_quotient(term * unit, seen.near, seen.far);
            });
            line.here = here.total - kRounding.nearness * here.size;
            if (line.here > 0.0) found.push_back(std::move(line));
        }
    }

    void tighten(double by) override { tau_ -= by; }

private:
    // In the box last looked at: how far a member is at the nearest context and anywhere, and what it counts for.
    struct Seen {
        double here = 0.0, near = 0.0, far = 0.0, least = 0.0, most = 0.0;
    };

    bool any_cut_hopeless(Members inside, Members undecided, std::span<double> buffer) const override {
        return std::ranges::any_of(rivals_, [&](const std::vector<double>& rival) {
            if (tail_) return tail_hopeless(rival, inside, undecided, buffer);
            return positive(inside, undecided, buffer, [&](int i) { return alternative_[i] - rival[i] - tau_; });
        });
    }

    bool holds(Members members, std::span<const double> context, std::span<double>) const override {
        const Space& space = *space_;
        if (!space.places.empty()) space.places.locate(space.axes, context, place_);
        weights_.resize(members.size());
        double nearest = kInfinity, total = 0.0;
        for (std::size_t i = 0; i < members.size(); ++i) {
            weights_[i] =
                space.places.empty() ? space.distance(members[i], context) : space.places.far(members[i], place_);
            nearest = std::min(nearest, weights_[i]);
        }
        for (double& weight : weights_) {
            weight = nearest > 0.0 ? nearest / weight : weight == 0.0 ? 1.0 : 0.0;
            total += weight;
        }
        for (double& weight : weights_) weight /= total;
        return std::ranges::all_of(rivals_, [&](const std::vector<double>& rival) {
            if (tail_) {
                const double mine = tail_mean(alternative_, members, weights_),
                             its = tail_mean(rival, members, weights_);
                return mine + kRounding.nearness * (std::abs(mine) + std::abs(its)) <= its + tau_;
            }
            Sum sum;
            for (std::size_t i = 0; i < members.size(); ++i)
                sum.add((alternative_[members[i]] - rival[members[i]] - tau_) * weights_[i]);
            return sum.total + kRounding.nearness * sum.size <= 0.0;
        });
    }

    void look_by_sums(const Space& space, const Box& box, int member) const {
        const double* const point = space.point(member);
        Seen& seen = seen_[member];
        seen.here = seen.near = seen.far = space.base[member];
        for (std::size_t j = 0; j < axes_; ++j) {
            const Axis& axis = space.axes[j];
            const double x = point[j], low = box.low[j], high = box.high[j];
            Interval& slope = along_[static_cast<std::size_t>(member) * axes_ + j];
            slope = {0.0, 0.0};
            if (axis.kind == Kind::category) {
                const bool inside = low <= x && x <= high;
                seen.here += x == box.nearest[j] ? 0.0 : space.apart;
                seen.near += inside ? 0.0 : space.apart;
                seen.far += inside && low == high ? 0.0 : space.apart;
                continue;
            }
            const Axis::Reach to = axis.reach(x, low, high, box.nearest[j]);
            seen.here += to.at;
            seen.near += to.near;
            seen.far += to.far;
            if (low == high) continue;
            const double copy = axis.seen(x, low, high);
            const bool turns = axis.turns(x, low, high);
            slope = {!turns && low >= copy ? 1.0 : -1.0, !turns && high <= copy ? -1.0 : 1.0};
        }
    }

    void look_by_places(const Space& space, int member, double around) const {
        Seen& seen = seen_[member];
        const double middle = space.places.far(member, place_);
        seen.here = space.places.far(member, nearest_);
        seen.near = std::max(middle - around, 0.0);
        seen.far = middle + around;
        for (std::size_t j = 0; j < axes_; ++j) {
            const double pull = space.places.pull(member, static_cast<int>(j), place_), off = products_[j].low;
            const double steep = products_[j].high;
            along_[static_cast<std::size_t>(member) * axes_ + j] = {
                std::max(least_quotient(pull - off, seen.near, seen.far), -steep),
                std::min(most_quotient(pull + off, seen.near, seen.far), steep)};
        }
    }

    // What a member counts for where the nearest one counts for 1.
    void count(const Space& space, const Box& box, int member, int nearest) const {
        Seen& seen = seen_[member];
        if (member == nearest) {
            seen.least = seen.most = 1.0;
            return;
        }
        const Seen& one = seen_[nearest];
        const Interval farther = difference(space, box, nearest, member);
        const double least = std::max(least_quotient(one.near, seen.near, seen.far),
                                      1.0 + least_quotient(farther.low, seen.near, seen.far));
        // Right at both of them nothing is known but that they are equally far.
        const double most = std::min(seen.near > 0.0 ? one.far / seen.near : kInfinity,
                                     1.0 + most_quotient(farther.high, seen.near, seen.far));
        seen.least = std::max(std::min(least, most) * (1.0 - kRounding.nearness) - kRounding.nearness, 0.0);
        seen.most = std::max(most, seen.least) * (1.0 + kRounding.nearness) + kRounding.nearness;
    }

    // By how much one member can be farther than another.
    Interval difference(const Space& space, const Box& box, int one, int other) const {
        Interval found{space.base[one] - space.base[other], space.base[one] - space.base[other]};
        const double* const a = space.point(one);
        const double* const b = space.point(other);
        for (std::size_t j = 0; j < axes_; ++j) {
            const Axis& axis = space.axes[j];
            const double low = box.low[j], high = box.high[j];
            if (axis.kind == Kind::category) {
                if (!space.places.empty()) {
                    const Interval apart = space.scores.apart(one, other, static_cast<int>(j), low, high);
                    found.low += apart.low;
                    found.high += apart.high;
                } else if (a[j] != b[j]) {
                    const bool mine = low <= a[j] && a[j] <= high, its = low <= b[j] && b[j] <= high;
                    found.low -= mine ? space.apart : 0.0;
                    found.high += its ? space.apart : 0.0;
                    // With one category left that is the other's, it is farther by all of that.
                    if (low == high && its) found.low += space.apart;
                    if (low == high && mine) found.high -= space.apart;
                }
            } else if (!space.places.empty()) {
                const double slope = space.scores.slopes(one)[j] - space.scores.slopes(other)[j];
                found.low += std::min(slope * low, slope * high);
                found.high += std::max(slope * low, slope * high);
            } else if (axis.turns(a[j], low, high) || axis.turns(b[j], low, high)) {
                const Axis::Reach mine = axis.reach(a[j], low, high, low), its = axis.reach(b[j], low, high, low);
                found.low += mine.near - its.far;
                found.high += mine.far - its.near;
            } else {
                // Along a line the difference of two distances is monotone.
                const double x = axis.seen(a[j], low, high), y = axis.seen(b[j], low, high);
                const double at_low = std::abs(low - x) - std::abs(low - y);
                const double at_high = std::abs(high - x) - std::abs(high - y);
                found.low += std::min(at_low, at_high);
                found.high += std::max(at_low, at_high);
            }
        }
        if (space.places.empty()) return found;
        // It was that of squares: the difference of distances times their sum.
        const double near = seen_[one].near + seen_[other].near, far = seen_[one].far + seen_[other].far;
        return {least_quotient(found.low, near, far), most_quotient(found.high, near, far)};
    }

    // Whether the sum of terms over every set of k members is positive all over the box.
    template <class Term>
    bool positive(Members inside, Members undecided, std::span<double> buffer, Term term) const {
        const Sum least = least_sum(inside, undecided, buffer, [&](int member) {
            const double t = term(member);
            return t == 0.0 ? 0.0 : t * (t > 0.0 ? seen_[member].least : seen_[member].most);
        });
        return least.total > kRounding.nearness * least.size;
    }

    // The tail of the rival's costs is no worse than from any threshold on, and that of the alternative's is best from
    // one of its own costs on: it is hopeless where, for each of these, the sum of what is compared is positive.
    bool tail_hopeless(const std::vector<double>& rival, Members inside, Members undecided,
                       std::span<double> buffer) const {
        const double level = threshold(rival, inside, undecided);
        const auto possible = [&](double eta) {
            return !positive(inside, undecided, buffer, [&](int i) {
                const double beyond = std::max(alternative_[i] - eta, 0.0) - std::max(rival[i] - level, 0.0);
                return eta - level - tau_ + beyond / *tail_;
            });
        };
        if (possible(threshold(alternative_, inside, undecided))) return false;
        for (const Members group : {inside, undecided}) {
            for (const int member : group) {
                if (possible(alternative_[member])) return false;
            }
        }
        return true;
    }

    // Where the worst tail of costs begins, if all these members count, each for what it does in the middle of the box.
    double threshold(const std::vector<double>& costs, Members inside, Members undecided) const {
        std::vector<std::pair<double, double>> own;
        double total = 0.0;
        for (const Members group : {inside, undecided}) {
            for (const int member : group) {
                const Seen& seen = seen_[member];
                const double weight = seen.most < kInfinity ? 0.5 * (seen.least + seen.most) : seen.least + 1.0;
                own.emplace_back(costs[member], weight);
                total += weight;
            }
        }
        return worst_of(own, *tail_ * total).begin;
    }

    double tail_mean(const std::vector<double>& costs, Members members, std::span<const double> weights) const {
        std::vector<std::pair<double, double>> own;
        for (std::size_t i = 0; i < members.size(); ++i) own.emplace_back(costs[members[i]], weights[i]);
        return worst_of(own, *tail_).mean;
    }

    std::optional<double> tail_;
    std::size_t axes_;
    const Space* space_ = nullptr;
    // What was seen last; for one thread.
    mutable std::vector<Seen> seen_;
    mutable std::vector<Interval> along_;  // how fast distances grow, a row a member
    mutable std::vector<double> place_, nearest_, weights_;
    mutable std::vector<Interval>
        products_;                 // of places, an axis: by how much products are off, and the steepest slope
    mutable bool sloped_ = false;  // whether distances have slopes, as no category is open
};

}  // namespace whence::neighbours
