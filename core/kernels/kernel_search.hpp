// The nearest explanation of a policy that weighs past contexts by a kernel: best-first over boxes of contexts.
//
// Weights are the kernel's values over their sum. That the alternative costs no more than a rival in the mean, up to
// tau, is therefore a sum over past contexts, each of (alternative - rival - tau) times the kernel's value, that must
// not be positive; any positive factor that all values have in common can be left out.
//
// What such a sum can be in a box is bounded twice: by the interval of every value, and by how it can change on the way
// from the box's nearest context, whose slopes lie in intervals too. The second bound also says how far one has to go
// from there at least, and both become exact as boxes shrink.
//
// Where the worst tail of the costs is compared instead of their mean, the sum has two thresholds: the rival's tail is
// no worse than from any threshold on, and the alternative's is best from one of its own costs on. One threshold is
// chosen for every box, and all of the other's must leave the sum positive; only the first bound is taken then.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/deadline.hpp"
#include "base/select.hpp"
#include "base/settings.hpp"
#include "base/simplex.hpp"
#include "kernels/kernel_shape.hpp"
#include "neighbours/neighbour_space.hpp"
#include "neighbours/waiting_boxes.hpp"

namespace whence::kernels {

using neighbours::Axis;
using neighbours::Box;
using neighbours::Kind;
using neighbours::Space;
using neighbours::Split;

// What measures how far a context is from past ones, in bandwidths, up to what all of them have in common.
enum class Measure {
    scores,   // linear functions, which stand for squares of a Gaussian kernel, whose common factor is left out
    squares,  // squares of differences, with a factor an axis
    sums,     // absolute differences, with a factor an axis
};

// The worst costs, with a share `tail` of the weight.
inline Tail tail_of(std::span<const int> members, const std::vector<double>& costs, const std::vector<double>& values,
                    double total, double tail) {
    std::vector<std::pair<double, double>> own;
    own.reserve(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) own.emplace_back(costs[members[i]], values[i] / total);
    return worst_of(own, tail);
}

// How past contexts weigh. The points of the space are theirs along the axes, or the slopes of their scores; its base
// is what coordinates that cannot move add, and the entries of its scores what categories do.
struct Observations {
    Measure measure;
    Kernel kernel;
    std::vector<double> factors;  // one an axis; not for scores
    double least;                 // least sum of the kernel's values that counts; 0 for any
};

class KernelSearch {
public:
    // With a `tail`, the mean of the worst costs with that much weight is compared; with `few`, only some axes may
    // change together.
    KernelSearch(Space space, Observations past, std::vector<double> alternative, double tau,
                 std::optional<double> tail = std::nullopt, std::unique_ptr<const FewChanges> few = nullptr)
        : space_(std::move(space)),
          past_(std::move(past)),
          alternative_(std::move(alternative)),
          tau_(tau),
          tail_(tail),
          few_(std::move(few)),
          changing_(space_, few_.get()),
          simplex_(2 * space_.axes.size(), 2 * space_.axes.size() + space_.rules.rows() + 2),
          all_(space_.base.size()),
          met_(space_.dimension()),
          whole_(changing_.whole()),
          box_(space_.dimension()),
          mean_(space_.axes.size()),
          along_(space_.axes.size()),
          trial_(space_.axes.size()) {
        std::iota(all_.begin(), all_.end(), 0);
        if (past_.least > 0.0) add_sum(past_.least, std::vector<double>(space_.base.size(), -1.0));
        push(0.0, whole_, share(all_));
    }

    KernelSearch(const KernelSearch&) = delete;
    KernelSearch& operator=(const KernelSearch&) = delete;

