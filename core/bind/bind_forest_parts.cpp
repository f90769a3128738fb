// The parts of the forest search one by one, so that each can be tried, and tested, by itself.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "base/numbers.hpp"
#include "bind/arrays.hpp"
#include "bind/bindings.hpp"
#include "bounds/mixture.hpp"
#include "bounds/shares.hpp"
#include "criteria/rivals.hpp"
#include "criteria/tail_criterion.hpp"
#include "forest/faces.hpp"
#include "forest/queue.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace whence {

namespace {

using namespace arrays;

void require_column(const Box& box, std::int32_t j) {
    require(j >= 0 && j < box.size(), "'column' must be one of the grid's.");
}

void require_same(const Located& one, const Located& other) {
    require(&one == &other, "Both must belong to the same question.");
}

Cells cells_in(const Box& box, const Integers& cells) {
    require(cells.size() == static_cast<std::size_t>(box.size()), "'cells' must hold one cell a column.");
    for (std::int32_t j = 0; j < box.size(); ++j)
        require(box[j].low <= cells(j) && cells(j) <= box[j].high, "'cells' must lie in the box.");
    return copied(cells);
}

void gather_near(Reach& reach, const Box& box, const Integers& cells, double room) {
    require_same(reach.located(), box.located());
    reach.gather_near(box, cells_in(box, cells), room);
}

void keep_near(Reach& reach, const Box& box, const Integers& cells, double room) {
    require_same(reach.located(), box.located());
    reach.keep_near(box, cells_in(box, cells), room);
}

void keep_box(Reach& reach, const Box& box) {
    require_same(reach.located(), box.located());
    reach.keep_box(box);
}

void gather(Reach& reach, const Box& box) {
    require_same(reach.located(), box.located());
    Cells cells(box.size());
    box.project(cells);
    reach.gather_near(box, cells, kInfinity);
}

void bind_boxes(nb::module_& m) {
    const auto ends = [](std::int32_t Interval::* end) {
        return [end](const Box& box) {
            std::vector<std::int32_t> cells;
            for (std::int32_t j = 0; j < box.size(); ++j) cells.push_back(box[j].*end);
            return array_of(cells);
        };
    };
    nb::class_<Box>(m, "Box", "An interval of cells in every column; at first all that the question allows.")
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
                require_column(box, column);
                return box.restrict(column, first, last);
            },
            "column"_a, "first"_a, "last"_a, "Narrow a column; False where nothing allowed is left.")
        .def(
            "project",
            [](const Box& box) {
                Cells cells(box.size());
                const double distance = box.project(cells);
                return std::pair(distance, array_of(cells));
            },
            "Distance and cells of the box's nearest point.")
        .def(
            "tighten", [](Box& box, Integers cells, double room) { return box.tighten(cells_in(box, cells), room); },
            "cells"_array, "room"_a, "Narrow to the cells less than `room` farther than the projection.");
    nb::class_<Reach>(m, "Reach", "The leaves that a box meets.")
        .def(nb::init<const Located&>(), "located"_a, nb::keep_alive<1, 2>())
        .def("gather", &gather, "box"_a)
        .def("gather_near", &gather_near, "box"_a, "cells"_array, "room"_a)
        .def("keep_near", &keep_near, "box"_a, "cells"_array, "room"_a)
        .def("keep_box", &keep_box, "box"_a)
        .def_prop_ro("leaves", [](const Reach& reach) {
            ListedLeaves listed;
            reach.list(reach.trees(), listed);
            return array_of(listed.leaves);
        });
    nb::class_<Hull>(m, "Hull", "The cells that the reached leaves of every tree leave of a box.")
        .def(nb::init<const Grid&>(), "grid"_a, nb::keep_alive<1, 2>())
        .def(
            "narrow",
            [](Hull& hull, const Reach& reach, Box& box) {
                require_same(reach.located(), box.located());
                require(&hull.grid() == &box.located().grid(), "Both must belong to the same grid.");
                return hull.narrow(reach, box);
            },
            "reach"_a, "box"_a, "Narrow the box to them; True where that is less.");
}

// A method that is told a link of the queue, and what else there is to tell.
template <class Result, class... More>
auto of_link(Result (*method)(Queue&, std::int32_t, More...)) {
    return [method](Queue& queue, std::int32_t link, More... more) {
        require(queue.has(link), "'link' must be one of the queue's.");
        return method(queue, link, std::forward<More>(more)...);
    };
}

using Words = std::vector<std::uint64_t>;

std::optional<Words> take_reach(Queue& queue, std::int32_t link) {
    Words words;
    return queue.take_reach(link, words) ? std::optional(words) : std::nullopt;
}

bool rebuild(Queue& queue, std::int32_t link, Box& box) {
    for (const std::int32_t column : queue.columns_of(link)) require_column(box, column);
    return queue.rebuild(link, box);
}

