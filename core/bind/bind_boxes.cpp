// The boxes of a forest search one by one, for a search whose every box asks for the best plan somewhere in it.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include "bind/arrays.hpp"
#include "forest/faces.hpp"
#include "forest/queue.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace whence {

namespace {

using namespace arrays;

nb::object leaves_of(const Reach& reach) {
    ListedLeaves listed;
    reach.list(reach.trees(), listed);
    return array_of(listed.leaves);
}

void bind_box(nb::module_& m) {
    const auto ends = [](std::int32_t Interval::* end) {
        return [end](const Box& box) {
            std::vector<std::int32_t> cells;
            for (std::int32_t j = 0; j < box.size(); ++j) cells.push_back(box[j].*end);
            return array_of(cells);
        };
    };
    nb::class_<Box>(m, "Box")
        .def(
            "__init__",
            [](Box* self, const Located& located) {
                new (self) Box(located);
                require(self->reset(), "The question allows nothing.");
            },
            "located"_a, nb::keep_alive<1, 2>())
        .def_prop_ro("low", ends(&Interval::low))
        .def_prop_ro("high", ends(&Interval::high))
        .def(
            "restrict",
            [](Box& box, std::int32_t column, std::int32_t first, std::int32_t last) {
                require(column >= 0 && column < box.size(), "'column' must be one of the grid's.");
                return box.restrict(column, first, last);
            },
            "column"_a, "first"_a, "last"_a)
        .def("project",
             [](const Box& box) {
                 Cells cells(box.size());
                 const double distance = box.project(cells);
                 return std::pair(distance, array_of(cells));
             })
        .def(
            "tighten",
            [](Box& box, double room) {
                Cells cells(box.size());
                box.project(cells);
                return box.tighten(cells, room);
            },
            "room"_a)
        .def(
            "leaves",
            [](const Box& box, double room) {
                Cells cells(box.size());
                box.project(cells);
                Reach reach(box.located());
                reach.gather_near(box, cells, room);
                return leaves_of(reach);
            },
            "room"_a = kInfinity);
}

// A method that is told a link of the queue, and what else there is to tell.
template <class Result, class... More>
auto of_link(Result (*method)(Queue&, std::int32_t, More...)) {
    return [method](Queue& queue, std::int32_t link, More... more) {
        require(queue.has(link), "'link' must be one of the queue's.");
        return method(queue, link, std::forward<More>(more)...);
    };
}

void bind_queue(nb::module_& m) {
    nb::class_<Queue>(m, "Queue")
        .def(nb::init<>())
        .def("__bool__", [](const Queue& queue) { return !queue.heap.empty(); })
        .def("wait", of_link(+[](Queue& queue, std::int32_t link, double key) { queue.heap.push(key, link); }),
             "link"_a, "key"_a)
        .def("take",
             [](Queue& queue) {
                 const auto entry = queue.heap.take(kInfinity);
                 require(entry.has_value(), "The queue is empty.");
                 queue.heap.done();
                 return std::pair(entry->key, entry->item);
             })
        .def("link",
             of_link(+[](Queue& queue, std::int32_t parent, std::int32_t column, std::int32_t first,
                         std::int32_t last) { return queue.link(parent, column, first, last, {}); }),
             "parent"_a, "column"_a, "first"_a, "last"_a)
        .def("hold", of_link(+[](Queue& queue, std::int32_t link) { queue.hold(link); }), "link"_a)
        .def("release", of_link(+[](Queue& queue, std::int32_t link) { queue.release(link); }), "link"_a)
        .def("rebuild", of_link(+[](Queue& queue, std::int32_t link, Box& box) { return queue.rebuild(link, box); }),
             "link"_a, "box"_a)
        .def_prop_ro("bytes", &Queue::bytes);
}

std::optional<std::pair<std::int32_t, std::int32_t>> pair_of(const std::optional<Face>& face) {
    return face ? std::optional(std::pair(face->column, face->cut)) : std::nullopt;
}

void bind_open_box(nb::module_& m) {
    nb::class_<OpenBox>(m, "OpenBox")
        .def(
            "__init__",
            [](OpenBox* self, const Box& box, const Criterion& criterion, double tau, const Plausibility* plausible) {
                require(criterion.rivals() > 0, "There must be a rival.");
                require_fit(box.located().grid(), criterion, plausible);
                new (self) OpenBox(box.located());
                self->box = box;
                self->plausible = plausible;
                self->fit(criterion);
                self->etas = {0, criterion.etas() - 1};
                self->near = self->key = self->box.project(self->cells);
                self->reach.gather_near(self->box, self->cells, kInfinity);
                self->judge(criterion, tau);
                criterion.lean(*self);
            },
            "box"_a, "criterion"_a, "tau"_a, "plausible"_a.none() = nb::none(), nb::keep_alive<1, 2>(),
            nb::keep_alive<1, 3>(), nb::keep_alive<1, 5>())
        .def_prop_ro("leaves", [](const OpenBox& open) { return leaves_of(open.reach); })
        .def(
            "bound",
            [](OpenBox& open, const Criterion& criterion, double tau) {
                require_fit(open.box.located().grid(), criterion, open.plausible);
                open.fit(criterion);
                require(open.etas.last < criterion.etas() && open.worst < criterion.rivals(), "Look at the box first.");
                return criterion.bound(open, tau) && (open.plausible == nullptr || open.plausible->bound(open));
            },
            "criterion"_a, "tau"_a, nb::keep_alive<1, 2>());
    nb::class_<Faces>(m, "Faces")
        .def(nb::init<const Located&>(), "located"_a, nb::keep_alive<1, 2>())
        .def(
            "pulling", [](Faces& faces, const OpenBox& open) { return pair_of(faces.pulling(open)); }, "open"_a)
        .def("around", [](Faces& faces, const OpenBox& open) { return pair_of(faces.around(open)); }, "open"_a);
}

}  // namespace

}  // namespace whence

void bind_boxes(nanobind::module_& m) {
    whence::bind_box(m);
    whence::bind_queue(m);
    whence::bind_open_box(m);
}
