// The searches over boxes of contexts, by neighbours and by kernels, at the border to Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>

#include "base/settings.hpp"
#include "base/simplex.hpp"
#include "bind/arrays.hpp"
#include "forest/few_changes.hpp"
#include "kernels/kernel_search.hpp"
#include "neighbours/neighbour_nearness.hpp"
#include "neighbours/neighbour_search.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace whence::neighbours {

namespace {

using namespace arrays;
using kernels::Kernel;
using kernels::KernelSearch;
using kernels::Measure;
using kernels::Shape;

// ---- what both searches share ------------------------------------------------------------------------------------

// Categories of all category axes.
std::size_t categories_of(const std::vector<Axis>& axes) {
    std::size_t count = 0;
    for (const Axis& axis : axes) count += axis.kind == Kind::category ? axis.costs.size() : 0;
    return count;
}

void require_entries(const std::vector<Axis>& axes, const std::optional<Matrix>& entries, std::size_t rows) {
    require((entries ? entries->shape(1) : 0) == categories_of(axes) && (!entries || entries->shape(0) == rows),
            "'entries' must have a row for every point and a column for every category.");
}

void require_about(const Rules* rules, const std::vector<Axis>& axes) {
    require(rules == nullptr || rules->last_axis() < static_cast<int>(axes.size()), "'rules' must be about the axes.");
}

// Every axis is a feature; none where all may change.
std::unique_ptr<const FewChanges> few_of(std::size_t axes, std::optional<int> most,
                                         std::vector<std::vector<std::int32_t>> barred,
                                         const std::vector<std::int32_t>& free = {}) {
    if (!most) return nullptr;
    std::vector<std::int32_t> feature(axes);
    std::iota(feature.begin(), feature.end(), 0);
    return std::make_unique<const FewChanges>(std::move(feature), *most, std::move(barred), free);
}

// For every context, whether it is an explanation.
template <class Search>
auto standing(Search& search, const Matrix& contexts) {
    const std::size_t rows = contexts.shape(0), q = contexts.shape(1);
    require(q == search.space().axes.size(), "'contexts' must have a column for every axis.");
    const auto stands = std::make_unique<bool[]>(rows);
    {
        const nb::gil_scoped_release release;
        for (std::size_t row = 0; row < rows; ++row) stands[row] = search.stands(view(contexts).subspan(row * q, q));
    }
    return to_numpy(stands.get(), rows);
}

// What both searches offer.
template <class Search>
auto bind_contexts(nb::module_& m, const char* name) {
    return nb::class_<Search>(m, name)
        .def(
            "cut",
            [](Search& self, const Vector& rival) {
                require_sizes(self.space().base.size(), rival, "rival");
                require_finite(rival, "rival");
                self.cut(copied(rival));
            },
            "rival"_array)
        .def("tighten", &Search::tighten, "by"_a)
        .def("standing", &standing<Search>, "contexts"_array)
        .def("forget_met", &Search::forget_met)
        .def_prop_ro("nodes", &Search::nodes)
        .def_prop_ro("bytes", &Search::bytes)
        .def_prop_ro("bound", &Search::bound)
        .def_prop_ro("met", as_array(&Search::met))
        .def_prop_ro("met_distance", &Search::met_distance);
}

// ---- linear programs ------------------------------------------------------------------------------------------------

void bind_simplex(nb::module_& m) {
    nb::enum_<Simplex::Status>(m, "SimplexStatus")
        .value("SOLVED", Simplex::Status::solved)
        .value("INFEASIBLE", Simplex::Status::infeasible)
        .value("UNKNOWN", Simplex::Status::unknown);

    nb::class_<Simplex>(m, "Simplex")
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
            "row"_array, "limit"_a)
        .def(
            "minimise",
            [](Simplex& self, double cutoff) {
                const Simplex::Result result = self.minimise(cutoff);
                return std::pair(result.status, result.cost);
            },
            "cutoff"_a = kInfinity)
        .def("clear_rows", &Simplex::clear_rows)
        .def("solution", [](const Simplex& self) {
            std::vector<double> u(self.variables());
            self.solution(u);
            return to_numpy(u);
        });
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

