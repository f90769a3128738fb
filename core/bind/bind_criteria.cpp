// The criteria of a forest search, and the sets of plans.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <cmath>
#include <numeric>

#include "bind/arrays.hpp"
#include "criteria/confident_mean.hpp"
#include "criteria/confident_tail.hpp"
#include "criteria/curve_criterion.hpp"
#include "criteria/linear_plans.hpp"
#include "criteria/plan_list.hpp"
#include "criteria/stock_criterion.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace whence {

namespace {

using namespace arrays;

// What the samples of a leaf count for: one number per sample, or None where all count alike.
using Mass = std::optional<Vector>;

void make_samples(LeafSamples* self, const Integers& samples, const Ints& first, const Ints& size, std::int32_t trees,
                  const Mass& mass) {
    require(first.size() == size.size(), "'first' and 'size' must hold one number a leaf.");
    const auto count = static_cast<std::int64_t>(samples.size());
    for (std::size_t i = 0; i < first.size(); ++i)
        require(first(i) >= 0 && size(i) >= 1 && size(i) <= count && first(i) <= count - size(i),
                "Every leaf must have samples.");
    require(trees > 0, "'trees' must be positive.");
    LeafSamples found{view(samples), view(first), view(size), trees};
    if (mass) {
        for (const double one : view(*mass))
            require(one >= 0.0 && std::isfinite(one), "'mass' must hold numbers of at least 0.");
        require_below(samples, mass->size(), "'mass' must hold one number a sample.");
        found.mass = view(*mass);
        for (std::size_t i = 0; i < first.size(); ++i)
            require(found.total(static_cast<std::int32_t>(i)) > 0.0, "Every leaf must have samples that count.");
    }
    new (self) LeafSamples(found);
}

// The CVaR of a plan where trees have these leaves, one row of them a context, from what it costs in every sample.
auto tail_means(const LeafSamples& samples, const MatrixOf<std::int32_t>& leaves, const Vector& costs, double tail) {
    require(tail > 0.0 && tail <= 1.0, "'tail' must be in (0, 1].");
    require_below(leaves, samples.size.size(), "'leaves' must be those of the samples.");
    require_below(samples.samples, costs.size(), "'costs' must hold one number a sample.");
    std::vector<double> found(leaves.shape(0));
    {
        nb::gil_scoped_release released;
        std::vector<double> share(samples.size.size(), 0.0), weight(costs.size(), 0.0), values, weights;
        std::vector<std::int32_t> met;
        std::vector<std::size_t> order;
        for (std::size_t c = 0; c < leaves.shape(0); ++c) {
            met.clear();
            for (std::size_t t = 0; t < leaves.shape(1); ++t) {
                const std::int32_t leaf = leaves(c, t);
                if (share[leaf] == 0.0) share[leaf] = 1.0 / (samples.total(leaf) * samples.trees);
                for (const std::int32_t i : samples.of(leaf)) {
                    if (weight[i] == 0.0) met.push_back(i);
                    weight[i] += samples.mass_of(i) * share[leaf];
                }
            }
            values.clear();
            weights.clear();
            for (const std::int32_t i : met) {
                values.push_back(costs.data()[i]);
                weights.push_back(weight[i]);
                weight[i] = 0.0;
            }
            found[c] = worst_share(values, weights, tail, order).value;
        }
    }
    return to_numpy(found.data(), found.size());
}

void require_tail(double tail) { require(tail > 0.0 && tail <= 1.0, "'tail' must be in (0, 1]."); }

template <class Confident>
void with_kappa(Confident* self, std::int32_t leaves, double kappa) {
    steepness(kappa, 2);  // which refuses it
    new (self) Confident(leaves, kappa);
}

void bind_costs(nb::module_& m) {
    nb::class_<LeafSamples>(m, "LeafSamples")
        .def("__init__", &make_samples, "samples"_array, "first"_array, "size"_array, "trees"_a,
             "mass"_array = nb::none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
             nb::keep_alive<1, 6>())
        .def("tail_means", &tail_means, "leaves"_array, "costs"_array, "tail"_a);
    nb::class_<Criterion::Excess>(m, "Excess")
        .def_ro("over", &Criterion::Excess::over)
        .def_ro("worst", &Criterion::Excess::worst);
    nb::class_<Criterion>(m, "Criterion")
        .def_prop_ro("rivals", &Criterion::rivals)
        .def(
            "excess",
            [](const Criterion& criterion, Integers leaves) {
                require(criterion.rivals() > 0, "There must be a rival.");
                require_below(leaves, criterion.leaves(), "'leaves' must be those of the grid.");
                std::vector<std::int32_t> levels(criterion.rivals());
                return criterion.excess(view(leaves), {0, criterion.etas() - 1}, levels);
            },
            "leaves"_array);
    nb::class_<MeanCriterion, Criterion>(m, "MeanCriterion")
        .def(nb::init<std::int32_t>(), "leaves"_a)
        .def(
            "add_rival",
            [](MeanCriterion& criterion, Vector means) {
                require_finite(means, "means");
                criterion.add_rival(copied(means));
            },
            "means"_array);
    nb::class_<ConfidentMeanCriterion, MeanCriterion>(m, "ConfidentMeanCriterion")
        .def("__init__", &with_kappa<ConfidentMeanCriterion>, "leaves"_a, "kappa"_a);
    nb::class_<CurveCriterion, MeanCriterion>(m, "CurveCriterion")
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
            "first"_array, "at"_array, "value"_array, "slopes"_array);
    nb::class_<MeanBreach, MeanCriterion>(m, "MeanBreach")
        .def("__init__", &with_kappa<MeanBreach>, "leaves"_a, "kappa"_a);
    nb::class_<TailCriterion, Criterion>(m, "TailCriterion", "CVaR.")
        .def(
            "__init__",
            [](TailCriterion* self, const LeafSamples& samples, double tail) {
                require_tail(tail);
                new (self) TailCriterion(samples, tail);
            },
            "samples"_a, "tail"_a, nb::keep_alive<1, 2>())
        .def(
            "add_plan",
            [](TailCriterion& criterion, Vector etas, Integers rank, bool kept) {
                require_finite(etas, "etas");
                criterion.add_plan(copied(etas), copied(rank), kept);
            },
            "etas"_array, "rank"_array, "kept"_a)
        .def("share_plan", &TailCriterion::share_plan, "other"_a, "plan"_a, nb::keep_alive<1, 2>())
        .def_prop_ro("all_etas", &TailCriterion::all_etas);
    nb::class_<ConfidentTailCriterion, TailCriterion>(m, "ConfidentTailCriterion")
        .def(nb::init<const TailCriterion&, double>(), "plain"_a, "kappa"_a, nb::keep_alive<1, 2>());
    nb::class_<TailBreach, TailCriterion>(m, "TailBreach")
        .def(
            "__init__",
            [](TailBreach* self, const LeafSamples& samples, double tail, double kappa) {
                require_tail(tail);
                new (self) TailBreach(samples, tail, kappa);
            },
            "samples"_a, "tail"_a, "kappa"_a, nb::keep_alive<1, 2>());
}

