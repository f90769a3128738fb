// A box with few open members: its nearest explanation, or a bound on it, by small linear programs.
//
// Depth-first over which open members are neighbours and which are not. Every node asks for the least distance such
// that each member decided in is nearer, by the margin, than each one decided out. The difference of two distances is
// replaced by its convex envelope over the box, axis by axis, and only the pairs that bind are ever added. Where no
// open member has a coordinate inside the box the envelope is exact.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/deadline.hpp"
#include "base/select.hpp"
#include "base/settings.hpp"
#include "base/simplex.hpp"
#include "neighbours/neighbour_box.hpp"
#include "neighbours/neighbour_criterion.hpp"
#include "neighbours/neighbour_space.hpp"

namespace whence::neighbours {

class LeafSolver {
public:
    explicit LeafSolver(const Space& space)
        : space_(space),
          simplex_(2 * space.axes.size(), 6 * space.axes.size() + 10),
          row_(2 * space.axes.size()),
          u_(2 * space.axes.size()),
          at_(space.axes.size()),
          slope_(space.axes.size()),
          fixed_(space.size()),
          there_(space.size()) {}

    // Extra distance of the best explanation, and of the nearest place that could not be decided; infinite for none.
    struct Outcome {
        double best, open;
    };

    // When to give up: after so many linear programs, or so many numbers looked at in all of them. Both are counted,
    // not timed, so that a search takes the same course on every machine; only its very end is a time.
    struct Patience {
        std::int64_t programs = std::int64_t{1} << 60;
        std::int64_t numbers = kSettings.contexts.numbers;
        Deadline ends{};
    };

    // The nearest explanation in the box that was last examined, within `room` of its nearest context. The best
    // explanation is written to `found`; what was not looked at when patience ended counts as undecided.
    Outcome solve(const Criterion& criterion, Examiner& examined, double room, Patience patience,
                  std::span<double> found) {
        numbers_ = patience.numbers;
        end_ = patience.ends;
        const bool placeable = prepare(examined);
        double lightest = kInfinity;
        for (const Move& move : moves_) lightest = std::min(lightest, space_.axes[move.axis].weight);
        if (space_.linear()) {
            relate_scores(examined, room);
        } else {
            relate(examined, 2.0 * room / lightest + kRounding.miss);
        }
        states_.assign(static_cast<std::size_t>(m_ + 2) * m_, open);
        known_.assign(m_ + 2, 0.0);
        Outcome outcome{kInfinity, kInfinity};
        int top = 1;
        while (top > 0) {
            --top;
            if (impatient()) {
                outcome.open = std::min(outcome.open, known_[top]);
                continue;
            }
            std::int8_t* const state = states_.data() + static_cast<std::size_t>(top) * m_;
            state_.assign(state, state + m_);
            collect(examined);
            numbers_ -= criterion.effort(m_);
            if (criterion.hopeless(examined.chosen, examined.undecided, examined.buffer)) continue;
            if (criterion.by_nearness()) {
                criterion.lines(examined.chosen, examined.undecided, examined.buffer, lines_);
                if (lines_.size() > kSettings.contexts.lines) {
                    std::ranges::sort(lines_, std::ranges::greater{}, &Line::here);
                    lines_.resize(kSettings.contexts.lines);
                }
            }
            const double limit = std::min(room, std::min(outcome.best, outcome.open));
            const Nearest nearest = nearest_context(examined, limit);
            if (nearest.reached == Reached::impossible || nearest.cost >= limit) continue;
            if (nearest.reached == Reached::unclear && impatient()) {
                outcome.open = std::min(outcome.open, std::max(nearest.cost, known_[top]));
                continue;
            }
            const bool exact = nearest.reached == Reached::ordered && placeable;
            double last;
            const bool clear = clear_here(examined, last);
            if (clear && exact && criterion.satisfied(examined.chosen, at_, examined.buffer)) {
                outcome.best = nearest.cost;
                std::ranges::copy(at_, found.begin());
                continue;
            }
            const int member = branching(criterion, last);
            --patience.programs;
            if (member < 0 || patience.programs <= 0 || impatient()) {
                // A set that is left out is done with; otherwise the box must be split. So it must where the same
                // neighbours may do elsewhere.
                if (member >= 0 || !exact || criterion.by_nearness()) outcome.open = nearest.cost;
                continue;
            }
            // What the member is not there comes last on the stack, and so is tried first: it leads to another context.
            const State there = there_[member] > last ? out : in;
            for (const State value : {there, there == in ? out : in}) {
                std::int8_t* const next = states_.data() + static_cast<std::size_t>(top) * m_;
                std::ranges::copy(state_, next);
                known_[top] = nearest.cost;
                if (decide(next, member, value)) ++top;
            }
        }
        return outcome;
    }

private:
    enum State : std::int8_t { open, in, out };