void bind_queues(nb::module_& m) {
    using Ordered = Heap<std::int32_t>;
    nb::class_<Ordered>(m, "Heap", "Items by a key, the smallest first.")
        .def(nb::init<>())
        .def("__len__", &Ordered::size)
        .def("push", &Ordered::push, "key"_a, "item"_a)
        .def("pop", [](Ordered& heap) {
            require(!heap.empty(), "The heap is empty.");
            const Ordered::Entry entry = heap.pop();
            return std::pair(entry.key, entry.item);
        });
    nb::class_<Queue>(m, "Queue", "The boxes that wait, nearest first: at the beginning the whole space, link -1.")
        .def(nb::init<>())
        .def("__len__", [](const Queue& queue) { return queue.heap.size(); })
        .def(
            "wait",
            [](Queue& queue, double key, std::int32_t link) {
                require(queue.has(link), "'link' must be one of the queue's.");
                queue.heap.push(key, link);
            },
            "key"_a, "link"_a)
        .def("take",
             [](Queue& queue) {
                 const auto entry = queue.heap.take(kInfinity);
                 require(entry.has_value(), "The queue is empty.");
                 queue.heap.done();
                 return std::pair(entry->key, entry->item);
             })
        .def(
            "link",
            [](Queue& queue, std::int32_t parent, std::int32_t column, std::int32_t first, std::int32_t last) {
                require(queue.has(parent), "'parent' must be a link of the queue.");
                return queue.link(parent, column, first, last, {});
            },
            "parent"_a, "column"_a, "first"_a, "last"_a)
        .def("hold", of_link(+[](Queue& queue, std::int32_t link) { queue.hold(link); }), "link"_a,
             "One more holds a link.")
        .def("release", of_link(+[](Queue& queue, std::int32_t link) { queue.release(link); }), "link"_a,
             "The holder of a link is done with it.")
        .def_prop_ro("links", &Queue::links, "Links that somebody holds.")
        .def_prop_ro("bytes", &Queue::bytes, "About how much memory the boxes take.")
        .def("set_reach",
             of_link(+[](Queue& queue, std::int32_t link, const Words& words) { queue.set_reach(link, words); }),
             "link"_a, "words"_a)
        .def("take_reach", of_link(&take_reach), "link"_a,
             "The leaves that were kept for a box, once; None where there are none.")
        .def("rebuild", of_link(&rebuild), "link"_a, "box"_a, "Lay out the box of a link; False where it is empty.");
}

// An open box belongs to a question and a criterion about the same leaves.
void require_fit(OpenBox& open, const Criterion& criterion) {
    require(criterion.rivals() > 0, "There must be a rival.");
    require_fit(open.box.located().grid(), criterion, open.plausible);
    open.fit(criterion);
    require(open.etas.last < criterion.etas() && open.worst < criterion.rivals(), "Look at the box first.");
}

void bind_open_box(nb::module_& m) {
    nb::class_<OpenBox>(m, "OpenBox", "The box under way: its projection, the leaves it meets, and what bounds found.")
        .def(
            "__init__",
            [](OpenBox* self, const Box& box, const Criterion& criterion, double tau, const Plausibility* plausible) {
                new (self) OpenBox(box.located());
                self->box = box;
                self->plausible = plausible;
                require_fit(*self, criterion);
                self->etas = {0, criterion.etas() - 1};
                self->near = self->key = self->box.project(self->cells);
                self->reach.gather_near(self->box, self->cells, kInfinity);
                self->judge(criterion, tau);
                criterion.lean(*self);
            },
            "box"_a, "criterion"_a, "tau"_a, "plausible"_a.none() = nb::none(), nb::keep_alive<1, 2>(),
            nb::keep_alive<1, 3>(), nb::keep_alive<1, 5>())
        .def_ro("box", &OpenBox::box)
        .def_ro("reach", &OpenBox::reach)
        .def_ro("near", &OpenBox::near)
        .def_ro("worst", &OpenBox::worst)
        .def_ro("holds", &OpenBox::holds)
        .def_ro("slack", &OpenBox::slack)
        .def_ro("eta", &OpenBox::eta)
        .def_prop_ro("etas", [](const OpenBox& open) { return std::pair(open.etas.first, open.etas.last); })
        .def_prop_ro("cells", as_array(&OpenBox::cells))
        .def_prop_ro("here", as_array(&OpenBox::here))
        .def_prop_ro("best", as_array(&OpenBox::best))
        .def_prop_ro("gains", as_array(&OpenBox::gains))
        .def_prop_ro("joint", as_array(&OpenBox::joint))
        .def(
            "bound",
            [](OpenBox& open, const Criterion& criterion, double tau) {
                require_fit(open, criterion);
                return criterion.bound(open, tau) && (open.plausible == nullptr || open.plausible->bound(open));
            },
            "criterion"_a, "tau"_a, nb::keep_alive<1, 2>(),
            "Bound the criterion, and how plausible contexts are, over the box; False where it "
            "holds nowhere.")
        .def(
            "bound_again",
            [](OpenBox& open, const Criterion& criterion, double tau) {
                require_fit(open, criterion);
                return criterion.bound_again(open, tau);
            },
            "criterion"_a, "tau"_a, nb::keep_alive<1, 2>(), "The same with another threshold for the worst rival.")
        .def(
            "strong_bound",
            [](OpenBox& open, const Criterion& criterion, double tau, Shares& shares, double cutoff,
               std::int32_t rounds, double rate) {
                require_fit(open, criterion);
                require_same(shares.located(), open.box.located());
                require(rounds > 0, "'rounds' must be positive.");
                return shares.bound(open, criterion, tau, cutoff, {rounds, rate});
            },
            "criterion"_a, "tau"_a, "shares"_a, "cutoff"_a, "rounds"_a, "rate"_a, nb::keep_alive<1, 2>(),
            "Lower bound on the distance at which the criterion can hold in the box.")
        .def(
            "quantiles",
            [](OpenBox& open, const TailCriterion& criterion) {
                require_fit(open, criterion);
                const EtaRange range = criterion.quantiles(open, open.etas);
                return std::pair(range.first, range.last);
            },
            "criterion"_a, "The etas at which the alternative's CVaR can be attained in the box.");
}