    const Space& space() const { return space_; }
    // From now on the alternative must not lose to a plan with these costs.
    void cut(std::vector<double> rival) {
        std::vector<double> times(alternative_.size());
        for (std::size_t i = 0; i < times.size(); ++i) times[i] = alternative_[i] - rival[i] - tau_;
        add_sum(0.0, std::move(times));
        if (tail_) rivals_.push_back(std::move(rival));
        if (met_.distance < kInfinity && !stands(met_.context)) forget_met();
    }
    // From now on it must be better by so much more: what was met is forgotten.
    void tighten(double by) {
        tau_ -= by;
        for (Sum& sum : sums_) {
            if (sum.constant != 0.0) continue;
            for (double& times : sum.times) times += by;
        }
        forget_met();
    }

    // Examine at most so many boxes; whether none is left that may hold an explanation nearer than `cutoff`, or than
    // the one that was met, by more than this share of its distance. The box in which the deadline passes is the last
    // one.
    bool advance(std::int64_t boxes, double cutoff, double gap, const Deadline& deadline) {
        const auto radius = [&] { return (1.0 - gap) * std::min(cutoff, met_.distance); };
        Budget budget(boxes, deadline);
        waiting_.run(budget, radius, [&](const Waiting::Open& open) {
            open.node.lay_out(whole_);
            treat(open.key, open.node.members, radius());
            return false;
        });
        nodes_ += budget.visited();
        return bound() >= radius();
    }

    // Whether a context is an explanation.
    bool stands(std::span<const double> context) { return exists(context) && worst_sum(context) <= 0.0; }
    void forget_met() { met_.distance = kInfinity; }

    // Boxes examined so far.
    std::int64_t nodes() const { return nodes_; }
    // About how much memory the boxes take.
    std::size_t bytes() const { return waiting_.bytes(space_.dimension()); }
    // No explanation is nearer; infinite where none is left.
    double bound() const { return waiting_.bound(); }
    // The nearest explanation met so far.
    const std::vector<double>& met() const { return met_.context; }
    double met_distance() const { return met_.distance; }

private:
    using Waiting = neighbours::WaitingBoxes<std::vector<int>>;
    using Members = Waiting::Shared;  // past contexts that may count in a box

    // What must not be positive: a constant, and a number times the value of every past context. Of a tail, the sum at
    // the thresholds that suit the nearest context of a box, which says where to go on but proves nothing.
    struct Sum {
        double constant;
        std::vector<double> times;
        bool guides = false;
    };

    // What is known of a sum in a box: at its nearest context, its least value, and its slopes.
    struct Look {
        double here, least, size;
        std::vector<Interval> slopes;
    };

    // How far an observation is, at the nearest context and in all of the box.
    struct Far {
        double here, near, far;
    };

    void add_sum(double constant, std::vector<double> times) {
        sums_.push_back({constant, std::move(times), tail_.has_value() && constant == 0.0});
        looks_.push_back({0.0, 0.0, 0.0, std::vector<Interval>(space_.axes.size())});
    }
    // Whether a context keeps the rules, and not too much changes in it.
    bool exists(std::span<const double> context) const {
        if (!space_.rules.empty() && !space_.rules.hold(context)) return false;
        if (few_ == nullptr) return true;
        FewChanges::Features changed(space_.axes.size());
        for (std::size_t j = 0; j < changed.size(); ++j) changed[j] = context[j] != space_.axes[j].start;
        return few_->allows(changed);
    }

    // Values of the kernel for some past contexts in a context, in units of the largest, and their sum.
    double weigh(std::span<const int> members, std::span<const double> context, std::vector<double>& values) const {
        values.resize(members.size());
        for (std::size_t i = 0; i < members.size(); ++i) values[i] = far_at(members[i], context);
        const double nearest = past_.kernel.gaussian() ? *std::ranges::min_element(values) : 0.0;
        double total = 0.0;
        for (double& value : values) {
            value = past_.kernel.value(value - nearest);
            total += value;
        }
        return total;
    }

