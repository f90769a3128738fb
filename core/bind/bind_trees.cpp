// Trees that are grown or descended, and the plans of the shipment problem, at the border to Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>

#include "bind/arrays.hpp"
#include "forest/descent.hpp"
#include "growing/least_costs.hpp"
#include "growing/tree_grower.hpp"
#include "problems/shipment.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace whence {

namespace {

using namespace arrays;
using Bools = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WritableInts = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void check_rows(const Matrix& matrix, const char* name) {
    require(matrix.size() > 0, "The '" + std::string(name) + "' array must not be empty.");
    require_finite(matrix, name);
}

StockCosts* stock_costs(const Matrix& demands, const Vector& holding, const Vector& backorder,
                        const Vector& multipliers, double budget) {
    check_rows(demands, "demands");
    require_sizes(demands.shape(1), holding, "holding", backorder, "backorder");
    for (std::size_t j = 0; j < holding.size(); ++j) {
        const double h = holding.data()[j], b = backorder.data()[j];
        require(std::isfinite(h + b) && h >= 0.0 && b >= 0.0 && h + b > 0.0,
                "'holding' and 'backorder' must be finite, at least 0 and not both 0.");
    }
    require(multipliers.size() > 0, "'multipliers' must not be empty.");
    require_finite(multipliers, "multipliers");
    require(std::isfinite(budget), "'budget' must be finite.");
    return new StockCosts(copied(demands), copied(holding), copied(backorder), {budget, copied(multipliers)});
}

RouteCosts* route_costs(const Matrix& costs, const Network& network) {
    check_rows(costs, "costs");
    require(network.edges() <= static_cast<std::int64_t>(costs.shape(1)), "'costs' must have one column an edge.");
    return new RouteCosts(view(costs), costs.shape(1), network);
}

PlanCosts* plan_costs(const Matrix& values) {
    check_rows(values, "values");
    return new PlanCosts(copied(values), values.shape(1));
}

// The least costs of both sides of every cut, for tests.
auto of_cuts(const LeastCosts& least, const Ints& rows, const Vector& weights, const Ints& cuts) {
    require_sizes(rows.size(), weights, "weights");
    std::vector<int> order, places;
    for (const std::int64_t row : view(rows)) {
        require(row >= 0 && row < static_cast<std::int64_t>(least.rows()), "'rows' must be rows of the history.");
        order.push_back(static_cast<int>(row));
    }
    for (const std::int64_t cut : view(cuts)) {
        require(cut >= (places.empty() ? 0 : places.back()) && cut <= static_cast<std::int64_t>(rows.size()),
                "'cuts' must ascend and lie within the rows.");
        places.push_back(static_cast<int>(cut));
    }
    std::vector<double> costs(places.size());
    least.gather()->of_cuts(order, view(weights), places, costs);
    return to_numpy(costs);
}

void make_grower(TreeGrower* self, const MatrixOf<float>& contexts, const LeastCosts& least, const Matrix& outcomes,
                 int max_depth, int min_leaf, int tried, bool by_outcomes, bool missing) {
    require(contexts.size() > 0, "'contexts' must not be empty.");
    if (!missing) require_finite(contexts, "contexts");
    require(std::ranges::none_of(view(contexts), [](float x) { return std::isinf(x); }),
            "'contexts' must not be infinite.");
    check_rows(outcomes, "outcomes");
    require(contexts.shape(0) == least.rows() && outcomes.shape(0) == least.rows(),
            "'contexts', 'least' and 'outcomes' must have as many rows.");
    require(max_depth >= 0 && min_leaf >= 1 && tried >= 1, "'max_depth' must be at least 0, the other limits 1.");
    new (self) TreeGrower(view(contexts), contexts.shape(1), least, copied(outcomes),
                          {max_depth, min_leaf, tried, by_outcomes});
}

nb::tuple grow(const TreeGrower& grower, const Vector& count, const std::optional<Bools>& counted, std::uint64_t seed) {
    require_sizes(grower.rows(), count, "count");
    if (counted) require_sizes(grower.rows(), *counted, "counted");
    require(std::ranges::any_of(view(count), [](double c) { return c > 0.0; }), "'count' must not be all 0.");
    require_finite(count, "count");
    GrownTree tree;
    {
        const nb::gil_scoped_release release;
        tree = grower.grow(view(count), counted ? view(*counted) : std::span<const bool>{}, seed);
    }
    return nb::make_tuple(to_numpy(tree.feature), to_numpy(tree.threshold), to_numpy(tree.left), to_numpy(tree.right),
                          to_numpy(tree.missing_left));
}

// The leaf of every row of a tree that sends to the left what is at most the threshold; where what is missing goes, it
// says itself.
void leaves(const Ints& feature, const Vector& threshold, const Ints& left, const Ints& right, const Ints& missing_left,
            const Matrix& rows, const WritableInts& found) {
    const auto nodes = static_cast<std::int64_t>(feature.size());
    const auto columns = static_cast<std::int64_t>(rows.shape(1));
    require(nodes > 0, "'feature' must not be empty.");
    require_sizes(feature.size(), threshold, "threshold", left, "left", right, "right", missing_left, "missing_left");
    require_sizes(rows.shape(0), found, "found");
    for (std::int64_t node = 0; node < nodes; ++node) {
        if (feature.data()[node] < 0) continue;
        // Children come after their parents, so that every way ends.
        for (const std::int64_t child : {left.data()[node], right.data()[node]}) {
            require(child > node && child < nodes, "Children must be nodes behind their parent.");
        }
        require(feature.data()[node] < columns, "'feature' must be columns of 'rows'.");
    }
    for (std::size_t i = 0; i < rows.shape(0); ++i) {
        std::int64_t at = 0;
        while (feature.data()[at] >= 0) {
            const double value = rows.data()[i * columns + feature.data()[at]];
            const bool to_left = std::isnan(value) ? missing_left.data()[at] != 0 : value <= threshold.data()[at];
            at = to_left ? left.data()[at] : right.data()[at];
        }
        found.data()[i] = at;
    }
}

using Floats32 = VectorOf<float>;
using Orders = std::vector<MatrixOf<std::int32_t>>;

// The largest float that is not above a number: contexts are floats, which are at most the one where they are at most
// the other.
float single_below(double number) {
    const auto near = static_cast<float>(number);
    return static_cast<double>(near) > number ? std::nextafter(near, -std::numeric_limits<float>::infinity()) : near;
}

void make_descent(Descent* self, const Ints& column, const Vector& threshold, const Ints& left, const Ints& right,
                  const Ints& missing_left, const Ints& roots, const Ints& first, const Ints& size,
                  const Orders& orders) {
    const auto nodes = static_cast<std::int64_t>(column.size());
    require(nodes <= std::numeric_limits<std::int32_t>::max(), "There must be fewer than 2**31 nodes.");
    for (const auto& order : orders)
        require(order.size() <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()),
                "A forest must have fewer than 2**31 samples in all its trees.");
    require_sizes(column.size(), threshold, "threshold", left, "left", right, "right", missing_left, "missing_left",
                  first, "first", size, "size");
    require(!orders.empty(), "'orders' must not be empty.");
    const std::size_t samples = orders.front().shape(1);
    std::vector<Descent::Forest> forests;
    std::vector<bool> is_child(column.size());
    std::size_t tree = 0;
    for (const auto& order : orders) {
        require(order.shape(1) == samples, "All forests must have the same samples.");
        for (const std::int32_t sample : view(order))
            require(sample >= 0 && static_cast<std::size_t>(sample) < samples, "'orders' must name samples.");
        for (std::size_t own = 0; own < order.shape(0); ++own, ++tree) {
            require(tree < roots.size(), "'roots' must have a node of every tree.");
            const std::int64_t begin = roots.data()[tree];
            const std::int64_t end = tree + 1 < roots.size() ? roots.data()[tree + 1] : nodes;
            require(begin >= 0 && begin < end && end <= nodes, "'roots' must be nodes, and ascend.");
            for (std::int64_t node = begin; node < end; ++node) {
                if (column.data()[node] >= 0) {
                    // Every node but the root has one parent, so that every way from the root ends.
                    for (const std::int64_t child : {left.data()[node], right.data()[node]}) {
                        require(child > begin && child < end && !is_child[child],
                                "Children must be nodes of their tree, each of one parent.");
                        is_child[child] = true;
                    }
                } else {
                    const std::int64_t from = first.data()[node], count = size.data()[node];
                    require(from >= 0 && count >= 0 && from + count <= static_cast<std::int64_t>(order.size()),
                            "'first' and 'size' must say where the samples of a leaf stand.");
                }
            }
        }
        forests.push_back({static_cast<std::int64_t>(order.shape(0)), view(order)});
    }
    require(tree == roots.size(), "'roots' must have a node of every tree.");
    std::vector<Descent::Node> all;
    all.reserve(column.size());
    for (std::size_t i = 0; i < column.size(); ++i) {
        const bool leaf = column.data()[i] < 0;
        all.push_back({single_below(threshold.data()[i]),
                       static_cast<std::int32_t>(leaf ? first.data()[i] : left.data()[i]),
                       static_cast<std::int32_t>(leaf ? size.data()[i] : right.data()[i]),
                       leaf ? -1 : static_cast<std::int32_t>(column.data()[i]), missing_left.data()[i] != 0});
    }
    new (self) Descent(std::move(all), copied(roots), std::move(forests), samples);
}

