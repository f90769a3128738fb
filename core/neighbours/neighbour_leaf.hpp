// A box with few open members: its nearest explanation, or a bound on it, by small linear programs.
//
// Depth-first over which open members are neighbours and which are not. Every node asks for the least distance such
// that each member decided in is nearer, by the margin, than each one decided out. The difference of two distances is
// replaced by its convex envelope over the box, axis by axis, and only the pairs that bind are ever added. Where no
// open member has a coordinate inside the box the envelope is exact.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/deadline.hpp"
#include "base/settings.hpp"
#include "base/simplex.hpp"
#include "neighbours/neighbour_box.hpp"
#include "neighbours/neighbour_criterion.hpp"
#include "neighbours/neighbour_space.hpp"

namespace whence::neighbours {

class LeafSolver {
public:
    explicit LeafSolver(const Space& space);

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
                  std::span<double> found);

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
    bool prepare(const Examiner& examined);
    void relate(const Examiner& examined, double ball);
    void relate_scores(const Examiner& examined, double room);
    bool decide(std::int8_t* state, int member, State value);
    Nearest nearest_context(const Examiner& examined, double limit);
    Simplex::Result minimise(double limit);
    bool impatient() const { return numbers_ <= 0 || end_.passed(); }
    void place(const Box& box);
    Pair measure(const Box& box);
    double envelope(const Box& box, int a, int b);
    double worst_pair(const Box& box, Pair& pair);
    double most_settled(const Examiner& examined, int& member) const;
    bool ask_for_rules(const Box& box);
    bool ask_for_nearness(const Examiner& examined, Pair pair);
    void ask_for(const Box& box, double value, double most);
    void ask_for_line(const Line& line, const Box& box);
    void collect(Examiner& examined) const;
    bool clear_here(Examiner& examined, double& last) const;
    int branching(const Criterion& criterion, double last) const;

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