std::optional<std::pair<std::int32_t, std::int32_t>> pair_of(const std::optional<Face>& face) {
    return face ? std::optional(std::pair(face->column, face->cut)) : std::nullopt;
}

void bind_faces(nb::module_& m) {
    // The face that is chosen, if any.
    const auto chosen = [](auto method) {
        return [method](Faces& faces, OpenBox& open) {
            require_same(faces.located(), open.box.located());
            return pair_of((faces.*method)(open));
        };
    };
    nb::class_<Faces>(m, "Faces",
                      "Chooses the face, a column and a cut, at which a box is split; None where there is none.")
        .def(nb::init<const Located&>(), "located"_a, nb::keep_alive<1, 2>())
        .def("pulling", chosen(&Faces::pulling), "open"_a)
        .def("around", chosen(&Faces::around), "open"_a)
        .def(
            "sharpest",
            [](Faces& faces, OpenBox& open, const Criterion& criterion, double cutoff) {
                require_same(faces.located(), open.box.located());
                require_fit(open, criterion);
                return pair_of(faces.sharpest(open, criterion, cutoff));
            },
            "open"_a, "criterion"_a, "cutoff"_a = kInfinity);
}

void bind_rivals(nb::module_& m) {
    nb::class_<Rivals>(m, "Rivals", "Plans met on the way, as rows; the oldest make room for new ones.")
        .def(nb::init<std::int32_t>(), "leaves"_a)
        .def(
            "add", [](Rivals& rivals, Vector row) { return rivals.add(copied(row)); }, "row"_array,
            "Number of a new plan.")
        .def(
            "row",
            [](const Rivals& rivals, std::int32_t number) -> nb::object {
                const double* row = rivals.row(number);
                return row == nullptr ? nb::none() : nb::cast(to_numpy(row, static_cast<std::size_t>(rivals.leaves())));
            },
            "number"_a, "The row of a plan; None where it made room for later ones.")
        .def_prop_ro("capacity", &Rivals::capacity);
    nb::class_<Mixture>(m, "Mixture", "The mixture of rivals that bounds the criterion best over a box.")
        .def(nb::init<std::int32_t>(), "leaves"_a)
        .def(
            "mix",
            [](Mixture& mixture, OpenBox& open, const Criterion& criterion, std::int32_t eta) {
                require_fit(open, criterion);
                require(mixture.leaves() == criterion.leaves(), "The mixture must be about the criterion's leaves.");
                require(eta >= 0 && eta < criterion.etas(), "'eta' must be one of the criterion's.");
                mixture.mix(open, criterion, eta);
            },
            "open"_a, "criterion"_a, "eta"_a)
        .def_prop_ro(
            "row",
            [](const Mixture& mixture) {
                return nb::cast(to_numpy(mixture.row(), static_cast<std::size_t>(mixture.leaves())));
            },
            "The mixture as a rival, for the leaves that the box meets and those of its projection.")
        .def_prop_ro("alone", as_array(&Mixture::alone), "The bound of each rival by itself.")
        .def_prop_ro("weight", as_array(&Mixture::weight), "Weight of each rival in the mixture.");
}

}  // namespace

}  // namespace whence

void bind_forest_parts(nanobind::module_& m) {
    whence::bind_boxes(m);
    whence::bind_queues(m);
    whence::bind_open_box(m);
    whence::bind_faces(m);
    whence::bind_rivals(m);
}