void check_row(const Descent& descent, const Floats32& row) {
    require(row.size() >= descent.columns(), "'row' must have all columns of the trees.");
}

auto leaves_at(const Descent& descent, const Floats32& row) {
    check_row(descent, row);
    std::vector<std::int32_t> found(descent.trees());
    descent.leaves(view(row), found);
    const std::vector<std::int64_t> wide(found.begin(), found.end());
    return to_numpy(wide.data(), wide.size());
}

auto weights_at(const Descent& descent, const Floats32& row) {
    check_row(descent, row);
    std::vector<double> found(descent.forests() * descent.samples());
    descent.add_weights(view(row), found);
    return to_numpy_rows(found, descent.samples());
}

// ---- the shipment problem ------------------------------------------------------------------------------------------

using shipment::CuttingPlanes;

// The method looks at every set of warehouses.
constexpr std::size_t kMostWarehouses = 16;

shipment::Network network(const Matrix& ship, double spot) {
    require(ship.size() > 0, "'ship' must not be empty.");
    require(ship.shape(0) <= kMostWarehouses, "'ship' must have at most 16 rows, one a warehouse.");
    require_finite(ship, "ship");
    require(std::isfinite(spot) && spot >= 0.0, "'spot' must be finite and at least 0.");
    return {view(ship), static_cast<int>(ship.shape(0)), static_cast<int>(ship.shape(1)), spot};
}