    // Take the sums of a tail at the thresholds that suit the nearest context of the box.
    void aim() {
        std::vector<double> values;
        const double total = members_.empty() ? 0.0 : weigh(members_, box_.nearest, values);
        levels_.assign(rivals_.size(), 0.0);
        const std::size_t first = sums_.size() - rivals_.size();
        for (std::size_t r = 0; r < rivals_.size(); ++r) {
            if (total <= 0.0) continue;
            const double eta = tail_of(members_, alternative_, values, total, *tail_).begin;
            const double level = levels_[r] = tail_of(members_, rivals_[r], values, total, *tail_).begin;
            for (const int i : members_) {
                const double beyond = std::max(alternative_[i] - eta, 0.0) - std::max(rivals_[r][i] - level, 0.0);
                sums_[first + r].times[i] = eta - level - tau_ + beyond / *tail_;
            }
        }
    }

    // Whether the alternative's tail is worse than a rival's all over the box: for every threshold between two of its
    // costs, the least sum is positive, or is so in both halves.
    bool tail_hopeless(const std::vector<double>& rival) const {
        if (values_in_.size() != kept_.size() || kept_.empty()) return false;
        const double level = levels_[static_cast<std::size_t>(&rival - rivals_.data())];
        const auto positive = [&](double low, double high) {
            double total = 0.0, size = 0.0;
            for (std::size_t i = 0; i < kept_.size(); ++i) {
                const double cost = alternative_[kept_[i]], eta = std::clamp(cost, low, high);
                const double beyond = std::max(cost - eta, 0.0) - std::max(rival[kept_[i]] - level, 0.0);
                const double times = eta - level - tau_ + beyond / *tail_;
                total += times * (times > 0.0 ? values_in_[i].low : values_in_[i].high);
                size += std::abs(times) * values_in_[i].high;
            }
            return total > kRounding.kernels * size;
        };
        std::vector<double> etas;
        etas.reserve(kept_.size());
        for (const int member : kept_) etas.push_back(alternative_[member]);
        std::ranges::sort(etas);
        const auto worse = [&](const auto& self, std::size_t first, std::size_t last) -> bool {
            if (positive(etas[first], etas[last])) return true;
            if (etas[first] == etas[last]) return false;
            const std::size_t middle = (first + last) / 2;
            return self(self, first, middle) && self(self, middle + 1, last);
        };
        return worse(worse, 0, etas.size() - 1);
    }

    // The least distance from the nearest context at which the rows of the rules hold, infinite where they do not in
    // the box; the context there is tried as well.
    double row_way(double room) {
        simplex_.clear();
        std::vector<std::pair<int, double>> moves;
        for (int j = 0; j < space_.dimension(); ++j) {
            if (space_.axes[j].kind == Kind::category) continue;
            for (const double sign : {1.0, -1.0}) {
                const double length = sign > 0.0 ? box_.high[j] - box_.nearest[j] : box_.nearest[j] - box_.low[j];
                if (length <= 0.0) continue;
                moves.emplace_back(j, sign);
                simplex_.add_variable(length, space_.axes[j].weight);
            }
        }
        std::vector<double> row(moves.size()), u(moves.size());
        for (std::size_t i = 0; i < space_.rules.rows(); ++i) {
            const auto factor = space_.rules.row(static_cast<int>(i));
            double left = space_.rules.limit(static_cast<int>(i)) + kRounding.miss;
            for (std::size_t j = 0; j < factor.size(); ++j) left -= factor[j] * box_.nearest[j];
            for (std::size_t x = 0; x < moves.size(); ++x) row[x] = factor[moves[x].first] * moves[x].second;
            simplex_.add_row(row, left);
        }
        const Simplex::Result found = simplex_.minimise(room);
        if (found.status == Simplex::Status::infeasible) return kInfinity;
        if (found.status == Simplex::Status::unknown) return 0.0;
        simplex_.solution(u);
        trial_ = box_.nearest;
        for (std::size_t x = 0; x < moves.size(); ++x) trial_[moves[x].first] += moves[x].second * u[x];
        for (std::size_t j = 0; j < space_.axes.size(); ++j) {
            if (trial_[j] != box_.nearest[j] && !allowed(static_cast<int>(j), trial_[j])) return found.cost;
        }
        double distance = 0.0;
        for (std::size_t j = 0; j < space_.axes.size(); ++j) {
            const Axis& axis = space_.axes[j];
            distance += axis.kind == Kind::category ? axis.costs[static_cast<std::size_t>(trial_[j])]
                                                    : axis.weight * std::abs(trial_[j] - axis.start);
        }
        if (distance < met_.distance && stands(trial_)) met_.improve(distance, trial_);
        return found.cost;
    }

