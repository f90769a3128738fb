// The forest search at the border to Python: arrays are checked here, so that nothing behind it reads beyond them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "base/numbers.hpp"
#include "bind/arrays.hpp"
#include "bind/bindings.hpp"
#include "criteria/breach.hpp"
#include "criteria/confident_mean.hpp"
#include "criteria/confident_tail.hpp"
#include "criteria/curve_criterion.hpp"
#include "criteria/mean_criterion.hpp"
#include "criteria/plan_list.hpp"
#include "criteria/spread.hpp"
#include "criteria/stock.hpp"
#include "criteria/tail_criterion.hpp"
#include "forest/forest_search.hpp"
#include "forest/proposals.hpp"
#include "routes/box_routes.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace whence {

namespace {

using namespace arrays;

// Cells that come from Python, one a column, within the grid.
Cells cells_of(const Grid& grid, const Integers& cells) {
    require(cells.size() == static_cast<std::size_t>(grid.columns()), "'cells' must hold one cell a column.");
    for (std::int32_t j = 0; j < grid.columns(); ++j)
        require(cells(j) >= 0 && cells(j) <= grid.last_cell_of(j), "'cells' must lie in the grid.");
    return copied(cells);
}

std::vector<Node> nodes_of(const Integers& column, const Integers& split, const Integers& left, const Integers& right) {
    const std::size_t count = column.size();
    require(split.size() == count && left.size() == count && right.size() == count,
            "'column', 'split', 'left' and 'right' must hold one number a node.");
    std::vector<Node> nodes(count);
    for (std::size_t v = 0; v < count; ++v) nodes[v] = {column(v), split(v), left(v), right(v)};
    return nodes;
}

void bind_grid(nb::module_& m) {
    nb::class_<Grid>(m, "Grid", "A forest in cells: column j has cells 0..n and faces between them.")
        .def(
            "__init__",
            [](Grid* self, Integers face_start, VectorOf<float> cut, Integers column, Integers split, Integers left,
               Integers right, Integers root) {
                new (self) Grid(copied(face_start), copied(cut), nodes_of(column, split, left, right), copied(root));
            },
            "face_start"_array, "cut"_array, "column"_array, "split"_array, "left"_array, "right"_array, "root"_array)
        .def("lay_paths", &Grid::lay_paths, "nodes"_a, nb::call_guard<nb::gil_scoped_release>(),
             "Lay out the paths of the next trees with at least so many nodes; True once all are laid out.")
        .def_prop_ro("columns", &Grid::columns)
        .def_prop_ro("trees", &Grid::trees)
        .def_prop_ro("leaves", &Grid::leaves)
        .def_prop_ro(
            "first_leaf",
            [](const Grid& grid) {
                std::vector<std::int32_t> first;
                for (std::int32_t t = 0; t <= grid.trees(); ++t) first.push_back(grid.first_leaf(t));
                return array_of(first);
            },
            "The first leaf of every tree, and the number of all leaves.")
        .def_prop_ro("path_entries", &Grid::path_entries, "Columns on the paths of all leaves together.")
        .def_prop_ro(
            "asks",
            [](const Grid& grid) {
                const auto trees = static_cast<std::size_t>(grid.trees());
                std::vector<double> asks(grid.columns() * trees, 0.0);
                for (std::size_t t = 0; t < trees; ++t)
                    for (const Node& node : grid.nodes_of(static_cast<std::int32_t>(t)))
                        if (node.column >= 0) asks[node.column * trees + t] = 1.0;
                return nb::cast(to_numpy_rows(asks, trees));
            },
            "1 where a tree splits a column, by column and tree.")
        .def(
            "leaves_at",
            [](const Grid& grid, Integers cells) {
                Leaves leaves(grid.trees());
                grid.leaves_at(cells_of(grid, cells), leaves);
                return array_of(leaves);
            },
            "cells"_array, "Leaf of every tree at a cell.")
        .def(
            "leaves_of",
            [](const Grid& grid, MatrixOf<std::int32_t> cells) {
                const auto columns = static_cast<std::size_t>(grid.columns());
                require(cells.shape(1) == columns, "'cells' must hold one cell a column.");
                for (std::size_t i = 0; i < cells.size(); ++i)
                    require(cells.data()[i] >= 0 && cells.data()[i] <= grid.last_cell_of(i % columns),
                            "'cells' must lie in the grid.");
                std::vector<std::int32_t> found;
                found.reserve(cells.shape(0) * static_cast<std::size_t>(grid.trees()));
                Leaves leaves(grid.trees());
                for (const std::int32_t* row = cells.data(); row != cells.data() + cells.size(); row += columns) {
                    grid.leaves_at(Cells(row, row + columns), leaves);
                    found.insert(found.end(), leaves.begin(), leaves.end());
                }
                return nb::cast(to_numpy_rows(found, leaves.size()));
            },
            "cells"_array, "Leaf of every tree at each of several cells, one row a cell.")
        .def(
            "cells_alike",
            [](const Grid& grid, Integers cells) {
                Cells low, high;
                grid.cells_alike(cells_of(grid, cells), low, high);
                return nb::make_tuple(array_of(low), array_of(high));
            },
            "cells"_array, "First and last cell of every column in which all trees have the leaf of this cell.")
        .def(
            "path",
            [](const Grid& grid, std::int32_t leaf) {
                require(grid.complete(), "The paths of the grid must be laid out first.");
                require(leaf >= 0 && leaf < grid.leaves(), "'leaf' must be one of the grid's.");
                std::vector<std::int32_t> rows;
                for (const PathEntry& entry : grid.path(leaf))
                    rows.insert(rows.end(), {entry.column, entry.low, entry.high});
                return to_numpy_rows(rows, 3);
            },
            "leaf"_a, "Column, first and last cell that a leaf allows, of the columns on its path.");
}

// One row a column of start, lower and upper bound, weight, scale and offset.
std::vector<ColumnLimits> limits_of(const Grid& grid, const Vector& below, const Vector& beyond, const Matrix& limits,
                                    const Integers& group, const VectorOf<bool>& discrete, const Ints& level_start,
                                    const Vector& level) {
    const auto d = static_cast<std::size_t>(grid.columns());
    const auto faces = static_cast<std::size_t>(grid.faces());
    require(below.size() == faces && beyond.size() == faces, "'below' and 'beyond' must hold one number a face.");
    require(limits.shape(0) == d && limits.shape(1) == 6, "'limits' must have six numbers a column.");
    require(group.size() == d && discrete.size() == d, "'group' and 'discrete' must hold one entry a column.");
    require(
        level_start.size() == d + 1 && level_start(0) == 0 && level_start(d) == static_cast<std::int64_t>(level.size()),
        "'level_start' must say where the levels of each column begin, and where the last ones end.");
    std::vector<ColumnLimits> found;
    for (std::size_t j = 0; j < d; ++j) {
        require(level_start(j) <= level_start(j + 1), "'level_start' must not descend.");
        const double* row = &limits(j, 0);
        const std::span<const double> levels(level.data() + level_start(j), level.data() + level_start(j + 1));
        const auto first = static_cast<std::size_t>(grid.first_face(static_cast<std::int32_t>(j)));
        const auto count = static_cast<std::size_t>(grid.last_cell_of(static_cast<std::int32_t>(j)));
        found.push_back({row[0], row[1], row[2], row[3], row[4], row[5], group(j), discrete(j), levels,
                         view(below).subspan(first, count), view(beyond).subspan(first, count)});
    }
    return found;
}

void bind_located(nb::module_& m) {
    const auto column = [](std::int32_t Column::* member) {
        return [member](const Located& located) {
            std::vector<std::int32_t> numbers;
            for (const Column& column : located.columns()) numbers.push_back(column.*member);
            return array_of(numbers);
        };
    };
    nb::class_<Located>(m, "Located",
                        "The cells of a question: which are allowed, and how far they are from its start.")
        .def(
            "__init__",
            [](Located* self, const Grid& grid, Vector below, Vector beyond, Matrix limits, Integers group,
               VectorOf<bool> discrete, Ints level_start, Vector level) {
                new (self) Located(grid, limits_of(grid, below, beyond, limits, group, discrete, level_start, level));
            },
            "grid"_a, "below"_array, "beyond"_array, "limits"_array, "group"_array, "discrete"_array,
            "level_start"_array, "level"_array, nb::keep_alive<1, 2>())
        .def(
            "part",
            [](const Located& located, Integers low, Integers high, Integers start, std::int32_t column) {
                const Grid& grid = located.grid();
                const Cells first = cells_of(grid, low), last = cells_of(grid, high);
                require(column >= 0 && column < grid.columns(), "'column' must be one of the grid's.");
                return new Located(located, first, last, cells_of(grid, start), column);
            },
            "low"_array, "high"_array, "start"_array, "column"_a, nb::keep_alive<0, 1>(), nb::rv_policy::take_ownership,
            "Some of the cells, their distance counted in cells of one column, of ``ONE_CELL`` each.")
        .def_prop_ro_static("ONE_CELL", [](nb::handle) { return Located::kOneCell; })
        .def_prop_ro("distance", as_array(&Located::distances))
        .def_prop_ro("value", as_array(&Located::values))
        .def_prop_ro("start", column(&Column::start))
        .def_prop_ro("first", column(&Column::first))
        .def_prop_ro("last", column(&Column::last))
        .def_prop_ro("group", column(&Column::group))
        .def_prop_ro("dead", [](const Located& located) {
            std::vector<std::int32_t> dead;
            for (std::int32_t leaf = 0; leaf < located.grid().leaves(); ++leaf)
                if (located.bit_of_leaf()[leaf] < 0) dead.push_back(leaf);
            return array_of(dead);
        });
}

// An entry of the table of a plan.
auto entry(double (TailTable::*of)(std::int32_t, std::int32_t) const) {
    return [of](const TailCriterion& criterion, std::int32_t plan, std::int32_t leaf, std::int32_t eta) {
        require(plan >= 0 && plan <= criterion.rivals(), "'plan' must be one of the criterion's.");
        require(leaf >= 0 && leaf < criterion.leaves(), "'leaf' must be one of the grid's.");
        require(eta >= 0 && eta < criterion.plan(plan).etas(), "'eta' must be one of the plan's.");
        return (criterion.plan(plan).*of)(leaf, eta);
    };
}

// What the samples of a leaf count for: one number per sample, or None where all count alike.
using Mass = std::optional<Vector>;

LeafSamples samples_of(const Integers& samples, const Ints& first, const Ints& size, double tail, std::int32_t trees,
                       const Mass& mass) {
    require(first.size() == size.size(), "'first' and 'size' must hold one number a leaf.");
    const auto count = static_cast<std::int64_t>(samples.size());
    for (std::size_t i = 0; i < first.size(); ++i)
        require(first(i) >= 0 && size(i) >= 1 && size(i) <= count && first(i) <= count - size(i),
                "Every leaf must have samples.");
    require(tail > 0.0 && tail <= 1.0, "'tail' must be in (0, 1].");
    require(trees > 0, "'trees' must be positive.");
    LeafSamples found{view(samples), view(first), view(size)};
    if (!mass) return found;
    for (std::size_t i = 0; i < mass->size(); ++i)
        require((*mass)(i) >= 0.0 && std::isfinite((*mass)(i)), "'mass' must hold numbers of at least 0.");
    require_below(samples, mass->size(), "'mass' must hold one number a sample.");
    found.mass = view(*mass);
    for (std::size_t i = 0; i < first.size(); ++i)
        require(found.total(static_cast<std::int32_t>(i)) > 0.0, "Every leaf must have samples that count.");
    return found;
}

template <class Confident>
void with_kappa(Confident* self, std::int32_t leaves, double kappa) {
    steepness(kappa, 2);  // which refuses it
    new (self) Confident(leaves, kappa);
}

void bind_criteria(nb::module_& m) {
    nb::class_<Criterion::Excess>(m, "Excess", "By how much the alternative exceeds the rival it does worst against.")
        .def_ro("over", &Criterion::Excess::over)
        .def_ro("worst", &Criterion::Excess::worst);
    nb::class_<Criterion>(m, "Criterion", "What the leaves say about the alternative and its rivals.")
        .def_prop_ro("rivals", &Criterion::rivals)
        .def_prop_ro("etas", &Criterion::etas)
        .def(
            "excess",
            [](const Criterion& criterion, Integers leaves) {
                require(criterion.rivals() > 0, "There must be a rival.");
                require_below(leaves, criterion.leaves(), "'leaves' must be those of the grid.");
                std::vector<std::int32_t> levels(criterion.rivals());
                return criterion.excess(view(leaves), {0, criterion.etas() - 1}, levels);
            },
            "leaves"_array, "The criterion where every tree has one of these leaves.");
    nb::class_<MeanCriterion, Criterion>(m, "MeanCriterion", "Expected cost.")
        .def(nb::init<std::int32_t>(), "leaves"_a)
        .def(
            "add_rival",
            [](MeanCriterion& criterion, Vector means) {
                require_finite(means, "means");
                criterion.add_rival(copied(means));
            },
            "means"_array);
    nb::class_<ConfidentMeanCriterion, MeanCriterion>(
        m, "ConfidentMeanCriterion", "Expected cost: the mean difference plus kappa standard errors over the trees.")
        .def("__init__", &with_kappa<ConfidentMeanCriterion>, "leaves"_a, "kappa"_a);
    nb::class_<CurveCriterion, MeanCriterion>(
        m, "CurveCriterion", "Costs that follow forecasts: a curve for every outcome, by what the leaves add up to.")
        .def(
            "__init__",
            [](CurveCriterion* self, Matrix adds, Vector offsets) {
                require(adds.shape(1) == offsets.size(), "'adds' must have a column for each of the 'offsets'.");
                require_finite(adds, "adds", offsets, "offsets");
                new (self) CurveCriterion(copied(adds), copied(offsets));
            },
            "adds"_array, "offsets"_array)
        .def(
            "add_curves",
            [](CurveCriterion& criterion, Ints first, Vector at, Vector value, Vector slopes) {
                const std::size_t count = criterion.outcomes();
                require_sizes(count + 1, first, "first");
                require_sizes(at.size(), value, "value");
                require_sizes(2 * count, slopes, "slopes");
                require_finite(at, "at", value, "value", slopes, "slopes");
                std::vector<BrokenLine> curves;
                for (std::size_t k = 0; k < count; ++k) {
                    const auto end = static_cast<std::int64_t>(at.size());
                    require(first(k) >= 0 && first(k) <= first(k + 1) && first(k + 1) <= end,
                            "'first' must say where the corners of each curve begin.");
                    const auto part = [&](const Vector& all) {
                        return std::vector<double>(all.data() + first(k), all.data() + first(k + 1));
                    };
                    curves.emplace_back(part(at), part(value), slopes(2 * k), slopes(2 * k + 1));
                }
                criterion.add_curves(std::move(curves));
            },
            "first"_array, "at"_array, "value"_array, "slopes"_array,
            "One more rival: corners and values of a curve for each outcome, and its slopes before and after them.");
    nb::class_<MeanBreach, MeanCriterion>(m, "MeanBreach", "Where expected cost with confidence is broken.")
        .def("__init__", &with_kappa<MeanBreach>, "leaves"_a, "kappa"_a);
    nb::class_<TailCriterion, Criterion>(m, "TailCriterion", "CVaR.")
        .def(
            "__init__",
            [](TailCriterion* self, Integers samples, Ints first, Ints size, double tail, std::int32_t trees,
               const Mass& mass) {
                new (self) TailCriterion(samples_of(samples, first, size, tail, trees, mass), tail, trees);
            },
            "samples"_array, "first"_array, "size"_array, "tail"_a, "trees"_a, "mass"_array = nb::none(),
            nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 7>())
        .def(
            "add_plan",
            [](TailCriterion& criterion, Vector etas, Integers rank, bool kept) {
                require_finite(etas, "etas");
                criterion.add_plan(copied(etas), copied(rank), kept);
            },
            "etas"_array, "rank"_array, "kept"_a)
        .def("share_plan", &TailCriterion::share_plan, "other"_a, "plan"_a, nb::keep_alive<1, 2>(),
             "One more plan, of which another criterion about the same samples has the table.")
        .def("value", entry(&TailTable::value), "plan"_a, "leaf"_a, "eta"_a,
             "(eta + mean excess over eta / tail) / trees.")
        .def("share_above", entry(&TailTable::share_above), "plan"_a, "leaf"_a, "eta"_a,
             "Share of the leaf's samples that cost more than an eta.")
        .def_prop_ro("all_etas", &TailCriterion::all_etas, "Thresholds of all plans together.");
    nb::class_<ConfidentTailCriterion, TailCriterion>(
        m, "ConfidentTailCriterion",
        "CVaR: the difference plus kappa standard errors over the trees, with the plans of another criterion.")
        .def(nb::init<const TailCriterion&, double>(), "plain"_a, "kappa"_a, nb::keep_alive<1, 2>());
    nb::class_<TailBreach, TailCriterion>(m, "TailBreach",
                                          "Where CVaR with confidence is broken; the rival comes first.")
        .def(
            "__init__",
            [](TailBreach* self, Integers samples, Ints first, Ints size, double tail, std::int32_t trees, double kappa,
               const Mass& mass) {
                new (self) TailBreach(samples_of(samples, first, size, tail, trees, mass), tail, trees, kappa);
            },
            "samples"_array, "first"_array, "size"_array, "tail"_a, "trees"_a, "kappa"_a, "mass"_array = nb::none(),
            nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 8>());
}

// What each leaf says about a plan under every threshold eta.
TailTable table_of(const LeafSamples& samples, const Vector& etas, const Integers& rank, double tail,
                   std::int32_t trees) {
    require(etas.size() > 0, "'etas' must not be empty.");
    require_finite(etas, "etas");
    require_below(rank, etas.size(), "'rank' must be about the etas.");
    require_below(samples.samples, rank.size(), "'rank' must hold one number a sample.");
    return TailTable(samples, copied(etas), copied(rank), tail, trees, false);
}

void require_alive(const PlanList& list, const Integers& alive) {
    for (std::size_t i = 0; i < alive.size(); ++i)
        require(alive(i) >= 0 && alive(i) < list.leaves() && (i == 0 || alive(i - 1) < alive(i)),
                "'alive' must be leaves in their order.");
}

// Add plans, one a row.
auto add_rows(void (PlanList::*add)(std::span<const double>)) {
    return [add](PlanList& list, const Matrix& rows) {
        require(rows.shape(1) == static_cast<std::size_t>(list.leaves()), "'rows' must have one number a leaf.");
        require_finite(rows, "rows");
        for (std::size_t i = 0; i < rows.shape(0); ++i)
            (list.*add)(view(rows).subspan(i * rows.shape(1), rows.shape(1)));
    };
}

// The leaves of every tree, which begin at `first`, and what the rival costs there.
LeafSlots slots_of(const Tolls& tolls, const Integers& leaves, const Ints& first, const Vector& rival) {
    require_sizes(tolls.trees() + 1, first, "first");
    require_sizes(leaves.size(), rival, "rival");
    require_below(leaves, tolls.routes().leaves(), "'leaves' must be those of the routes.");
    require_below(first, leaves.size() + 1, "'first' must be where the leaves of each tree begin.");
    require(std::ranges::is_sorted(view(first)), "'first' must be where the leaves of each tree begin.");
    const std::vector<std::int32_t> from(first.data(), first.data() + first.size());
    LeafSlots slots({view(leaves), from, view(rival)});
    require(slots.whole(), "Every tree must have a leaf.");
    return slots;
}

void bind_plan_sets(nb::module_& m) {
    nb::class_<PlanList, Criterion>(m, "PlanList", "Some plan of a list must not cost more than the best rival.")
        .def(nb::init<std::int32_t>(), "leaves"_a)
        .def("add_plans", add_rows(&PlanList::add_plan), "rows"_array,
             "What each leaf adds to the cost of plans of the set, one row a plan.")
        .def("add_rivals", add_rows(&PlanList::add_rival), "rows"_array,
             "The same of plans that the set must not cost more than.")
        .def("limit_memory", &PlanList::limit_memory, "bytes"_a, "Leave room for about so many bytes of rows.")
        .def(
            "add_tail_rival",
            [](PlanList& list, const Grid& grid, Integers samples, Ints first, Ints size, double tail,
               std::int32_t trees, Vector etas, Integers rank, Integers alive, const Mass& mass) {
                require_sizes(static_cast<std::size_t>(list.leaves()), first, "first");
                require_alive(list, alive);
                const LeafSamples leaves = samples_of(samples, first, size, tail, trees, mass);
                list.add_tail_rival(table_of(leaves, etas, rank, tail, trees), grid, view(alive));
            },
            "grid"_a, "samples"_array, "first"_array, "size"_array, "tail"_a, "trees"_a, "etas"_array, "rank"_array,
            "alive"_array, "mass"_array = nb::none(),
            "A rival under CVaR, with the thresholds at which it is attained where trees have `alive` leaves.")
        .def(
            "add_tail_plan",
            [](PlanList& list, const Grid& grid, Integers samples, Ints first, Ints size, double tail,
               std::int32_t trees, Vector etas, Integers rank, Integers alive, double tau, const Mass& mass) {
                require_sizes(static_cast<std::size_t>(list.leaves()), first, "first");
                require_alive(list, alive);
                const TailTable table =
                    table_of(samples_of(samples, first, size, tail, trees, mass), etas, rank, tail, trees);
                nb::gil_scoped_release released;
                list.add_tail_plan(table, grid, view(alive), tau);
            },
            "grid"_a, "samples"_array, "first"_array, "size"_array, "tail"_a, "trees"_a, "etas"_array, "rank"_array,
            "alive"_array, "tau"_a, "mass"_array = nb::none(),
            "A plan under CVaR, with the thresholds that the `alive` leaves do not rule out.")
        .def(
            "set_routes",
            [](PlanList& list, const RouteTable& routes, const RouteTable* all) {
                list.set_routes(std::make_shared<const RouteTable>(routes),
                                all == nullptr ? nullptr : std::make_shared<const RouteTable>(*all));
            },
            "routes"_a, "all"_a.none() = nb::none(), "The set is all routes of a network, and so are the rivals.")
        .def(
            "best_at",
            [](const PlanList& list, MatrixOf<std::int32_t> leaves) {
                require_below(leaves, list.leaves(), "'leaves' must be those of the list.");
                return list.best_at(view(leaves), std::max<std::size_t>(1, leaves.shape(1)));
            },
            "leaves"_array, "A list of the routes that are best in contexts with these leaves, one row each.")
        .def_prop_ro("edges", &PlanList::edges)
        .def_prop_ro("many", &PlanList::many)
        .def_prop_ro("plans", &PlanList::plans)
        .def_prop_ro("rival_rows", &PlanList::rival_rows);
    nb::class_<RouteTable>(m, "RouteTable", "Routes of an acyclic network, and what each leaf says about its edges.")
        .def(
            "__init__",
            [](RouteTable* self, Matrix costs, Integers samples, Ints first, Ints size, Vector divisor,
               MatrixOf<std::int32_t> arcs, std::int32_t nodes, std::int32_t source, std::int32_t target) {
                require(arcs.shape(1) == 3, "'arcs' must have tail, edge and head.");
                const std::size_t edges = costs.shape(1);
                require(edges > 0 && nodes > 0 && source >= 0 && source < nodes && target >= 0 && target < nodes,
                        "Source and target must be nodes.");
                std::vector<Arc> each;
                for (std::size_t a = 0; a < arcs.shape(0); ++a) {
                    require(arcs(a, 0) >= 0 && arcs(a, 0) < nodes && arcs(a, 2) >= 0 && arcs(a, 2) < nodes &&
                                arcs(a, 1) >= 0 && static_cast<std::size_t>(arcs(a, 1)) < edges,
                            "'arcs' must be about the nodes and edges.");
                    each.push_back({arcs(a, 0), arcs(a, 1), arcs(a, 2)});
                }
                require_sizes(first.size(), size, "size", divisor, "divisor");
                for (std::size_t l = 0; l < first.size(); ++l)
                    require(
                        first(l) >= 0 && size(l) >= 0 && static_cast<std::size_t>(first(l) + size(l)) <= samples.size(),
                        "'first' and 'size' must be about the samples.");
                require_below(samples, costs.shape(0), "'costs' must have one row a sample.");
                new (self) RouteTable({costs.data(), edges, view(samples), view(first), view(size), view(divisor)},
                                      Network(each, nodes, source, target));
            },
            "costs"_array, "samples"_array, "first"_array, "size"_array, "divisor"_array, "arcs"_array, "nodes"_a,
            "source"_a, "target"_a)
        .def(
            "cheapest",
            [](const RouteTable& table, Vector total) {
                require_sizes(static_cast<std::size_t>(table.edges()), total, "total");
                Route route;
                const double cost = table.cheapest(copied(total), &route);
                return std::pair(cost, array_of(route));
            },
            "total"_array, "Least total of a route, and its edges.");
    nb::class_<Tolls>(m, "Tolls", "What trees charge for the edges of a network, so that they agree on a route.")
        .def(
            "__init__",
            [](Tolls* self, const RouteTable& routes, std::int32_t trees) {
                require(trees > 0, "'trees' must be positive.");
                new (self) Tolls(std::make_shared<const RouteTable>(routes), trees);
            },
            "routes"_a, "trees"_a)
        .def(
            "agree",
            [](const Tolls& tolls, Integers leaves, Ints first, Vector rival, double tau, int rounds) {
                const LeafSlots slots = slots_of(tolls, leaves, first, rival);
                const Tolls::Agreement agreed = tolls.agree(slots, tau, rounds);
                return agreed.arcs.empty() ? std::nullopt : std::optional(tolls.after(agreed));
            },
            "leaves"_array, "first"_array, "rival"_array, "tau"_a, "rounds"_a,
            "Tolls that bound routes over these leaves better, on the arcs of routes within tau; None without any.")
        .def_prop_ro("arcs",
                     [](const Tolls& tolls) {
                         std::vector<std::int32_t> places;
                         for (const Arc& arc : tolls.network().arcs()) places.push_back(arc.place);
                         return array_of(places);
                     })
        .def(
            "routes",
            [](const Tolls& tolls, Integers leaves, Ints first, Vector rival, double tau) {
                const LeafSlots slots = slots_of(tolls, leaves, first, rival);
                PricedArcs<double> prices = tolls.prices<double>(slots);
                prices.find_ways();
                const BoxRoutes<double> routes(std::move(prices), tolls.rounding());
                std::vector<double> without(slots.count()), least(slots.trees());
                for (std::size_t i = 0; i < without.size(); ++i) without[i] = -slots.rival[i];
                const double bound = least_sum(slots, routes.cheapest().data(), without.data(), least.data());
                const std::int64_t steps = std::numeric_limits<std::int64_t>::max();
                return std::pair(bound, routes.list(tau, 1'000'000, steps).routes);
            },
            "leaves"_array, "first"_array, "rival"_array, "tau"_a,
            "What bounds all routes over these leaves, and those that can be within tau.");
    nb::class_<StockTable>(m, "StockTable", "What every breakpoint of every product costs in each leaf.")
        .def(
            "__init__",
            [](StockTable* self, Integers samples, Ints first, Ints size, std::int32_t trees, Matrix demand,
               Vector holding, Vector backorder, Vector lower, Vector upper, std::optional<Integers> alive,
               std::optional<Integers> tree, double dearest, double seconds, const Mass& mass) {
                require(dearest >= 0.0, "'dearest' must not be negative.");
                const LeafSamples leaves = samples_of(samples, first, size, 1.0, trees, mass);
                require_below(leaves.samples, demand.shape(0), "'demand' must have one row a sample.");
                const std::size_t products = demand.shape(1);
                require(products > 0, "There must be a product.");
                require_sizes(products, holding, "holding", backorder, "backorder", lower, "lower", upper, "upper");
                require(alive.has_value() == tree.has_value(), "'alive' and 'tree' go together.");
                std::vector<std::int32_t> all(first.size());
                std::iota(all.begin(), all.end(), 0);
                StockTable::Alive given{all, {}};
                if (alive) {
                    require_sizes(alive->size(), *tree, "tree");
                    for (std::size_t i = 0; i < alive->size(); ++i) {
                        const std::int32_t leaf = (*alive)(i), own = (*tree)(i);
                        require(leaf >= 0 && static_cast<std::size_t>(leaf) < first.size() &&
                                    (i == 0 || (*alive)(i - 1) < leaf),
                                "'alive' must be leaves in their order.");
                        require(own >= 0 && own < trees && (i == 0 || (*tree)(i - 1) <= own),
                                "'tree' must be the trees of the leaves in their order.");
                    }
                    given = {view(*alive), view(*tree)};
                }
                nb::gil_scoped_release released;
                new (self) StockTable(leaves, {view(demand), view(holding), view(backorder), view(lower), view(upper)},
                                      trees, given, dearest, Deadline(seconds));
            },
            "samples"_array, "first"_array, "size"_array, "trees"_a, "demand"_array, "holding"_array, "backorder"_array,
            "lower"_array, "upper"_array, "alive"_a.none() = nb::none(), "tree"_a.none() = nb::none(),
            "dearest"_a = 0.0, "seconds"_a = kInfinity, "mass"_array = nb::none())
        .def_prop_ro("whole", &StockTable::whole)
        .def_prop_ro("points", as_array(&StockTable::points))
        .def_prop_ro("breakpoints", &StockTable::breakpoints)
        .def(
            "row",
            [](const StockTable& table, std::int32_t leaf) {
                require(leaf >= 0 && leaf < table.leaves(), "'leaf' must be one of the grid's.");
                std::vector<double> row;
                const std::int32_t alone[] = {leaf};
                table.sum(alone, row);
                return to_numpy(row.data(), row.size());
            },
            "leaf"_a, "Cost of every breakpoint in a leaf, divided by the number of trees.");
    nb::class_<StockCriterion, MeanCriterion>(m, "StockCriterion", "Some quantities must not cost more than a rival.")
        .def(
            "__init__",
            [](StockCriterion* self, std::shared_ptr<StockTable> table, Vector rival, std::shared_ptr<StockTable> all,
               double budget, std::optional<std::tuple<std::int32_t, double, bool>> limit) {
                require_sizes(static_cast<std::size_t>(table->leaves()), rival, "rival");
                require_finite(rival, "rival");
                require(!std::isnan(budget), "'budget' must be a number.");
                std::optional<StockLimit> only;
                if (limit) {
                    const auto [product, quantity, at_least] = *limit;
                    require(product >= 0 && product < table->products() && std::isfinite(quantity),
                            "'limit' must name a product and a finite quantity.");
                    only = StockLimit{product, quantity, at_least};
                }
                new (self) StockCriterion(std::move(table), copied(rival), std::move(all), budget, only);
            },
            "table"_a, "rival"_array, "all"_a.none() = nb::none(), "budget"_a = kInfinity,
            "limit"_a.none() = nb::none())
        .def_prop_ro("breakpoints", &StockCriterion::breakpoints);
}

// A plan as a row of what each leaf adds.
auto with_row(void (ForestSearch::*method)(std::vector<double>)) {
    return [method](ForestSearch& search, const Vector& row) {
        require_finite(row, "row");
        (search.*method)(copied(row));
    };
}

void bind_search(nb::module_& m) {
    nb::class_<FewChanges>(m, "FewChanges", "Which features may differ from the start together.")
        .def(
            "__init__",
            [](FewChanges* self, Integers feature, std::int32_t most, std::vector<std::vector<std::int32_t>> barred,
               const std::vector<std::int32_t>& free) {
                new (self) FewChanges(copied(feature), most, std::move(barred), free);
            },
            "feature"_array, "most"_a, "barred"_a = std::vector<std::vector<std::int32_t>>(),
            "free"_a = std::vector<std::int32_t>())
        .def(
            "allows",
            [](const FewChanges& few, const std::vector<std::int32_t>& features) {
                FewChanges::Features changed(few.features(), 0);
                for (const std::int32_t f : features) {
                    require(f >= 0 && f < few.features(), "'features' must be some of those counted.");
                    changed[f] = 1;
                }
                return few.allows(changed);
            },
            "features"_a, "Whether exactly these features may change together.")
        .def(
            "keep",
            [](const FewChanges& few, Box& box) {
                require_fit(box.located().grid(), &few);
                FewChanges::Features changed, kept;
                return few.keep(box, changed, kept);
            },
            "box"_a, "Keep what must stay beside the features that change in all of a box; false where too many do.");
    nb::class_<Plausibility>(m, "Plausibility", "Contexts that an isolation forest needs many splits to set apart.")
        .def(
            "__init__",
            [](Plausibility* self, const Grid& grid, std::int32_t first, Vector short_by) {
                require_finite(short_by, "short_by");
                new (self) Plausibility(grid, first, copied(short_by));
            },
            "grid"_a, "first"_a, "short_by"_array, nb::keep_alive<1, 2>())
        .def(
            "short_by",
            [](const Plausibility& plausible, Integers cells) {
                Leaves leaves(plausible.grid().trees());
                plausible.grid().leaves_at(cells_of(plausible.grid(), cells), leaves);
                return plausible.short_by(leaves);
            },
            "cells"_array, "By how much the mean path at a cell is short of the least one.");
    nb::class_<Shares>(m, "Shares", "How the price of every step is shared out among the trees.")
        .def(
            "__init__",
            [](Shares* self, const Located& located, Integers bucket, Vector edge, Integers begin, Matrix part) {
                require(part.shape(0) == edge.size(), "'part' must have a row of every bucket.");
                new (self) Shares(located, copied(bucket), copied(edge), copied(begin), view(part));
            },
            "located"_a, "bucket"_array, "edge"_array, "begin"_array, "part"_array, nb::keep_alive<1, 2>())
        .def_prop_ro("multiplier", &Shares::multiplier, "Distance a unit of the criterion.")
        .def_prop_ro(
            "part",
            [](const Shares& shares) {
                return nb::cast(
                    to_numpy_rows(shares.parts(), static_cast<std::size_t>(shares.located().grid().trees())));
            },
            "By bucket and tree: the share of each tree.");
    nb::class_<ForestSearch>(m, "ForestSearch", "Best-first search over the boxes of a forest.")
        .def(nb::init<const Located&, Criterion&, double, int, const Plausibility*, const FewChanges*>(), "located"_a,
             "criterion"_a, "tau"_a, "threads"_a = 1, "plausible"_a.none() = nb::none(), "few"_a.none() = nb::none(),
             nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 6>(), nb::keep_alive<1, 7>())
        .def(
            "ask_in_boxes", &ForestSearch::ask_in_boxes, "eager"_a,
            "From now on boxes of an absolute question have rivals of their own, and ask for them at once where eager.")
        .def(
            "advance",
            [](ForestSearch& search, std::int64_t budget, double cutoff, Shares* shares, bool sharp, double seconds) {
                require(shares == nullptr || &shares->located().grid() == &search.grid(),
                        "The shares must belong to the search's grid.");
                const ForestSearch::Slice slice = search.advance(budget, cutoff, {shares, sharp}, Deadline(seconds));
                return std::pair(slice.end == ForestSearch::End::candidate, slice.bound);
            },
            "budget"_a, "cutoff"_a, "shares"_a.none() = nb::none(), "sharp"_a = false, "seconds"_a = kInfinity,
            nb::call_guard<nb::gil_scoped_release>(),
            nb::keep_alive<1, 4>(),  // every thread learns from the shares, about cells that they know
            "Search on for so many boxes or seconds: whether the nearest candidate was reached, and the proved bound.")
        .def("answer", with_row(&ForestSearch::answer), "row"_array,
             "A plan that beats the alternative at the candidate: what each leaf adds to the criterion against it.")
        .def("meet", with_row(&ForestSearch::meet), "row"_array, "A plan that was met elsewhere.")
        .def("show_latest", &ForestSearch::show_latest, "count"_a, "Show the criterion the rivals met last.")
        .def_prop_ro("rivals_met", &ForestSearch::rivals_met)
        .def(
            "exclude",
            [](ForestSearch& search, Integers cells, bool all) { search.exclude(cells_of(search.grid(), cells), all); },
            "cells"_array, "all"_a = false,
            "Leave out the contexts with the same leaves as in this cell, in the trees of the criterion or in all.")
        .def_prop_ro("cells", as_array(&ForestSearch::cells))
        .def_prop_ro("bytes", &ForestSearch::bytes, "About how much memory boxes, plans met and the criterion take.")
        .def_prop_ro("examined", &ForestSearch::examined);
    nb::class_<Proposals>(m, "Proposals", "Good explanations found without proof.")
        .def(
            "__init__",
            [](Proposals* self, const Located& located, const Criterion& criterion, double tau, std::int64_t looks,
               double seconds, const Plausibility* plausible, const FewChanges* few) {
                new (self) Proposals(located, criterion, tau, looks, Deadline(seconds), plausible, few);
            },
            "located"_a, "criterion"_a, "tau"_a, "looks"_a, "seconds"_a = kInfinity, "plausible"_a.none() = nb::none(),
            "few"_a.none() = nb::none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 7>(),
            nb::keep_alive<1, 8>())
        .def_prop_rw("looks", &Proposals::looks, &Proposals::set_looks)
        .def_prop_rw("found", &Proposals::found, &Proposals::set_cutoff)
        .def_prop_rw("none_nearer", &Proposals::none_nearer, &Proposals::set_none_nearer)
        .def_prop_ro("best", as_array(&Proposals::best))
        .def_prop_ro("cells", as_array(&Proposals::cells))
        .def("try_lines", &Proposals::try_lines, nb::call_guard<nb::gil_scoped_release>())
        .def(
            "pull_back",
            [](Proposals& proposals, MatrixOf<std::int32_t> starts, std::int32_t improved) {
                require(starts.shape(1) == proposals.cells().size(), "'starts' must have one cell a column.");
                nb::gil_scoped_release released;
                proposals.pull_back(view(starts), improved);
            },
            "starts"_array, "improved"_a)
        .def(
            "exchange",
            [](Proposals& proposals, MatrixOf<std::int32_t> starts, std::int32_t improved, std::int32_t parts,
               std::int32_t looks) {
                require(starts.shape(1) == proposals.cells().size(), "'starts' must have one cell a column.");
                require(parts >= 1 && looks >= 1, "'parts' and 'looks' must be positive.");
                nb::gil_scoped_release released;
                proposals.exchange(view(starts), improved, {parts, looks});
            },
            "starts"_array, "improved"_a, "parts"_a, "looks"_a)
        .def("climb", &Proposals::climb, "cutoff"_a, nb::call_guard<nb::gil_scoped_release>())
        .def(
            "descend",
            [](Proposals& proposals, Integers cells) {
                require_sizes(proposals.cells().size(), cells, "cells");
                nb::gil_scoped_release released;
                return proposals.descend(view(cells));
            },
            "cells"_array);
}

}  // namespace

}  // namespace whence

void bind_forest(nanobind::module_& m) {
    whence::bind_grid(m);
    whence::bind_located(m);
    whence::bind_criteria(m);
    whence::bind_plan_sets(m);
    whence::bind_search(m);
}
