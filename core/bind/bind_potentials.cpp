// The bound by potentials, and the search that takes it.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "base/numbers.hpp"
#include "bind/arrays.hpp"
#include "bind/bindings.hpp"
#include "bounds/potential_search.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace whence {

namespace {

using namespace arrays;

void bind_bound(nb::module_& m) {
    nb::class_<Stretches>(m, "Stretches", "The stretches of cells that each tree tells apart in each column.")
        .def(nb::init<const Grid&>(), "grid"_a, nb::keep_alive<1, 2>())
        .def_prop_ro("count", &Stretches::count)
        .def_prop_ro(
            "rows",
            [](const Stretches& stretches) {
                std::vector<std::int32_t> rows;
                for (std::int32_t s = 0; s < stretches.slots(); ++s) {
                    const auto& slot = stretches.slot(s);
                    for (std::int32_t i = slot.first; i <= slot.last; ++i)
                        rows.insert(rows.end(), {slot.tree, slot.column, stretches.begin(i), stretches.end(i)});
                }
                return nb::cast(to_numpy_rows(rows, 4));
            },
            "Of each stretch its tree, its column, and its first and last cell.");
    nb::class_<Potentials>(m, "Potentials", "A bound on the distance over a box, for one plan.")
        .def(nb::init<const Stretches&, const Located&>(), "stretches"_a, "located"_a, nb::keep_alive<1, 2>(),
             nb::keep_alive<1, 3>())
        .def(
            "turn_to",
            [](Potentials& potentials, const Box& box, const Reach& reach, Vector worth, double tau) {
                require(&box.located() == &potentials.located() && &reach.located() == &potentials.located(),
                        "All must belong to the same question.");
                require_sizes(static_cast<std::size_t>(box.located().grid().leaves()), worth, "worth");
                return potentials.turn_to(box, reach, worth.data(), tau);
            },
            "box"_a, "reach"_a, "worth"_array, "tau"_a, "False where no context of the box counts.")
        .def("count_distance", &Potentials::count_distance, "counts"_a,
             "Whether the bound is one on the distance, or on the worth beyond tau times the multiplier.")
        .def(
            "begin_with", [](Potentials& potentials, double multiplier) { potentials.begin_with({}, multiplier); },
            "multiplier"_a)
        .def("sweep", &Potentials::sweep, "forward"_a)
        .def("evaluate", &Potentials::evaluate, "width"_a)
        .def("search_multiplier", &Potentials::search_multiplier, "width"_a, "factor"_a, "most"_a)
        .def("adjust", &Potentials::adjust, "share"_a)
        .def("drop_dear", &Potentials::drop_dear, "room"_a)
        .def("narrow", &Potentials::narrow, "box"_a, "reach"_a)
        .def_prop_ro("bound", &Potentials::bound)
        .def_prop_ro("multiplier", &Potentials::multiplier)
        .def_prop_ro("potentials", [](const Potentials& potentials) {
            const auto& own = potentials.potentials();
            return nb::cast(to_numpy(std::vector<double>(own.begin(), own.end())));
        });
}

}  // namespace

}  // namespace whence

void bind_potentials(nb::module_& m) {
    using namespace whence;
    using namespace whence::arrays;
    bind_bound(m);
    nb::class_<PotentialSearch>(m, "PotentialSearch", "Best-first search for a few plans, each by itself.")
        .def(
            "__init__",
            [](PotentialSearch* self, const Located& located, Matrix worth, double tau, double proved) {
                require_finite(worth, "worth");
                std::vector<std::vector<double>> rows;
                for (std::size_t z = 0; z < worth.shape(0); ++z)
                    rows.emplace_back(worth.data() + z * worth.shape(1), worth.data() + (z + 1) * worth.shape(1));
                new (self) PotentialSearch(located, std::move(rows), tau, proved);
            },
            "located"_a, "worth"_array, "tau"_a, "proved"_a = 0.0, nb::keep_alive<1, 2>())
        .def(
            "advance",
            [](PotentialSearch& search, std::int64_t budget, double cutoff, double seconds) {
                const auto slice = search.advance(budget, cutoff, Deadline(seconds));
                return std::pair(slice.proved, slice.bound);
            },
            "budget"_a, "cutoff"_a, "seconds"_a = kInfinity, nb::call_guard<nb::gil_scoped_release>(),
            "Search on for so many boxes or seconds: whether what was found is proved nearest, and the proved bound.")
        .def_prop_ro("cells",
                     [](const PotentialSearch& search) {
                         return nb::cast(to_numpy(search.cells().data(), search.cells().size()));
                     })
        .def_prop_ro("distance", &PotentialSearch::distance)
        .def_prop_ro("bytes", &PotentialSearch::bytes, "About how much memory the boxes take.")
        .def_prop_ro("examined", &PotentialSearch::examined);
}