    void push(double key, Box& box, Members members) {
        if (!box.settle(space_)) return;
        key = std::max(key, box.project(space_));
        waiting_.push(key, box, std::move(members));
    }

    Members share(const std::vector<int>& members) const {
        return waiting_.share(members, members.size() * sizeof(int));
    }

    // Examine one box: see whether its nearest context is an explanation, drop it, put it off, or split it.
    void treat(double key, const Members& held, double radius) {
        members_ = *held;
        if (changing_.limited() && !changing_.keep(whole_)) return;
        if (!space_.rules.empty() && !space_.rules.narrow(space_, whole_)) return;
        const double distance = whole_.project(space_);
        box_ = whole_;
        const double room = radius - distance;
        if (room < kInfinity) box_.shrink(space_, std::max(room, 0.0));
        const bool cut = box_.low != whole_.low || box_.high != whole_.high;
        const bool categories = box_.has_open_category(space_.axes);
        look(!categories);
        const Look* hardest = nullptr;
        double way = 0.0;
        bool hopeless = std::ranges::any_of(
            sums_, [&](const Sum& sum) { return sum.constant == 0.0 && !sum.guides && positive_where_enough(sum); });
        hopeless = hopeless || std::ranges::any_of(rivals_, [&](const auto& rival) { return tail_hopeless(rival); });
        bool holds = true;
        for (std::size_t s = 0; s < looks_.size(); ++s) {
            const Look& look = looks_[s];
            if (sums_[s].guides) {
                if (hardest == nullptr && look.here > 0.0) hardest = &look;
                continue;
            }
            hopeless = hopeless || look.least > kRounding.kernels * look.size;
            holds = holds && look.here <= 0.0;
            if (categories || hopeless) continue;
            const double least = least_way(look, room);
            if (least > way || (hardest == nullptr && look.here > 0.0)) hardest = &look;
            way = std::max(way, least);
        }
        if (space_.rules.rows() > 0 && !hopeless) way = std::max(way, row_way(room));
        if (holds && stands(box_.nearest)) {
            // A cut may take it away again, and then the box is looked at once more.
            met_.improve(distance, box_.nearest);
            push(std::max(key, distance), whole_, held);
            return;
        }
        if (hopeless || distance + way >= radius) {
            // Beyond the ball nothing is known, where it has cut the box.
            if (cut || (!hopeless && way < kInfinity)) push(std::max(key, radius), whole_, held);
            return;
        }
        if (hardest != nullptr && hardest->size < kInfinity) try_on(*hardest, distance);
        // A tree of rules that forbids the nearest context is settled before anything else.
        const bool forbidden = !space_.rules.empty() && !space_.rules.trees_hold(box_.nearest);
        Split split = forbidden ? space_.rules.split(space_, whole_) : Split{};
        if (split.axis < 0) split = choose_split();
        if (split.axis < 0 && !space_.rules.empty()) split = space_.rules.split(space_, whole_);
        if (split.axis < 0) return;
        // Past contexts that do not count inside the ball may do so beyond it.
        const Members members = cut ? held : share(kept_);
        const double least = std::max(key, distance + way);
        const int axis = changing_.limited() ? changing_.undecided(whole_, split.axis) : -1;
        if (axis >= 0) {
            changing_.either_way(whole_, axis, [&](Box& part) { push(least, part, members); });
            return;
        }
        Box part = whole_;
        part.high[split.axis] = split.below;
        push(least, part, members);
        part = whole_;
        part.low[split.axis] = split.above;
        push(least, part, members);
    }