    // The nearest context of a node of the search: in order, out of reach, or in order only up to the envelopes.
    enum class Reached { ordered, impossible, unclear };

    struct Nearest {
        Reached reached;
        double cost;
    };

    // A direction in which the nearest context can move.
    struct Move {
        int axis;
        double sign;
    };

    // Farthest member decided in and nearest one decided out; -1 for none.
    struct Pair {
        int first, second;
    };

    // Coordinates of all members along one of the axes that move.
    const double* along(std::size_t place) const { return coordinates_.data() + place * m_; }

    // Set up the variables and members of the box last examined; whether every context in it is allowed.
    bool prepare(const Examiner& examined) {
        const Box& box = examined.box;
        members_ = &examined.sets.open;
        m_ = static_cast<int>(members_->size());
        moving_.clear();
        moves_.clear();
        simplex_.clear();
        bool placeable = true;
        for (int j = 0; j < box.dimension(); ++j) {
            const Axis& axis = space_.axes[j];
            if (box.moves(j)) {
                moving_.push_back(j);
                const bool gap = gap_between(axis, box.low[j], box.high[j]) != nullptr;
                placeable = placeable && axis.kind == Kind::continuous && !gap;
            }
            if (axis.kind == Kind::category) continue;
            for (const double sign : {1.0, -1.0}) {
                const double length = sign > 0.0 ? box.high[j] - box.nearest[j] : box.nearest[j] - box.low[j];
                if (length > 0.0) {
                    moves_.push_back({j, sign});
                    simplex_.add_variable(length, axis.weight);
                }
            }
        }
        coordinates_.resize(moving_.size() * m_);
        std::copy_n(examined.here.begin(), m_, fixed_.begin());
        double* column = coordinates_.data();
        for (const int j : moving_) {
            if (space_.linear()) {
                for (int i = 0; i < m_; ++i) column[i] = space_.scores.slopes((*members_)[i])[j] - examined.mean[j];
                column += m_;
                continue;
            }
            for (int i = 0; i < m_; ++i) {
                column[i] = space_.axes[j].seen(space_.point((*members_)[i])[j], box.low[j], box.high[j]);
                fixed_[i] -= std::abs(box.nearest[j] - column[i]);
            }
            column += m_;
        }
        return placeable && (space_.rules.empty() || space_.rules.settled(box));
    }

    // Which members can be neighbours only together with others.
    void relate(const Examiner& examined, double ball) {
        const Box& box = examined.box;
        const std::size_t m = m_, axes = moving_.size();
        // Distances of every member from the lower end, the upper end and the nearest context, axis by axis.
        ends_.resize(3 * axes * m);
        for (std::size_t place = 0; place < axes; ++place) {
            const int j = moving_[place];
            const double* const x = along(place);
            double* const from = ends_.data() + 3 * place * m;
            for (std::size_t i = 0; i < m; ++i) from[i] = std::abs(box.low[j] - x[i]);
            for (std::size_t i = 0; i < m; ++i) from[m + i] = std::abs(box.high[j] - x[i]);
            for (std::size_t i = 0; i < m; ++i) from[2 * m + i] = std::abs(box.nearest[j] - x[i]);
        }
        const double* const here = examined.here.data();
        relate_by([&](std::size_t a) {
            double* const most = most_.data();
            for (std::size_t b = 0; b < m; ++b) most[b] = here[b] - here[a];
            for (std::size_t place = 0; place < axes; ++place) {
                // The difference of two distances is monotone along every axis: its extremes lie at the ends.
                const double* const low = ends_.data() + 3 * place * m;
                const double* const high = low + m;
                const double* const now = high + m;
                for (std::size_t b = 0; b < m; ++b) {
                    most[b] += std::max(low[b] - low[a], high[b] - high[a]) - now[b] + now[a];
                }
            }
            for (std::size_t b = 0; b < m; ++b) most[b] = std::min(most[b], here[b] - here[a] + ball);
        });
    }

