#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "base/numbers.hpp"
#include "bind/arrays.hpp"
#include "bind/bindings.hpp"
#include "bind/contexts.hpp"
#include "kernels/kernel_search.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace whence::kernels {

namespace {

using namespace arrays;

void make_search(KernelSearch* self, std::vector<Axis> axes, Measure measure, Shape shape, const Matrix& rows,
                 const Vector& factors, const Vector& base, const std::optional<Matrix>& entries, double least,
                 const Vector& alternative, double tau, std::optional<double> tail, const neighbours::Rules* rules,
                 std::optional<int> most, std::vector<std::vector<std::int32_t>> barred) {
    const std::size_t n = rows.shape(0);
    require(n >= 1 && rows.shape(1) == axes.size(), "'rows' must have a column for every axis, and a row.");
    require_sizes(axes.size(), factors, "factors");
    require_sizes(n, base, "base", alternative, "alternative");
    neighbours::require_entries(axes, entries, n);
    require_finite(rows, "rows", factors, "factors", base, "base", alternative, "alternative");
    require(measure != Measure::scores || shape == Shape::gaussian, "Scores are for a Gaussian kernel.");
    require(measure != Measure::squares || shape != Shape::gaussian, "A Gaussian kernel takes scores for squares.");
    require(least >= 0.0 && (least > 0.0) == (shape != Shape::gaussian),
            "'least' must be positive for a kernel that ends, and 0 otherwise.");
    require(!std::isnan(tau), "'tau' must be a number.");
    Observations past{measure,
                      Kernel(shape, measure != Measure::sums || shape == Shape::gaussian),
                      shape == Shape::gaussian,
                      copied(rows),
                      copied(factors),
                      copied(base),
                      copied(entries),
                      least};
    require(!tail || (*tail > 0.0 && *tail < 1.0), "'tail' must be a share.");
    neighbours::require_about(rules, axes);
    auto few = neighbours::few_of(axes.size(), most, std::move(barred));
    Space space{
        std::move(axes), copied(rows), copied(base), 1, 0.0, 0.0, 0.0, rules == nullptr ? neighbours::Rules() : *rules};
    new (self) KernelSearch(std::move(space), std::move(past), copied(alternative), tau, tail, std::move(few));
}

}  // namespace

}  // namespace whence::kernels

void bind_kernels(nb::module_& m) {
    using namespace whence::kernels;
    using namespace whence::arrays;
    nb::enum_<Shape>(m, "KernelShape")
        .value("GAUSSIAN", Shape::gaussian)
        .value("EPANECHNIKOV", Shape::epanechnikov)
        .value("BIWEIGHT", Shape::biweight)
        .value("TRICUBE", Shape::tricube);
    nb::enum_<Measure>(m, "KernelMeasure")
        .value("SCORES", Measure::scores)
        .value("SQUARES", Measure::squares)
        .value("SUMS", Measure::sums);

    whence::neighbours::bind_contexts<KernelSearch>(m, "KernelSearch")
        .def("__init__", &make_search, "axes"_a, "measure"_a, "shape"_a, "rows"_array, "factors"_array, "base"_array,
             "entries"_array.none(), "least"_a, "alternative"_array, "tau"_a, "tail"_a = nb::none(),
             "rules"_a.none() = nb::none(), "most"_a = nb::none(),
             "barred"_a = std::vector<std::vector<std::int32_t>>())
        .def(
            "advance",
            [](KernelSearch& self, std::int64_t boxes, double cutoff, double gap, double seconds) {
                require(gap >= 0.0 && gap < 1.0, "'gap' must be at least 0 and below 1.");
                const nb::gil_scoped_release release;
                return self.advance(boxes, cutoff, gap, whence::Deadline(seconds));
            },
            "boxes"_a, "cutoff"_a, "gap"_a, "seconds"_a = whence::kInfinity);
}