    // What is known of all sums in the box; of their slopes only where these are asked for.
    void look(bool slopes) {
        const std::size_t q = space_.axes.size();
        common_ = 0.0;
        if (past_.kernel.gaussian()) refer();
        if (tail_) aim();
        for (std::size_t s = 0; s < sums_.size(); ++s) {
            looks_[s].here = looks_[s].least = sums_[s].constant;
            looks_[s].size = std::abs(sums_[s].constant);
            std::ranges::fill(looks_[s].slopes, Interval{0.0, 0.0});
        }
        kept_.clear();
        values_in_.clear();
        for (const int member : members_) {
            const Far far = measure(member);
            if (past_.kernel.gaussian() && far.near < -kSettings.contexts.largest_exponent) {
                // The box is far too large for a bound.
                kept_ = members_;
                for (Look& look : looks_) {
                    look.here = kInfinity;
                    look.least = -kInfinity;
                    look.size = kInfinity;
                    std::ranges::fill(look.slopes, Interval{-kInfinity, kInfinity});
                }
                return;
            }
            const double most = past_.kernel.value(far.near), least = past_.kernel.value(far.far);
            if (most <= 0.0 && past_.least > 0.0) continue;
            kept_.push_back(member);
            values_in_.push_back({least, most});
            const double here = past_.kernel.value(far.here);
            const Interval steep = past_.kernel.slopes(far.near, far.far);
            for (std::size_t s = 0; s < sums_.size(); ++s) {
                const double times = sums_[s].times[member];
                Look& look = looks_[s];
                look.here += times * here;
                look.least += times * (times > 0.0 ? least : most);
                look.size += std::abs(times) * most;
                if (!slopes) continue;
                for (std::size_t j = 0; j < q; ++j) {
                    const Interval along = along_[j];
                    const double low = along.high > 0.0 ? steep.low * along.high : steep.high * along.high;
                    const double high = along.low < 0.0 ? steep.low * along.low : steep.high * along.low;
                    look.slopes[j].low += times * (times > 0.0 ? low : high);
                    look.slopes[j].high += times * (times > 0.0 ? high : low);
                }
            }
        }
    }

    // What past contexts have in common around the nearest context, which is left out: how far they are there, and the
    // slopes of that, where each counts as much as it weighs.
    void refer() {
        const std::size_t q = space_.axes.size();
        const bool sums = past_.measure == Measure::sums;
        values_.resize(members_.size());
        for (std::size_t i = 0; i < members_.size(); ++i) values_[i] = far_at(members_[i], box_.nearest);
        common_ = *std::ranges::min_element(values_);
        std::ranges::fill(mean_, 0.0);
        double total = 0.0;
        for (std::size_t i = 0; i < members_.size(); ++i) {
            const double weight = past_.kernel.value(values_[i] - common_);
            const double* const row = space_.point(members_[i]);
            for (std::size_t j = 0; j < q; ++j) {
                if (!sums) {
                    mean_[j] += weight * row[j];
                } else if (space_.axes[j].kind != Kind::category && box_.nearest[j] != row[j]) {
                    const double slope = 2.0 * std::sqrt(values_[i]) * past_.factors[j];
                    mean_[j] += weight * (box_.nearest[j] > row[j] ? slope : -slope);
                }
            }
            total += weight;
        }
        for (double& slope : mean_) slope /= total;
    }