    // The same where scores stand for distances.
    void relate_scores(const Examiner& examined, double room) {
        const Box& box = examined.box;
        const std::size_t m = m_;
        steepest_.resize(m);
        relate_by([&](std::size_t a) {
            std::ranges::fill(most_, 0.0);
            std::ranges::fill(steepest_, 0.0);
            for (std::size_t place = 0; place < moving_.size(); ++place) {
                const int j = moving_[place];
                const double* const slopes = along(place);
                const double back = box.low[j] - box.nearest[j], ahead = box.high[j] - box.nearest[j];
                const double light = 1.0 / space_.axes[j].weight;
                for (std::size_t b = 0; b < m; ++b) {
                    const double difference = slopes[b] - slopes[a];
                    most_[b] += std::max(difference * back, difference * ahead);
                    steepest_[b] = std::max(steepest_[b], std::abs(difference) * light);
                }
            }
            for (std::size_t b = 0; b < m; ++b) {
                const double in_ball =
                    std::min(most_[b], room * steepest_[b] * (1.0 + kRounding.steepest) + kRounding.miss);
                most_[b] = examined.here[b] - examined.here[a] + in_ball;
            }
        });
    }

    // The same by how much farther than a member all others can be at most, which `look(a)` finds.
    template <class Look>
    void relate_by(Look look) {
        const std::size_t m = m_;
        implies_.resize(m * m);
        implied_by_.resize(m * m);
        most_.resize(m);
        for (std::size_t a = 0; a < m; ++a) {
            look(a);
            for (std::size_t b = 0; b < m; ++b)
                implies_[a * m + b] = implied_by_[b * m + a] = a != b && most_[b] < space_.separation;
        }
    }

    // Decide an open member and what follows from it; false on a contradiction.
    bool decide(std::int8_t* state, int member, State value) {
        state[member] = value;
        decided_.assign(1, member);
        while (!decided_.empty()) {
            const std::size_t a = decided_.back();
            decided_.pop_back();
            // What is in brings in what it implies; what is out leaves out what would imply it.
            const std::int8_t* const follows = (value == in ? implies_ : implied_by_).data() + a * m_;
            for (int b = 0; b < m_; ++b) {
                if (!follows[b] || state[b] == value) continue;
                if (state[b] != open) return false;
                state[b] = value;
                decided_.push_back(b);
            }
        }
        return true;
    }

    // Least extra distance at which the decided members are in order, up to the envelopes, and near enough; unclear
    // where patience ends before that.
    Nearest nearest_context(const Examiner& examined, double limit) {
        const Box& box = examined.box;
        simplex_.clear_rows();
        double cost = 0.0;
        if (!lines_.empty()) {
            for (const Line& line : lines_) ask_for_line(line, box);
            const Simplex::Result result = minimise(limit);
            cost = result.cost;
            if (result.status == Simplex::Status::infeasible) return {Reached::impossible, cost};
            if (result.status == Simplex::Status::unknown) {
                simplex_.clear_rows();
                cost = 0.0;
            }
        }
        const std::size_t most_rows = 50 * (moves_.size() + 2);
        for (std::size_t added = 0; added < most_rows && !impatient(); ++added) {
            place(box);
            Pair pair = measure(box);
            if (!ask_for_rules(box) && !ask_for_nearness(examined, pair)) {
                if (pair.first < 0 || pair.second < 0 ||
                    there_[pair.second] - there_[pair.first] >= space_.margin - kRounding.miss) {
                    return {Reached::ordered, cost};
                }
                double value = envelope(box, pair.first, pair.second);
                if (value <= -space_.margin + kRounding.miss) {
                    value = worst_pair(box, pair);
                    if (value == -kInfinity) return {Reached::unclear, cost};
                }
                ask_for(box, value, -space_.margin);
            }
            const Simplex::Result result = minimise(limit);
            cost = result.cost;
            if (result.status == Simplex::Status::infeasible) return {Reached::impossible, cost};
            if (result.status == Simplex::Status::unknown) return {Reached::unclear, cost};
        }
        return {Reached::unclear, cost};
    }

    // Solve the linear program as it is now.
    Simplex::Result minimise(double limit) {
        const Simplex::Result result = simplex_.minimise(limit);
        numbers_ -= static_cast<std::int64_t>(result.pivots * simplex_.rows() * simplex_.variables());
        return result;
    }

    bool impatient() const { return numbers_ <= 0 || end_.passed(); }

    // The context that the linear program proposes.
    void place(const Box& box) {
        simplex_.solution(u_);
        std::ranges::copy(box.nearest, at_.begin());
        for (std::size_t x = 0; x < moves_.size(); ++x) at_[moves_[x].axis] += moves_[x].sign * u_[x];
    }

