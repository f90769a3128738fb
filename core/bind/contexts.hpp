// What the searches over boxes of contexts, by neighbours and by kernels, share at the border to Python.
#pragma once

#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "forest/few_changes.hpp"
#include "neighbours/neighbour_space.hpp"

namespace whence::neighbours {

// Categories of all category axes.
inline std::size_t categories_of(const std::vector<Axis>& axes) {
    std::size_t count = 0;
    for (const Axis& axis : axes) count += axis.kind == Kind::category ? axis.costs.size() : 0;
    return count;
}

inline void require_entries(const std::vector<Axis>& axes, const std::optional<arrays::Matrix>& entries,
                            std::size_t rows) {
    arrays::require((entries ? entries->shape(1) : 0) == categories_of(axes) && (!entries || entries->shape(0) == rows),
                    "'entries' must have a row for every point and a column for every category.");
}

inline void require_about(const Rules* rules, const std::vector<Axis>& axes) {
    arrays::require(rules == nullptr || rules->last_axis() < static_cast<int>(axes.size()),
                    "'rules' must be about the axes.");
}

// Every axis is a feature; none where all may change.
inline std::unique_ptr<const FewChanges> few_of(std::size_t axes, std::optional<int> most,
                                                std::vector<std::vector<std::int32_t>> barred,
                                                const std::vector<std::int32_t>& free = {}) {
    if (!most) return nullptr;
    std::vector<std::int32_t> feature(axes);
    std::iota(feature.begin(), feature.end(), 0);
    return std::make_unique<const FewChanges>(std::move(feature), *most, std::move(barred), free);
}

// For every context, whether it is an explanation.
template <class Search>
auto standing(Search& search, const arrays::Matrix& contexts) {
    const std::size_t rows = contexts.shape(0), q = contexts.shape(1);
    arrays::require(q == search.space().axes.size(), "'contexts' must have a column for every axis.");
    const auto stands = std::make_unique<bool[]>(rows);
    {
        const nanobind::gil_scoped_release release;
        for (std::size_t row = 0; row < rows; ++row)
            stands[row] = search.stands(arrays::view(contexts).subspan(row * q, q));
    }
    return arrays::to_numpy(stands.get(), rows);
}

// What both searches offer.
template <class Search>
auto bind_contexts(nanobind::module_& m, const char* name) {
    using namespace nanobind::literals;
    using namespace arrays;
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

}  // namespace whence::neighbours