    // How far a past context is at the nearest context of the box, and anywhere in it; its slopes go to `along_`.
    Far measure(int member) {
        const std::size_t q = space_.axes.size();
        const double* const row = space_.point(member);
        const bool squares_follow = past_.kernel.gaussian() && past_.measure == Measure::sums;
        const double base = space_.base[member] - (squares_follow ? 0.0 : common_);
        Far found{base, base, base};
        for (std::size_t j = 0; j < q; ++j) {
            const double low = box_.low[j], high = box_.high[j], at = box_.nearest[j];
            if (space_.axes[j].kind == Kind::category) {
                const Interval adds = space_.scores.span(member, static_cast<int>(j), low, high);
                found.here += added(member, j, low);
                found.near += adds.low;
                found.far += adds.high;
                along_[j] = {0.0, 0.0};
            } else if (past_.measure == Measure::scores) {
                const double slope = row[j] - mean_[j], one = slope * (low - at), other = slope * (high - at);
                const double here = row[j] * at;
                found.here += here;
                found.near += here + std::min(one, other);
                found.far += here + std::max(one, other);
                along_[j] = {slope, slope};
            } else {
                const double factor = past_.factors[j], x = row[j];
                const double nearest = std::clamp(x, low, high) - x, farthest = std::max(x - low, high - x),
                             here = at - x;
                if (past_.measure == Measure::squares) {
                    found.here += factor * here * here;
                    found.near += factor * nearest * nearest;
                    found.far += factor * farthest * farthest;
                    along_[j] = {2.0 * factor * (low - x), 2.0 * factor * (high - x)};
                } else {
                    found.here += factor * std::abs(here);
                    found.near += factor * std::abs(nearest);
                    found.far += factor * farthest;
                    along_[j] = {low >= x ? factor : -factor, high <= x ? -factor : factor};
                }
            }
        }
        if (squares_follow) square(found);
        return found;
    }

    // From distances to their squares, less what these have in common: bounded by the squares themselves, and, where no
    // category moves, by how they change on the way from the nearest context.
    void square(Far& found) {
        const Far plain = found;
        found.here = plain.here * plain.here - common_;
        double near = plain.near * plain.near - common_, far = plain.far * plain.far - common_;
        double near_by_way = found.here, far_by_way = found.here;
        const bool category = box_.has_open_category(space_.axes);
        for (std::size_t j = 0; j < along_.size(); ++j) {
            if (space_.axes[j].kind == Kind::category) continue;
            const double back = box_.low[j] - box_.nearest[j], ahead = box_.high[j] - box_.nearest[j];
            const double low = 2.0 * (along_[j].low < 0.0 ? plain.far : plain.near) * along_[j].low - mean_[j];
            const double high = 2.0 * (along_[j].high > 0.0 ? plain.far : plain.near) * along_[j].high - mean_[j];
            along_[j] = {low, high};
            near -= std::max(mean_[j] * back, mean_[j] * ahead);
            far -= std::min(mean_[j] * back, mean_[j] * ahead);
            near_by_way += std::min({low * back, low * ahead, high * back, high * ahead});
            far_by_way += std::max({low * back, low * ahead, high * back, high * ahead});
        }
        found.near = category ? near : std::max(near, near_by_way);
        found.far = category ? far : std::min(far, far_by_way);
    }

    // Whether a sum is positive wherever past contexts count for enough. At the end of a kernel both its values and the
    // sum vanish, and neither condition alone says so: any multiple of what is missing to the least sum of values may
    // be added.
    bool positive_where_enough(const Sum& sum) const {
        if (past_.least <= 0.0 || kept_.empty()) return false;
        double lowest = kInfinity, total = 0.0, most = 0.0;
        for (std::size_t i = 0; i < kept_.size(); ++i) {
            lowest = std::min(lowest, sum.times[kept_[i]]);
            total += sum.times[kept_[i]] * values_in_[i].high;
            most += values_in_[i].high;
        }
        if (lowest > 0.0) return true;
        if (most <= 0.0 || total <= 0.0) return false;
        for (const double share : {0.9, 0.5, 0.2}) {
            const double multiple = share * total / most;
            double least = multiple * past_.least, size = least;
            for (std::size_t i = 0; i < kept_.size(); ++i) {
                const double times = sum.times[kept_[i]] - multiple;
                least += times * (times > 0.0 ? values_in_[i].low : values_in_[i].high);
                size += std::abs(times) * values_in_[i].high;
            }
            if (least > kRounding.kernels * size) return true;
        }
        return false;
    }

