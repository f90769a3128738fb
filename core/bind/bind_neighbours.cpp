#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>

#include "base/numbers.hpp"
#include "base/select.hpp"
#include "base/simplex.hpp"
#include "bind/arrays.hpp"
#include "bind/bindings.hpp"
#include "bind/contexts.hpp"
#include "neighbours/neighbour_nearness.hpp"
#include "neighbours/neighbour_search.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace whence::neighbours {

namespace {

using namespace arrays;

// ---- the two tools that other methods share -------------------------------------------------------------------------

void bind_tools(nb::module_& m) {
    m.def(
        "smallest_first",
        [](const WritableVector& values, std::int64_t m) {
            require_finite(values, "values");
            smallest_first(view(values), m);
        },
        "values"_array, "m"_a, "Reorder the values so that the m smallest of them come first.");

    nb::enum_<Simplex::Status>(m, "SimplexStatus")
        .value("SOLVED", Simplex::Status::solved)
        .value("INFEASIBLE", Simplex::Status::infeasible)
        .value("UNKNOWN", Simplex::Status::unknown);

    nb::class_<Simplex>(m, "Simplex", "Least cost u >= 0, u <= upper, under rows that are added one by one.")
        .def(
            "__init__",
            [](Simplex* self, const Vector& upper, const Vector& cost, const Vector& second_cost, std::int64_t most) {
                const std::size_t v = upper.size();
                require_sizes(v, cost, "cost", second_cost, "second_cost");
                for (std::size_t x = 0; x < v; ++x) {
                    require(upper(x) >= 0.0, "'upper' bounds must be at least 0.");
                    require(cost(x) >= 0.0, "'cost' of a variable must be at least 0.");
                }
                require(most > static_cast<std::int64_t>(v), "There must be room for more rows than variables.");
                new (self) Simplex(v, static_cast<std::size_t>(most));
                for (std::size_t x = 0; x < v; ++x) self->add_variable(upper(x), cost(x), second_cost(x));
            },
            "upper"_array, "cost"_array, "second_cost"_array, "most_rows"_a)
        .def(
            "add_row",
            [](Simplex& self, const Vector& row, double limit) {
                require_sizes(self.variables(), row, "row");
                require_finite(row, "row");
                self.add_row(view(row), limit);
            },
            "row"_array, "limit"_a, "Ask for row @ u <= limit.")
        .def(
            "minimise",
            [](Simplex& self, double cutoff) {
                const Simplex::Result result = self.minimise(cutoff);
                return std::pair(result.status, result.cost);
            },
            "cutoff"_a = kInfinity, "Status and least cost; a cost above the cutoff counts as infeasible.")
        .def("clear_rows", &Simplex::clear_rows, "Forget all rows.")
        .def(
            "solution",
            [](const Simplex& self) {
                std::vector<double> u(self.variables());
                self.solution(u);
                return to_numpy(u);
            },
            "Values of the variables.");
}

// ---- the space ------------------------------------------------------------------------------------------------------

bool is_rank(double value, std::size_t ranks) {
    return value >= 0.0 && value < static_cast<double>(ranks) && value == std::floor(value);
}

void make_axis(Axis* self, Kind kind, double start, double weight, double lower, double upper,
               const std::optional<Vector>& levels, const std::optional<Vector>& costs,
               const std::optional<Matrix>& gaps, double period) {
    require(std::isfinite(start) && lower <= upper, "An axis must have a finite start and a range that is not empty.");
    require(weight > 0.0 && std::isfinite(weight), "'weight' of an axis must be positive and finite.");
    require(!gaps || gaps->shape(1) == 2, "'gaps' must have two numbers a row.");
    std::vector<Gap> forbidden;
    for (std::size_t i = 0; gaps && i < gaps->shape(0); ++i) {
        const Gap gap{(*gaps)(i, 0), (*gaps)(i, 1)};
        require(gap.low <= gap.high && (forbidden.empty() || forbidden.back().high <= gap.low),
                "'gaps' of an axis must ascend.");
        forbidden.push_back(gap);
    }
    require(period >= 0.0 && std::isfinite(period) && (period == 0.0 || upper - lower <= period * (1.0 + 1e-9)),
            "'period' of an axis must be at least its range, or 0 where it does not go round.");
    require(period == 0.0 || kind != Kind::category, "A category axis must have no 'period'.");
    Axis axis{kind, start, weight, lower, upper, std::move(forbidden), copied(levels), copied(costs)};
    axis.period = period;
    require(std::ranges::is_sorted(axis.levels), "'levels' of an axis must ascend.");
    if (kind == Kind::discrete) require(!axis.levels.empty(), "A discrete axis must have 'levels'.");
    if (kind == Kind::category) {
        require(is_rank(lower, axis.costs.size()) && is_rank(upper, axis.costs.size()),
                "The range of a category axis must be ranks of its 'costs'.");
    }
    new (self) Axis(std::move(axis));
}

void bind_axis(nb::module_& m) {
    nb::enum_<Kind>(m, "AxisKind")
        .value("CONTINUOUS", Kind::continuous)
        .value("DISCRETE", Kind::discrete)
        .value("CATEGORY", Kind::category);

    nb::class_<Axis>(m, "Axis", "An axis of a nearest-neighbour question that can move.")
        .def("__init__", &make_axis, "kind"_a, "start"_a, "weight"_a, "lower"_a, "upper"_a, nb::kw_only(),
             "levels"_array = nb::none(), "costs"_array = nb::none(), "gaps"_array = nb::none(), "period"_a = 0.0)
        .def_ro("kind", &Axis::kind, "A number that moves freely, one with levels, or the rank of a category.")
        .def_ro("start", &Axis::start, "The initial context.")
        .def_ro("weight", &Axis::weight, "Weight of a unit of distance.")
        .def_ro("period", &Axis::period, "After which it begins again; 0 for none.")
        .def_ro("lower", &Axis::lower, "Lower end of the range searched.")
        .def_ro("upper", &Axis::upper, "Upper end of the range searched.")
        .def_prop_ro(
            "gaps",
            [](const Axis& axis) {
                std::vector<double> rows;
                for (const Gap& gap : axis.gaps) rows.insert(rows.end(), {gap.low, gap.high});
                return to_numpy_rows(rows, 2);
            },
            nb::rv_policy::move, "The open intervals that are not allowed, one a row.")
        .def_prop_ro("levels", as_array(&Axis::levels), "Allowed values of a discrete axis.")
        .def_prop_ro("costs", as_array(&Axis::costs), "Cost of every category, ascending.")
        .def(
            "far",
            [](const Axis& axis, const Vector& values) {
                std::vector<double> found;
                for (const double x : view(values)) found.push_back(axis.far(x));
                return array_of(found);
            },
            "values"_array, "Distance of numbers from the start.");
}

// ---- what must hold between axes ----------------------------------------------------------------------------------

// One row a node: axis (-1 in a leaf), whether it asks for a category, value, left and right child, whether it is
// broken.
void make_rules(Rules* self, const Matrix& nodes, const Ints& roots, const Matrix& rows, const Vector& limits) {
    require(nodes.shape(1) == 6 || nodes.shape(0) == 0, "'nodes' must have six numbers a row.");
    require_sizes(rows.shape(0), limits, "limits");
    require_finite(rows, "rows");
    const auto count = static_cast<double>(nodes.shape(0));
    std::vector<RuleNode> made;
    for (std::size_t i = 0; i < nodes.shape(0); ++i) {
        const double* node = &nodes(i, 0);
        const double at = static_cast<double>(i);
        require(node[0] < 0.0 || (node[3] > at && node[3] < count && node[4] > at && node[4] < count),
                "Children must stand behind their parent.");
        made.push_back({static_cast<int>(node[0]), node[1] != 0.0, node[2], static_cast<int>(node[3]),
                        static_cast<int>(node[4]), node[5] != 0.0});
    }
    std::vector<int> starts;
    for (std::size_t i = 0; i < roots.size(); ++i) {
        require(roots(i) >= 0 && static_cast<double>(roots(i)) < count, "'roots' must be nodes.");
        starts.push_back(static_cast<int>(roots(i)));
    }
    new (self) Rules(std::move(made), std::move(starts), copied(rows), copied(limits));
}

void bind_rules(nb::module_& m) {
    nb::class_<Rules>(m, "Rules", "Which contexts of a nearest-neighbour question can exist.")
        .def("__init__", &make_rules, "nodes"_array, "roots"_array, "rows"_array, "limits"_array)
        .def(
            "hold",
            [](const Rules& self, const Vector& context) {
                require(self.last_axis() < static_cast<int>(context.size()), "'context' must have a number an axis.");
                return self.hold(view(context));
            },
            "context"_array, "Whether a context, along the axes, can exist.");
}

void make_places(Places* self, const std::vector<Axis>& axes, const Matrix& members, const Matrix& columns,
                 const std::optional<Matrix>& ranks, const Vector& origin) {
    const std::size_t width = origin.size();
    const std::size_t categories = categories_of(axes);
    require(width > 0 && members.shape(1) == width && columns.shape(1) == width && columns.shape(0) == axes.size(),
            "'members' and 'columns' must be as wide as 'origin', and there must be a column an axis.");
    require((ranks ? ranks->shape(0) : 0) == categories && (!ranks || ranks->shape(1) == width),
            "'ranks' must have a row for every category.");
    require_finite(members, "members", columns, "columns", origin, "origin");
    new (self) Places(axes, copied(members), copied(columns), copied(ranks), copied(origin));
}

void bind_places(nb::module_& m) {
    nb::class_<Places>(m, "Places", "Contexts and past ones as places whose Euclidean distance counts.")
        .def("__init__", &make_places, "axes"_a, "members"_array, "columns"_array, "ranks"_array.none(),
             "origin"_array);
}

// ---- the search -----------------------------------------------------------------------------------------------------

void make_search(NeighbourSearch* self, std::vector<Axis> axes, const Matrix& points, const Vector& base, int k,
                 double separation, double margin, const Vector& alternative, double tau, std::optional<double> tail,
                 double widest, double confidence, const Rules* rules, std::optional<int> most,
                 std::vector<std::vector<std::int32_t>> barred, const std::optional<Matrix>& slopes,
                 const std::optional<Matrix>& entries, double apart, bool by_nearness, const Places* places,
                 const std::vector<std::int32_t>& free) {
    const std::size_t n = points.shape(0);
    require_about(rules, axes);
    require(points.shape(1) == axes.size(), "'points' must have a column for every axis.");
    require_sizes(n, base, "base", alternative, "alternative");
    require_finite(points, "points", base, "base", alternative, "alternative");
    require(k >= 1 && static_cast<std::size_t>(k) <= n, "'k' must be at least 1 and at most the number of points.");
    require(separation >= 0.0 && margin >= separation, "'margin' must be at least 'separation', and that at least 0.");
    require(!std::isnan(tau), "'tau' must be a number.");
    require(!tail || (*tail > 0.0 && *tail <= k), "'tail' must be positive and at most 'k'.");
    require(widest >= 0.0, "'widest' must be at least 0.");
    require(confidence >= 0.0 && std::isfinite(confidence), "'confidence' must be finite and at least 0.");
    require(apart >= 0.0 && std::isfinite(apart), "'apart' must be finite and at least 0.");
    Scores scores;
    if (slopes) {
        require(slopes->shape(0) == n && slopes->shape(1) == axes.size(), "'slopes' must have the shape of 'points'.");
        require_finite(*slopes, "slopes");
        require_entries(axes, entries, n);
        require(widest == kInfinity, "'widest' is for plain distances: it must be infinite where there are 'slopes'.");
        if (entries) require_finite(*entries, "entries");
        scores = Scores(axes, copied(*slopes), copied(entries));
    }
    Space space{std::move(axes), copied(points),   copied(base), k,
                separation,      margin,           widest,       rules == nullptr ? Rules() : *rules,
                apart,           std::move(scores)};
    if (places != nullptr) space.places = *places;
    require(!by_nearness || !tail || *tail <= 1.0, "'tail' must be a share where neighbours count by their nearness.");
    require(!by_nearness || confidence == 0.0, "'confidence' must be 0 where neighbours count by their nearness.");
    require(!by_nearness || space.linear() == !space.places.empty(), "'places' belong to 'slopes'.");
    require(!space.linear() || std::ranges::none_of(space.axes, [](const Axis& axis) { return axis.period > 0.0; }),
            "No axis can go round where there are 'slopes'.");
    std::unique_ptr<Criterion> criterion;
    if (by_nearness) {
        criterion = std::make_unique<NearnessCriterion>(copied(alternative), k, tau, tail, space.dimension());
    } else if (tail) {
        criterion = std::make_unique<TailCriterion>(copied(alternative), k, tau, *tail, confidence);
    } else {
        criterion = std::make_unique<MeanCriterion>(copied(alternative), k, tau, confidence);
    }
    auto few = few_of(space.axes.size(), most, std::move(barred), free);
    new (self) NeighbourSearch(std::move(space), std::move(criterion), std::move(few));
}

void cut(NeighbourSearch& self, const Vector& rival) {
    require_sizes(self.space().size(), rival, "rival");
    require_finite(rival, "rival");
    self.criterion().cut(copied(rival));
}

std::vector<int> member_list(const NeighbourSearch& self, const Ints& members) {
    std::vector<int> list;
    for (std::size_t i = 0; i < members.size(); ++i) {
        require(members(i) >= 0 && members(i) < self.space().size(), "The members must be rows of 'points'.");
        list.push_back(static_cast<int>(members(i)));
    }
    return list;
}

void exclude(NeighbourSearch& self, const Ints& members) {
    require_sizes(self.space().k, members, "members");
    self.criterion().exclude(member_list(self, members));
}

// ---- one box at a time, for a close look ----------------------------------------------------------------------------

// What is known of a box once it has been examined.
struct Look {
    Verdict verdict;
    double distance;
    std::vector<std::int64_t> settled, open;
    std::vector<double> low, high, nearest;
};

void put_box(NeighbourSearch& self, const Vector& low, const Vector& high) {
    const std::vector<Axis>& axes = self.space().axes;
    require_sizes(axes.size(), low, "low", high, "high");
    for (std::size_t j = 0; j < axes.size(); ++j) {
        require(low(j) <= high(j), "'low' end of a box must not be above its 'high' end.");
        require(axes[j].kind != Kind::category ||
                    (is_rank(low(j), axes[j].costs.size()) && is_rank(high(j), axes[j].costs.size())),
                "Along a category axis a box must end at ranks.");
    }
    Examiner& examiner = self.worker().examiner;
    examiner.box.low = copied(low);
    examiner.box.high = copied(high);
    examiner.sets.settled.clear();
    examiner.sets.open.clear();
    for (int i = 0; i < self.space().size(); ++i) examiner.sets.open.push_back(i);
}

Look examine(NeighbourSearch& self, const Vector& low, const Vector& high, double radius) {
    put_box(self, low, high);
    Examiner& examiner = self.worker().examiner;
    const Verdict verdict = examiner.examine(self.criterion(), radius);
    const auto& [settled, open] = examiner.sets;
    const Box& box = examiner.box;
    return {verdict,  examiner.distance, {settled.begin(), settled.end()}, {open.begin(), open.end()}, box.low,
            box.high, box.nearest};
}

// Extra distance of the best explanation in a box and of the nearest undecided place, and the best one; None where the
// box does not come to that.
std::optional<nb::tuple> solve_box(NeighbourSearch& self, const Vector& low, const Vector& high, double radius,
                                   std::int64_t patience, std::int64_t numbers) {
    put_box(self, low, high);
    Examiner& examiner = self.worker().examiner;
    const Verdict verdict = examiner.examine(self.criterion(), radius);
    if (verdict != Verdict::leaf && verdict != Verdict::split) return std::nullopt;
    std::vector<double> found(self.space().axes.size());
    const auto [best, open] =
        self.worker().leaf.solve(self.criterion(), examiner, radius - examiner.distance, {patience, numbers}, found);
    return nb::make_tuple(best, open, to_numpy(found));
}

// Relations of all members in a box: nearer, farther, never farther, never nearer.
nb::tuple relations(NeighbourSearch& self, const Vector& low, const Vector& high, double radius) {
    require(self.space().size() <= Pairs::kMost, "There are more points than pairs are compared of.");
    put_box(self, low, high);
    require(radius >= self.worker().examiner.box.project(self.space()), "'radius' must reach the box.");
    const Pairs& pairs = self.worker().examiner.compare(radius);
    const auto counts = [&](const std::int64_t* first) {
        return to_numpy(first, static_cast<std::size_t>(self.space().size()));
    };
    return nb::make_tuple(counts(pairs.nearer), counts(pairs.farther), counts(pairs.never_farther),
                          counts(pairs.never_nearer));
}

bool hopeless(NeighbourSearch& self, const Ints& inside, const Ints& undecided) {
    require(!self.criterion().by_nearness(), "What counts by nearness is judged in a box.");
    const std::vector<int> in = member_list(self, inside), maybe = member_list(self, undecided);
    require(in.size() + maybe.size() <= static_cast<std::size_t>(self.space().size()),
            "There are more members than points.");
    return self.criterion().hopeless(in, maybe, self.worker().examiner.buffer);
}

bool satisfied(NeighbourSearch& self, const Ints& members) {
    require_sizes(self.space().k, members, "members");
    require(!self.criterion().by_nearness(), "What counts by nearness is judged in a context.");
    return self.criterion().satisfied(member_list(self, members), {}, self.worker().examiner.buffer);
}

void bind_look(nb::module_& m) {
    nb::enum_<Verdict>(m, "BoxVerdict")
        .value("PRUNED", Verdict::pruned)
        .value("FEASIBLE", Verdict::feasible)
        .value("SPLIT", Verdict::split)
        .value("LEAF", Verdict::leaf);
    nb::class_<Look>(m, "BoxLook", "What is known of a box once it has been examined.")
        .def_ro("verdict", &Look::verdict, "Whether it holds an explanation, none, or must be split or solved.")
        .def_ro("distance", &Look::distance, "Distance of its nearest context.")
        .def_prop_ro("settled", as_array(&Look::settled), "Neighbours everywhere in it.")
        .def_prop_ro("open", as_array(&Look::open), "Neighbours in some part of it, maybe.")
        .def_prop_ro("low", as_array(&Look::low), "Its lower end inside the radius.")
        .def_prop_ro("high", as_array(&Look::high), "Its upper end inside the radius.")
        .def_prop_ro("nearest", as_array(&Look::nearest), "Its context nearest to the start.");
}

void bind_search(nb::module_& m) {
    nb::enum_<Progress>(m, "NeighbourProgress")
        .value("SPENT", Progress::spent)
        .value("CANDIDATE", Progress::candidate)
        .value("EXHAUSTED", Progress::exhausted);

    nb::class_<NeighbourSearch>(m, "NeighbourSearch", "Best-first search over boxes of contexts.")
        .def("__init__", &make_search, "axes"_a, "points"_array, "base"_array, "k"_a, "separation"_a, "margin"_a,
             "alternative"_array, "tau"_a, "tail"_a = nb::none(), "widest"_a = kInfinity, "confidence"_a = 0.0,
             "rules"_a.none() = nb::none(), "most"_a = nb::none(),
             "barred"_a = std::vector<std::vector<std::int32_t>>(), "slopes"_array = nb::none(),
             "entries"_array = nb::none(), "apart"_a = 1.0, "by_nearness"_a = false, "places"_a.none() = nb::none(),
             "free"_a = std::vector<std::int32_t>())
        .def("cut", &cut, "rival"_array, "The alternative must not lose to a plan with these costs.")
        .def("exclude", &exclude, "members"_array, "Leave out this set of neighbours.")
        .def(
            "tighten", [](NeighbourSearch& self, double by) { self.criterion().tighten(by); }, "by"_a,
            "The alternative must be better by so much more, where neighbours count by their nearness.")
        .def("restart", &NeighbourSearch::restart, "Begin again with the whole space.")
        .def(
            "advance",
            [](NeighbourSearch& self, std::int64_t boxes, double radius, int threads, double pause, double seconds,
               std::int64_t numbers) {
                require(threads >= 1 && threads <= 1024, "'threads' must be at least 1 and at most 1024.");
                const nb::gil_scoped_release release;
                return self.advance(boxes, radius, threads, {Deadline(pause), Deadline(seconds), numbers});
            },
            "boxes"_a, "radius"_a, "threads"_a = 1, "pause"_a = kInfinity, "seconds"_a = kInfinity,
            "numbers"_a = Allowance{}.numbers,
            "Examine at most so many boxes nearer than the radius: none is begun after the seconds until the pause, "
            "what "
            "is under way at the end of all seconds is left undecided, and a box that takes more numbers is halved.")
        .def("standing", &standing<NeighbourSearch>, "contexts"_array,
             "For every context, whether it is an explanation.")
        .def("forget_met", &NeighbourSearch::forget_met, "Forget the explanation that was met.")
        .def_prop_ro("nodes", &NeighbourSearch::nodes, "Boxes examined since the last restart.")
        .def_prop_ro("bytes", &NeighbourSearch::bytes, "About how much memory the boxes take.")
        .def_prop_ro("bound", &NeighbourSearch::bound, "Distance of the nearest box left.")
        .def_prop_ro("candidate", as_array(&NeighbourSearch::candidate), "The last candidate.")
        .def_prop_ro("met", as_array(&NeighbourSearch::met), "The nearest explanation met on the way, without proof.")
        .def_prop_ro("met_distance", &NeighbourSearch::met_distance, "Its distance; infinite where none was met.")
        .def("examine", &examine, "low"_array, "high"_array, "radius"_a, "Examine one box.")
        .def("solve_box", &solve_box, "low"_array, "high"_array, "radius"_a, "patience"_a,
             "numbers"_a = LeafSolver::Patience{}.numbers,
             "Solve one box by linear programs: best extra distance, nearest undecided one, the best context.")
        .def("relations", &relations, "low"_array, "high"_array, "radius"_a,
             "How many others are surely nearer, farther, never farther and never nearer than each point in a box.")
        .def("hopeless", &hopeless, "inside"_array, "undecided"_array,
             "Whether no completion of the set satisfies all cuts.")
        .def("satisfied", &satisfied, "members"_array, "Whether a set satisfies all cuts and is not left out.");
}

}  // namespace

}  // namespace whence::neighbours

void bind_neighbours(nb::module_& m) {
    whence::neighbours::bind_tools(m);
    whence::neighbours::bind_axis(m);
    whence::neighbours::bind_rules(m);
    whence::neighbours::bind_places(m);
    whence::neighbours::bind_look(m);
    whence::neighbours::bind_search(m);
}