    // Distances of all members there, and the pair of decided ones that is in order least.
    Pair measure(const Box& box) {
        numbers_ -= static_cast<std::int64_t>(m_) * std::ssize(moving_);
        double* const there = there_.data();
        std::copy_n(fixed_.begin(), m_, there);
        for (std::size_t place = 0; place < moving_.size(); ++place) {
            const double* const x = along(place);
            const double at = at_[moving_[place]];
            if (space_.linear()) {
                const double moved = at - box.nearest[moving_[place]];
                for (int i = 0; i < m_; ++i) there[i] += x[i] * moved;
            } else {
                for (int i = 0; i < m_; ++i) there[i] += std::abs(at - x[i]);
            }
        }
        Pair worst{-1, -1};
        for (int i = 0; i < m_; ++i) {
            if (state_[i] == in && (worst.first < 0 || there[i] > there[worst.first])) worst.first = i;
            if (state_[i] == out && (worst.second < 0 || there[i] < there[worst.second])) worst.second = i;
        }
        return worst;
    }

    // Convex envelope of the difference of two members' distances there, and its slopes.
    double envelope(const Box& box, int first, int second) {
        if (space_.linear()) {
            for (std::size_t place = 0; place < moving_.size(); ++place) {
                slope_[moving_[place]] = along(place)[first] - along(place)[second];
            }
            return there_[first] - there_[second];
        }
        double total = 0.0;
        for (std::size_t place = 0; place < moving_.size(); ++place) {
            const int j = moving_[place];
            const double x = along(place)[first], y = along(place)[second], low = box.low[j], high = box.high[j];
            const double a = std::min(std::max(x, low), high), b = std::min(std::max(y, low), high);
            total += std::abs(x - a) - std::abs(y - b) - std::abs(a - b);
            slope_[j] = 0.0;
            if (a == b) continue;
            const double rise = 2.0 * (b - a) / std::abs((b > a ? high : low) - a);
            if (rise * (at_[j] - a) > 0.0) {
                total += rise * (at_[j] - a);
                slope_[j] = rise;
            }
        }
        return fixed_[first] - fixed_[second] + total;
    }

    // The pair whose envelope says most that it is out of order, where the least ordered one's does not; its value, or
    // -infinity where no envelope says so.
    double worst_pair(const Box& box, Pair& pair) {
        const double bar = -space_.margin + kRounding.miss;
        double worst = bar;
        for (int a = 0; a < m_; ++a) {
            if (state_[a] != in) continue;
            numbers_ -= m_;
            for (int b = 0; b < m_; ++b) {
                if (state_[b] != out || there_[b] - there_[a] >= space_.margin - kRounding.miss) continue;
                numbers_ -= std::ssize(moving_);
                if (const double value = envelope(box, a, b); value > worst) {
                    worst = value;
                    pair = {a, b};
                }
            }
        }
        return worst == bar ? -kInfinity : envelope(box, pair.first, pair.second);
    }

    // The settled member that is farthest from the context, and its distance.
    double most_settled(const Examiner& examined, int& member) const {
        double most = -kInfinity;
        for (const int other : examined.sets.settled) {
            if (const double distance = space_.distance(other, at_); distance > most) {
                most = distance;
                member = other;
            }
        }
        return most;
    }

    // Ask for the row of the rules that the context breaks most, where it breaks one.
    bool ask_for_rules(const Box& box) {
        const int broken = space_.rules.rows() == 0 ? -1 : space_.rules.broken_row(at_, kRounding.miss);
        if (broken < 0) return false;
        const auto factor = space_.rules.row(broken);
        double value = 0.0;
        for (std::size_t j = 0; j < factor.size(); ++j) value += factor[j] * at_[j];
        for (const int j : moving_) slope_[j] = factor[j];
        ask_for(box, value, space_.rules.limit(broken));
        return true;
    }

    // Ask that the farthest neighbour decided on is near enough, where it is not: a distance is convex, so that its
    // slopes at the context bound it everywhere.
    bool ask_for_nearness(const Examiner& examined, Pair pair) {
        if (!space_.limited()) return false;
        int member = -1;
        double distance = most_settled(examined, member);
        if (pair.first >= 0 && there_[pair.first] > distance) {
            distance = there_[pair.first];
            member = (*members_)[pair.first];
        }
        if (distance <= space_.widest + kRounding.miss) return false;
        for (const int j : moving_) {
            const Box& box = examined.box;
            const double ahead = at_[j] - space_.axes[j].seen(space_.point(member)[j], box.low[j], box.high[j]);
            slope_[j] = ahead > 0.0 ? 1.0 : ahead < 0.0 ? -1.0 : 0.0;
        }
        ask_for(examined.box, distance, space_.widest);
        return true;
    }