    // The least distance from the nearest context at which a sum can be as asked for; infinite where it cannot in the
    // box.
    double least_way(const Look& look, double room) {
        if (look.size == kInfinity) return 0.0;
        double missing = look.here - kRounding.kernels * look.size;
        if (missing <= 0.0) return 0.0;
        steps_.clear();
        for (int j = 0; j < space_.dimension(); ++j) {
            const double weight = space_.axes[j].weight, at = box_.nearest[j];
            const double ahead = box_.high[j] - at, back = at - box_.low[j];
            if (ahead > 0.0 && look.slopes[j].low < 0.0) {
                steps_.push_back({-look.slopes[j].low / weight, ahead, ahead * weight, j, 1.0});
            }
            if (back > 0.0 && look.slopes[j].high > 0.0) {
                steps_.push_back({look.slopes[j].high / weight, back, back * weight, j, -1.0});
            }
        }
        std::ranges::sort(steps_, [](const Step& a, const Step& b) { return a.rate > b.rate; });
        double way = 0.0;
        for (const Step& step : steps_) {
            if (step.rate * step.cost >= missing) return way + missing / step.rate;
            missing -= step.rate * step.cost;
            way += step.cost;
            if (way > room) break;
        }
        return kInfinity;
    }

    // Try the context where the slopes in the middle of their intervals lead, and one beyond it where that falls short.
    void try_on(const Look& look, double distance) {
        steps_.clear();
        for (int j = 0; j < space_.dimension(); ++j) {
            const double slope = 0.5 * (look.slopes[j].low + look.slopes[j].high), at = box_.nearest[j];
            const double length = slope < 0.0 ? whole_.high[j] - at : at - whole_.low[j];
            if (slope == 0.0 || length <= 0.0 || space_.axes[j].kind != Kind::continuous) continue;
            const double weight = space_.axes[j].weight;
            steps_.push_back({std::abs(slope) / weight, length, length * weight, j, slope < 0.0 ? 1.0 : -1.0});
        }
        std::ranges::sort(steps_, [](const Step& a, const Step& b) { return a.rate > b.rate; });
        const double before = look.here / look.size;
        double stretch = kSettings.contexts.beyond;
        for (int time = 0; time < 2; ++time) {
            trial_ = box_.nearest;
            double missing = stretch * look.here, way = 0.0;
            for (const Step& step : steps_) {
                const double part = std::min(missing / step.rate, step.cost);
                const double to = box_.nearest[step.axis] + step.sign * part / space_.axes[step.axis].weight;
                if (!allowed(step.axis, to)) continue;
                trial_[step.axis] = to;
                way += part;
                missing -= part * step.rate;
                if (missing <= 0.0) break;
            }
            if (distance + way >= met_.distance) return;
            const double left = worst_sum(trial_);
            if (left <= 0.0) {
                if (exists(trial_)) met_.improve(distance + way, trial_);
                return;
            }
            if (left >= before) return;
            stretch *= std::min(kSettings.contexts.beyond * before / (before - left), 4.0);
        }
    }

    // Where the slopes of the sums are least known; a category is settled first.
    Split choose_split() const {
        int best = -1;
        double widest = -1.0;
        for (int j = 0; j < space_.dimension(); ++j) {
            if (!box_.moves(j)) continue;
            if (space_.axes[j].kind == Kind::category) {
                const double cut = std::floor(0.5 * (box_.low[j] + box_.high[j]));
                return {j, cut, cut + 1.0};
            }
            const double width = box_.high[j] - box_.low[j];
            if (space_.axes[j].kind == Kind::continuous && width < kRounding.narrow) continue;
            double unknown = 0.0;
            for (const Look& look : looks_) {
                if (look.here > 0.0 || look.least > -kInfinity) {
                    const double apart = (look.slopes[j].high - look.slopes[j].low) / std::max(look.size, 1e-300);
                    unknown = std::max(unknown, std::isfinite(apart) ? apart * width : 0.0);
                }
            }
            unknown += 1e-9 * width;
            if (unknown > widest) {
                widest = unknown;
                best = j;
            }
        }
        if (best < 0) return {};
        const double middle = 0.5 * (box_.low[best] + box_.high[best]);
        if (space_.axes[best].kind == Kind::continuous) return {best, middle, middle};
        return neighbours::split_beyond(space_, best, middle);
    }

