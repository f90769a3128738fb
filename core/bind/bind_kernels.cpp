#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <numeric>
#include <optional>

#include "base/numbers.hpp"
#include "bind/arrays.hpp"
#include "bind/bindings.hpp"
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
    std::size_t ranks = 0;
    for (const Axis& axis : axes) ranks += axis.kind == Kind::category ? axis.costs.size() : 0;
    require(n >= 1 && rows.shape(1) == axes.size(), "'rows' must have a column for every axis, and a row.");
    require_size(factors, axes.size(), "factors");
    require_size(base, n, "base");
    require_size(alternative, n, "alternative");
    require((entries ? entries->shape(1) : 0) == ranks && (!entries || entries->shape(0) == n),
            "'entries' must have a row for every point and a column for every category.");
    require_finite(rows, "rows");
    require_finite(factors, "factors");
    require_finite(base, "base");
    require_finite(alternative, "alternative");
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
                      entries ? copied(*entries) : std::vector<double>(),
                      least};
    require(!tail || (*tail > 0.0 && *tail < 1.0), "'tail' must be a share.");
    require(rules == nullptr || rules->last_axis() < static_cast<int>(axes.size()), "'rules' must be about the axes.");
    std::unique_ptr<const FewChanges> few;
    if (most) {
        std::vector<std::int32_t> feature(axes.size());
        std::iota(feature.begin(), feature.end(), 0);
        few = std::make_unique<const FewChanges>(std::move(feature), *most, std::move(barred));
    }
    Space space{
        std::move(axes), copied(rows), copied(base), 1, 0.0, 0.0, 0.0, rules == nullptr ? neighbours::Rules() : *rules};
    new (self) KernelSearch(std::move(space), std::move(past), copied(alternative), tau, tail, std::move(few));
}

void cut(KernelSearch& self, const Vector& rival) {
    require_size(rival, self.space().base.size(), "rival");
    require_finite(rival, "rival");
    self.cut(copied(rival));
}

auto standing(KernelSearch& self, const Matrix& contexts) {
    const std::size_t rows = contexts.shape(0), q = contexts.shape(1);
    require(q == self.space().axes.size(), "'contexts' must have a column for every axis.");
    const auto stands = std::make_unique<bool[]>(rows);
    {
        const nb::gil_scoped_release release;
        for (std::size_t row = 0; row < rows; ++row) stands[row] = self.stands(view(contexts).subspan(row * q, q));
    }
    return to_numpy(stands.get(), rows);
}

}  // namespace

}  // namespace whence::kernels

void bind_kernels(nb::module_& m) {
    using namespace whence::kernels;
    nb::enum_<Shape>(m, "KernelShape")
        .value("GAUSSIAN", Shape::gaussian)
        .value("EPANECHNIKOV", Shape::epanechnikov)
        .value("BIWEIGHT", Shape::biweight)
        .value("TRICUBE", Shape::tricube);
    nb::enum_<Measure>(m, "KernelMeasure")
        .value("SCORES", Measure::scores)
        .value("SQUARES", Measure::squares)
        .value("SUMS", Measure::sums);

    nb::class_<KernelSearch>(m, "KernelSearch", "Best-first search over boxes of contexts that a kernel weighs.")
        .def("__init__", &make_search, "axes"_a, "measure"_a, "shape"_a, "rows"_a.noconvert(), "factors"_a.noconvert(),
             "base"_a.noconvert(), "entries"_a.noconvert().none(), "least"_a, "alternative"_a.noconvert(), "tau"_a,
             "tail"_a = nb::none(), "rules"_a.none() = nb::none(), "most"_a = nb::none(),
             "barred"_a = std::vector<std::vector<std::int32_t>>())
        .def("cut", &cut, "rival"_a.noconvert(), "The alternative must not lose to a plan with these costs.")
        .def("tighten", &KernelSearch::tighten, "by"_a, "The alternative must be better by so much more.")
        .def(
            "advance",
            [](KernelSearch& self, std::int64_t boxes, double cutoff, double gap, double seconds) {
                whence::arrays::require(gap >= 0.0 && gap < 1.0, "'gap' must be at least 0 and below 1.");
                const nb::gil_scoped_release release;
                return self.advance(boxes, cutoff, gap, whence::Deadline(seconds));
            },
            "boxes"_a, "cutoff"_a, "gap"_a, "seconds"_a = whence::kInfinity,
            "Examine at most so many boxes, and none after so many seconds; whether none is left that may hold a "
            "nearer explanation, up to the gap.")
        .def("standing", &standing, "contexts"_a.noconvert(), "For every context, whether it is an explanation.")
        .def("forget_met", &KernelSearch::forget_met, "Forget the explanation that was met.")
        .def_prop_ro("nodes", &KernelSearch::nodes, "Boxes examined so far.")
        .def_prop_ro("bytes", &KernelSearch::bytes, "About how much memory the boxes take.")
        .def_prop_ro("bound", &KernelSearch::bound, "No explanation is nearer.")
        .def_prop_ro(
            "met", [](const KernelSearch& self) { return whence::arrays::to_numpy(self.met()); }, nb::rv_policy::move,
            "The nearest explanation met so far.")
        .def_prop_ro("met_distance", &KernelSearch::met_distance, "Its distance; infinite where none was met.");
}