// What each leaf says about a plan under every threshold eta, for leaves that are alive.
TailTable table_of(const PlanList& list, const LeafSamples& samples, double tail, const Vector& etas,
                   const Integers& rank, const Integers& alive) {
    require_tail(tail);
    require_sizes(static_cast<std::size_t>(list.leaves()), samples.first, "first");
    for (std::size_t i = 0; i < alive.size(); ++i)
        require(alive(i) >= 0 && alive(i) < list.leaves() && (i == 0 || alive(i - 1) < alive(i)),
                "'alive' must be leaves in their order.");
    require(etas.size() > 0, "'etas' must not be empty.");
    require_finite(etas, "etas");
    require_below(rank, etas.size(), "'rank' must be about the etas.");
    require_below(samples.samples, rank.size(), "'rank' must hold one number a sample.");
    return TailTable(samples, copied(etas), copied(rank), tail, false);
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

void make_network(Network* self, const MatrixOf<std::int32_t>& arcs, int nodes, int source, int target) {
    const auto is_node = [&](std::int32_t node) { return node >= 0 && node < nodes; };
    require(arcs.shape(1) == 3, "'arcs' must have tail, edge and head.");
    require(is_node(source) && is_node(target), "Source and target must be nodes.");
    std::vector<Arc> each;
    for (std::size_t a = 0; a < arcs.shape(0); ++a) {
        each.push_back({arcs(a, 0), arcs(a, 1), arcs(a, 2)});
        require(is_node(arcs(a, 0)) && is_node(arcs(a, 2)) && arcs(a, 1) >= 0, "'arcs' must be about the nodes.");
    }
    new (self) Network(each, nodes, source, target);
}

void bind_plan_sets(nb::module_& m) {
    nb::class_<PlanList, Criterion>(m, "PlanList")
        .def(nb::init<std::int32_t>(), "leaves"_a)
        .def("add_plans", add_rows(&PlanList::add_plan), "rows"_array)
        .def("add_rivals", add_rows(&PlanList::add_rival), "rows"_array)
        .def("limit_memory", &PlanList::limit_memory, "bytes"_a)
        .def(
            "add_tail_rival",
            [](PlanList& list, const Grid& grid, const LeafSamples& samples, double tail, Vector etas, Integers rank,
               Integers alive) {
                list.add_tail_rival(table_of(list, samples, tail, etas, rank, alive), grid, view(alive));
            },
            "grid"_a, "samples"_a, "tail"_a, "etas"_array, "rank"_array, "alive"_array)
        .def(
            "add_tail_plan",
            [](PlanList& list, const Grid& grid, const LeafSamples& samples, double tail, Vector etas, Integers rank,
               Integers alive, double tau) {
                const TailTable table = table_of(list, samples, tail, etas, rank, alive);
                nb::gil_scoped_release released;
                list.add_tail_plan(table, grid, view(alive), tau);
            },
            "grid"_a, "samples"_a, "tail"_a, "etas"_array, "rank"_array, "alive"_array, "tau"_a)
        .def(
            "set_routes",
            [](PlanList& list, const RouteTable& routes, const RouteTable* all) {
                list.set_routes(std::make_shared<const RouteTable>(routes),
                                all == nullptr ? nullptr : std::make_shared<const RouteTable>(*all));
            },
            "routes"_a, "all"_a.none() = nb::none())
        .def(
            "best_at",
            [](const PlanList& list, MatrixOf<std::int32_t> leaves) {
                require_below(leaves, list.leaves(), "'leaves' must be those of the list.");
                return list.best_at(view(leaves), std::max<std::size_t>(1, leaves.shape(1)));
            },
            "leaves"_array)
        .def_prop_ro("edges", &PlanList::edges)
        .def_prop_ro("many", &PlanList::many)
        .def_prop_ro("plans", &PlanList::plans)
        .def_prop_ro("rival_rows", &PlanList::rival_rows);
    nb::class_<Network>(m, "Network").def("__init__", &make_network, "arcs"_array, "nodes"_a, "source"_a, "target"_a);
    nb::class_<RouteTable>(m, "RouteTable")
        .def(
            "__init__",
            [](RouteTable* self, Matrix costs, const LeafSamples& samples, Vector divisor, const Network& network) {
                require(network.edges() <= static_cast<std::int64_t>(costs.shape(1)),
                        "'costs' must have one column an edge.");
                require_sizes(samples.first.size(), divisor, "divisor");
                require_below(samples.samples, costs.shape(0), "'costs' must have one row a sample.");
                new (self) RouteTable({costs.data(), costs.shape(1), samples, view(divisor)}, network);
            },
            "costs"_array, "samples"_a, "divisor"_array, "network"_a);
    nb::class_<StockTable>(m, "StockTable")
        .def(
            "__init__",
            [](StockTable* self, const LeafSamples& leaves, Matrix demand, Vector holding, Vector backorder,
               Vector lower, Vector upper, std::optional<Integers> alive, std::optional<Integers> tree, double dearest,
               double seconds) {
                require(dearest >= 0.0, "'dearest' must not be negative.");
                const std::size_t count = leaves.first.size();
                require_below(leaves.samples, demand.shape(0), "'demand' must have one row a sample.");
                const std::size_t products = demand.shape(1);
                require(products > 0, "There must be a product.");
                require_sizes(products, holding, "holding", backorder, "backorder", lower, "lower", upper, "upper");
                require(alive.has_value() == tree.has_value(), "'alive' and 'tree' go together.");
                std::vector<std::int32_t> all(count);
                std::iota(all.begin(), all.end(), 0);
                StockTable::Alive given{all, {}};
                if (alive) {
                    require_sizes(alive->size(), *tree, "tree");
                    for (std::size_t i = 0; i < alive->size(); ++i) {
                        const std::int32_t leaf = (*alive)(i), own = (*tree)(i);
                        require(
                            leaf >= 0 && static_cast<std::size_t>(leaf) < count && (i == 0 || (*alive)(i - 1) < leaf),
                            "'alive' must be leaves in their order.");
                        require(own >= 0 && own < leaves.trees && (i == 0 || (*tree)(i - 1) <= own),
                                "'tree' must be the trees of the leaves in their order.");
                    }
                    given = {view(*alive), view(*tree)};
                }
                nb::gil_scoped_release released;
                new (self) StockTable(leaves, {view(demand), view(holding), view(backorder), view(lower), view(upper)},
                                      leaves.trees, given, dearest, Deadline(seconds));
            },
            "samples"_a, "demand"_array, "holding"_array, "backorder"_array, "lower"_array, "upper"_array,
            "alive"_a.none() = nb::none(), "tree"_a.none() = nb::none(), "dearest"_a = 0.0, "seconds"_a = kInfinity)
        .def_prop_ro("whole", &StockTable::whole)
        .def_prop_ro("points", as_array(&StockTable::points))
        .def_prop_ro("breakpoints", &StockTable::breakpoints);
    nb::class_<StockCriterion, MeanCriterion>(m, "StockCriterion")
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
    nb::class_<LinearPlans, Criterion>(m, "LinearPlans")
        .def(
            "__init__",
            [](LinearPlans* self, const LeafSamples& samples, Matrix costs, Matrix corners, std::optional<Matrix> all,
               double factor, double allowance, Vector decision, double tail) {
                require_tail(tail);
                require(costs.shape(1) > 0 && corners.shape(1) == costs.shape(1) &&
                            (!all || all->shape(1) == costs.shape(1)),
                        "Corners must have a number for every column of 'costs'.");
                require(corners.shape(0) > 0 && (!all || all->shape(0) > 0), "There must be a corner.");
                require_finite(costs, "costs", corners, "corners", decision, "decision");
                if (all) require_finite(*all, "all");
                require(factor > 0.0 && std::isfinite(factor), "'factor' must be positive.");
                require(std::isfinite(allowance), "'allowance' must be finite.");
                LinearPlans::Sets sets{copied(corners), {}, factor, allowance};
                if (all) sets.all = copied(*all);
                new (self)
                    LinearPlans(samples, {copied(costs), costs.shape(1)}, std::move(sets), copied(decision), tail);
            },
            "samples"_a, "costs"_array, "corners"_array, "all"_array.none(), "factor"_a, "allowance"_a,
            "decision"_array, "tail"_a, nb::keep_alive<1, 2>())
        .def_prop_ro("numbers", &LinearPlans::numbers);
}

}  // namespace

}  // namespace whence

void bind_criteria(nanobind::module_& m) {
    whence::bind_costs(m);
    whence::bind_plan_sets(m);
}