    bool allowed(int j, double value) const {
        const Axis& axis = space_.axes[j];
        if (axis.kind != Kind::continuous || value < axis.lower || value > axis.upper) return false;
        return std::ranges::none_of(axis.gaps,
                                    [&](const neighbours::Gap& gap) { return gap.low < value && value < gap.high; });
    }

    // What a category adds to how far a past context is.
    double added(int member, std::size_t axis, double rank) const {
        return space_.scores.entries(member, static_cast<int>(axis))[static_cast<std::size_t>(rank)];
    }

    // How far a past context is from a context.
    double far_at(int member, std::span<const double> context) const {
        const std::size_t q = space_.axes.size();
        const double* const row = space_.point(member);
        double far = space_.base[member];
        for (std::size_t j = 0; j < q; ++j) {
            if (space_.axes[j].kind == Kind::category) {
                far += added(member, j, context[j]);
            } else if (past_.measure == Measure::scores) {
                far += row[j] * context[j];
            } else {
                const double away = context[j] - row[j];
                far += past_.factors[j] * (past_.measure == Measure::squares ? away * away : std::abs(away));
            }
        }
        return past_.kernel.gaussian() && past_.measure == Measure::sums ? far * far : far;
    }

    // The largest of the sums in a context, as a share of its size: not above 0 where all are as asked for.
    double worst_sum(std::span<const double> context) {
        const std::size_t n = space_.base.size();
        const double whole = weigh(all_, context, values_);
        double worst = -kInfinity;
        for (const std::vector<double>& rival : rivals_) {
            if (whole <= 0.0) return kInfinity;
            const double mine = tail_of(all_, alternative_, values_, whole, *tail_).mean;
            const double its = tail_of(all_, rival, values_, whole, *tail_).mean, size = std::abs(mine) + std::abs(its);
            worst = std::max(worst, (mine - its - tau_ + kRounding.kernels * size) / std::max(size, 1e-300));
        }
        for (const Sum& sum : sums_) {
            if (sum.guides) continue;
            double total = sum.constant, size = std::abs(sum.constant);
            for (std::size_t i = 0; i < n; ++i) {
                total += sum.times[i] * values_[i];
                size += std::abs(sum.times[i]) * values_[i];
            }
            worst = std::max(worst, (total + kRounding.kernels * size) / std::max(size, 1e-300));
        }
        return worst;
    }

    Space space_;
    Observations past_;
    std::vector<double> alternative_;
    double tau_;
    std::optional<double> tail_;
    std::unique_ptr<const FewChanges> few_;
    neighbours::ChangingAxes changing_;
    Simplex simplex_;
    std::vector<std::vector<double>> rivals_;  // of a tail
    std::vector<int> all_;                     // numbers of all past contexts
    std::vector<double> levels_;               // of a tail, the threshold of every rival in the box under way
    std::vector<Sum> sums_;

    Waiting waiting_;
    std::int64_t nodes_ = 0;
    neighbours::Found met_;

    // The box under way: as it is, and inside the ball; its past contexts, and what they have in common.
    Box whole_, box_;
    std::vector<int> members_, kept_;
    double common_ = 0.0;
    std::vector<double> mean_;
    std::vector<Interval> along_;
    std::vector<Look> looks_;
    std::vector<double> trial_, values_;
    std::vector<Interval> values_in_;  // of every past context that may count in the box
    struct Step {
        double rate, length, cost;
        int axis;
        double sign;
    };
    std::vector<Step> steps_;
};

}  // namespace whence::kernels