    // Ask that the function with the slopes set last, and this value at the context, is at most so much.
    void ask_for(const Box& box, double value, double most) {
        double bound = most - value;
        for (const int j : moving_) bound += slope_[j] * (at_[j] - box.nearest[j]);
        for (std::size_t x = 0; x < moves_.size(); ++x) row_[x] = slope_[moves_[x].axis] * moves_[x].sign;
        simplex_.add_row(std::span(row_).first(moves_.size()), bound);
    }

    // Ask that what must not be positive is not, from what is known of it: with a largest slope of 1, and by a hair
    // less than that, as the simplex takes slopes for 0 that are next to nothing beside it.
    void ask_for_line(const Line& line, const Box& box) {
        double steepest = 0.0, slack = 0.0;
        for (std::size_t x = 0; x < moves_.size(); ++x) {
            const auto [j, sign] = moves_[x];
            row_[x] = sign > 0.0 ? line.low[j] : -line.high[j];
            steepest = std::max(steepest, std::abs(row_[x]));
            slack += kRounding.slight_slope * (sign > 0.0 ? box.high[j] - box.nearest[j] : box.nearest[j] - box.low[j]);
        }
        if (steepest == 0.0) return;
        for (std::size_t x = 0; x < moves_.size(); ++x) row_[x] /= steepest;
        simplex_.add_row(std::span(row_).first(moves_.size()), slack - line.here / steepest);
    }

    // Choose the members decided in, and those still open.
    void collect(Examiner& examined) const {
        examined.chosen = examined.sets.settled;
        examined.undecided.clear();
        for (int i = 0; i < m_; ++i) {
            if (state_[i] == in) examined.chosen.push_back((*members_)[i]);
            if (state_[i] == open) examined.undecided.push_back((*members_)[i]);
        }
    }

    // Choose the neighbours at the context; whether they are separated and near enough, and how far the last one is.
    bool clear_here(Examiner& examined, double& last) const {
        const auto need = static_cast<std::ptrdiff_t>(space_.k) - std::ssize(examined.sets.settled);
        std::copy_n(there_.begin(), m_, examined.buffer.begin());
        const Boundary ends = boundary(std::span(examined.buffer).first(m_), need);
        last = ends.last;
        if (ends.following - ends.last < space_.margin - 2.0 * kRounding.miss) return false;
        int farthest;
        if (space_.limited() && std::max(last, most_settled(examined, farthest)) > space_.widest + 2.0 * kRounding.miss)
            return false;
        examined.chosen = examined.sets.settled;
        for (int i = 0; i < m_; ++i) {
            if (there_[i] <= last) examined.chosen.push_back((*members_)[i]);
        }
        return true;
    }

    // The open member to decide: a neighbour that speaks most against the alternative, or a helpful other one.
    int branching(const Criterion& criterion, double last) const {
        int best = -1;
        double score = -kInfinity;
        for (int i = 0; i < m_; ++i) {
            if (state_[i] != open) continue;
            const double harm = criterion.harm((*members_)[i]);
            const double value = there_[i] <= last ? harm : -harm;
            if (value > score) {
                best = i;
                score = value;
            }
        }
        return best;
    }

    const Space& space_;
    Simplex simplex_;
    const std::vector<int>* members_ = nullptr;
    int m_ = 0;
    std::vector<int> moving_;  // axes with room in the box
    std::vector<Move> moves_;
    std::vector<double> row_, u_;        // a row of the linear program, and its solution
    std::vector<double> at_, slope_;     // the context there, and slopes along the axes
    std::vector<double> fixed_, there_;  // a member's distance along the axes that cannot move, and at the context
    std::vector<double> coordinates_;    // of the members, axis by axis; or their slopes
    std::vector<double> ends_, most_;    // what relating members needs
    std::vector<double> steepest_;
    // Whether a can be a neighbour only together with b, at (a, b); and the same at (b, a).
    std::vector<std::int8_t> implies_, implied_by_;
    std::vector<std::int8_t> states_, state_;
    std::vector<double> known_;  // of each node that waits, a bound on its extra distance
    std::int64_t numbers_ = 0;   // that may still be looked at, before the deadline
    Deadline end_;
    std::vector<Line> lines_;   // what is known of the cuts of a node, where neighbours count by their nearness
    std::vector<int> decided_;  // members whose decision may decide others
};

}  // namespace whence::neighbours
