#include <nanobind/stl/optional.h>

#include "bind/arrays.hpp"
#include "bind/bindings.hpp"
#include "problems/shipment.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace whence {

namespace {

using namespace arrays;
using shipment::CuttingPlanes;
using shipment::Network;

// The method looks at every set of warehouses.
constexpr std::size_t kMostWarehouses = 16;

Network network(const Matrix& ship, double spot) {
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
    const Network net = network(ship, spot);
    require_sizes(ship.shape(0), plan, "plan");
    require_finite(plan, "plan");
    check_demands(ship, demands);
    require_sizes(demands.shape(0), costs, "costs");
    const nb::gil_scoped_release release;
    shipment::best_recourse(net, view(plan), view(demands), view(costs));
}

std::optional<int> cutting_planes(const Matrix& ship, double spot, double production, const Matrix& demands,
                                  const Vector& weights, double tail, int most_cuts, const WritableVector& plan) {
    const Network net = network(ship, spot);
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

void bind_shipment(nb::module_& m) {
    using namespace whence::arrays;
    m.def("best_recourse", &whence::best_recourse, "ship"_array, "spot"_a, "plan"_array, "demands"_array,
          "costs"_array);
    m.def("cutting_planes", &whence::cutting_planes, "ship"_array, "spot"_a, "production"_a, "demands"_array,
          "weights"_array, "tail"_a, "most_cuts"_a, "plan"_array);
}