    nb::class_<Axis>(m, "Axis")
        .def("__init__", &make_axis, "kind"_a, "start"_a, "weight"_a, "lower"_a, "upper"_a, nb::kw_only(),
             "levels"_array = nb::none(), "costs"_array = nb::none(), "gaps"_array = nb::none(), "period"_a = 0.0)
        .def_ro("kind", &Axis::kind)
        .def_ro("start", &Axis::start)
        .def_ro("weight", &Axis::weight)
        .def_ro("period", &Axis::period)
        .def_ro("lower", &Axis::lower)
        .def_ro("upper", &Axis::upper)
        .def_prop_ro(
            "gaps",
            [](const Axis& axis) {
                std::vector<double> rows;
                for (const Gap& gap : axis.gaps) rows.insert(rows.end(), {gap.low, gap.high});
                return to_numpy_rows(rows, 2);
            },
            nb::rv_policy::move)
        .def_prop_ro("levels", as_array(&Axis::levels))
        .def_prop_ro("costs", as_array(&Axis::costs))
        .def(
            "far",
            [](const Axis& axis, const Vector& values) {
                std::vector<double> found;
                for (const double x : view(values)) found.push_back(axis.far(x));
                return array_of(found);
            },
            "values"_array);
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
    require_below(roots, made.size(), "'roots' must be nodes.");
    std::vector<int> starts(roots.data(), roots.data() + roots.size());
    new (self) Rules(std::move(made), std::move(starts), copied(rows), copied(limits));
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

void exclude(NeighbourSearch& self, const Ints& members) {
    require_sizes(self.space().k, members, "members");
    require_below(members, self.space().size(), "The members must be rows of 'points'.");
    self.criterion().exclude(std::vector<int>(members.data(), members.data() + members.size()));
}

void bind_search(nb::module_& m) {
    nb::class_<Rules>(m, "Rules")
        .def("__init__", &make_rules, "nodes"_array, "roots"_array, "rows"_array, "limits"_array);
    nb::class_<Places>(m, "Places")
        .def("__init__", &make_places, "axes"_a, "members"_array, "columns"_array, "ranks"_array.none(),
             "origin"_array);
    nb::enum_<Progress>(m, "NeighbourProgress")
        .value("SPENT", Progress::spent)
        .value("CANDIDATE", Progress::candidate)
        .value("EXHAUSTED", Progress::exhausted);

    bind_contexts<NeighbourSearch>(m, "NeighbourSearch")
        .def("__init__", &make_search, "axes"_a, "points"_array, "base"_array, "k"_a, "separation"_a, "margin"_a,
             "alternative"_array, "tau"_a, "tail"_a = nb::none(), "widest"_a = kInfinity, "confidence"_a = 0.0,
             "rules"_a.none() = nb::none(), "most"_a = nb::none(),
             "barred"_a = std::vector<std::vector<std::int32_t>>(), "slopes"_array = nb::none(),
             "entries"_array = nb::none(), "apart"_a = 1.0, "by_nearness"_a = false, "places"_a.none() = nb::none(),
             "free"_a = std::vector<std::int32_t>())
        .def("exclude", &exclude, "members"_array)
        .def("restart", &NeighbourSearch::restart)
        .def(
            "advance",
            [](NeighbourSearch& self, std::int64_t boxes, double radius, int threads, double pause, double seconds,
               std::int64_t numbers) {
                require(threads >= 1 && threads <= 1024, "'threads' must be at least 1 and at most 1024.");
                const nb::gil_scoped_release release;
                return self.advance(boxes, radius, threads, {Deadline(pause), Deadline(seconds), numbers});
            },
            "boxes"_a, "radius"_a, "threads"_a = 1, "pause"_a = kInfinity, "seconds"_a = kInfinity,
            "numbers"_a = Allowance{}.numbers)
        .def_prop_ro("candidate", as_array(&NeighbourSearch::candidate));
}

// ---- kernels ------------------------------------------------------------------------------------------------------

void make_kernel_search(KernelSearch* self, std::vector<Axis> axes, Measure measure, Shape shape, const Matrix& rows,
                        const Vector& factors, const Vector& base, const std::optional<Matrix>& entries, double least,
                        const Vector& alternative, double tau, std::optional<double> tail, const Rules* rules,
                        std::optional<int> most, std::vector<std::vector<std::int32_t>> barred,
                        const std::vector<std::int32_t>& free) {
    const std::size_t n = rows.shape(0);
    require(n >= 1 && rows.shape(1) == axes.size(), "'rows' must have a column for every axis, and a row.");
    require_sizes(axes.size(), factors, "factors");
    require_sizes(n, base, "base", alternative, "alternative");
    require_entries(axes, entries, n);
    require_finite(rows, "rows", factors, "factors", base, "base", alternative, "alternative");
    require(measure != Measure::scores || shape == Shape::gaussian, "Scores are for a Gaussian kernel.");
    require(measure != Measure::squares || shape != Shape::gaussian, "A Gaussian kernel takes scores for squares.");
    require(least >= 0.0 && (least > 0.0) == (shape != Shape::gaussian),
            "'least' must be positive for a kernel that ends, and 0 otherwise.");
    require(!std::isnan(tau), "'tau' must be a number.");
    const Kernel kernel(shape, measure != Measure::sums || shape == Shape::gaussian);
    require(!tail || (*tail > 0.0 && *tail < 1.0), "'tail' must be a share.");
    require_about(rules, axes);
    auto few = few_of(axes.size(), most, std::move(barred), free);
    Scores scores(axes, {}, copied(entries));
    const Rules held = rules == nullptr ? Rules() : *rules;
    Space space{std::move(axes), copied(rows), copied(base), 1, 0.0, 0.0, 0.0, held, 1.0, std::move(scores)};
    new (self) KernelSearch(std::move(space), {measure, kernel, copied(factors), least}, copied(alternative), tau, tail,
                            std::move(few));
}

void bind_kernels(nb::module_& m) {
    nb::enum_<Shape>(m, "KernelShape")
        .value("GAUSSIAN", Shape::gaussian)
        .value("EPANECHNIKOV", Shape::epanechnikov)
        .value("BIWEIGHT", Shape::biweight)
        .value("TRICUBE", Shape::tricube);
    nb::enum_<Measure>(m, "KernelMeasure")
        .value("SCORES", Measure::scores)
        .value("SQUARES", Measure::squares)
        .value("SUMS", Measure::sums);

    bind_contexts<KernelSearch>(m, "KernelSearch")
        .def("__init__", &make_kernel_search, "axes"_a, "measure"_a, "shape"_a, "rows"_array, "factors"_array,
             "base"_array, "entries"_array.none(), "least"_a, "alternative"_array, "tau"_a, "tail"_a = nb::none(),
             "rules"_a.none() = nb::none(), "most"_a = nb::none(),
             "barred"_a = std::vector<std::vector<std::int32_t>>(), "free"_a = std::vector<std::int32_t>())
        .def(
            "advance",
            [](KernelSearch& self, std::int64_t boxes, double cutoff, double gap, double seconds) {
                require(gap >= 0.0 && gap < 1.0, "'gap' must be at least 0 and below 1.");
                const nb::gil_scoped_release release;
                return self.advance(boxes, cutoff, gap, Deadline(seconds));
            },
            "boxes"_a, "cutoff"_a, "gap"_a, "seconds"_a = kInfinity);
}

}  // namespace

}  // namespace whence::neighbours

void bind_contexts(nb::module_& m) {
    whence::neighbours::bind_simplex(m);
    whence::neighbours::bind_axis(m);
    whence::neighbours::bind_search(m);
    whence::neighbours::bind_kernels(m);
}