void check_demands(const Matrix& ship, const Matrix& demands) {
    require(demands.shape(1) == ship.shape(1), "'demands' must have a column for every location of 'ship'.");
    require_finite(demands, "demands");
}

void best_recourse(const Matrix& ship, double spot, const Vector& plan, const Matrix& demands,
                   const WritableVector& costs) {
    const shipment::Network net = network(ship, spot);
    require_sizes(ship.shape(0), plan, "plan");
    require_finite(plan, "plan");
    check_demands(ship, demands);
    require_sizes(demands.shape(0), costs, "costs");
    const nb::gil_scoped_release release;
    shipment::best_recourse(net, view(plan), view(demands), view(costs));
}

std::optional<int> cutting_planes(const Matrix& ship, double spot, double production, const Matrix& demands,
                                  const Vector& weights, double tail, int most_cuts, const WritableVector& plan) {
    const shipment::Network net = network(ship, spot);
    check_demands(ship, demands);
    require_sizes(demands.shape(0), weights, "weights");
    require_finite(weights, "weights");
    require_sizes(ship.shape(0), plan, "plan");
    require_finite(plan, "plan");
    require(std::isfinite(production) && production >= 0.0, "'production' must be finite and at least 0.");
    require(tail > 0.0, "'tail' must be positive.");
    require(most_cuts >= 0, "'most_cuts' must be at least 0.");
    const nb::gil_scoped_release release;
    return CuttingPlanes(net, production, view(demands), view(weights), tail, most_cuts).solve(view(plan));
}

}  // namespace

}  // namespace whence

void bind_trees(nb::module_& m) {
    using namespace whence;
    using namespace whence::arrays;
    nb::class_<LeastCosts>(m, "LeastCosts").def("of_cuts", &of_cuts, "rows"_array, "weights"_array, "cuts"_array);
    nb::class_<StockCosts, LeastCosts>(m, "StockCosts")
        .def(nb::new_(&stock_costs), "demands"_array, "holding"_array, "backorder"_array, "multipliers"_array,
             "budget"_a);
    nb::class_<RouteCosts, LeastCosts>(m, "RouteCosts").def(nb::new_(&route_costs), "costs"_array, "network"_a);
    nb::class_<PlanCosts, LeastCosts>(m, "PlanCosts").def(nb::new_(&plan_costs), "values"_array);
    nb::class_<TreeGrower>(m, "TreeGrower")
        .def("__init__", &make_grower, "contexts"_array, "least"_a, "outcomes"_array, "max_depth"_a, "min_leaf"_a,
             "tried"_a, "by_outcomes"_a, "missing"_a = false, nb::keep_alive<1, 3>())
        .def("grow", &grow, "count"_array, "counted"_array.none(), "seed"_a);
    nb::class_<Descent>(m, "Descent")
        .def("__init__", &make_descent, "column"_array, "threshold"_array, "left"_array, "right"_array,
             "missing_left"_array, "roots"_array, "first"_array, "size"_array, "orders"_array, nb::keep_alive<1, 10>())
        .def("leaves", &leaves_at, "row"_array)
        .def("weights", &weights_at, "row"_array);
    m.def("leaves", &leaves, "feature"_array, "threshold"_array, "left"_array, "right"_array, "missing_left"_array,
          "rows"_array, "found"_array);
    m.def("best_recourse", &best_recourse, "ship"_array, "spot"_a, "plan"_array, "demands"_array, "costs"_array);
    m.def("cutting_planes", &cutting_planes, "ship"_array, "spot"_a, "production"_a, "demands"_array, "weights"_array,
          "tail"_a, "most_cuts"_a, "plan"_array);
}
