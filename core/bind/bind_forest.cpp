// The forest search at the border to Python: arrays are checked here, so that nothing behind it reads beyond them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bind/arrays.hpp"
#include "bounds/potential_search.hpp"
#include "forest/faces.hpp"
#include "forest/forest_search.hpp"
#include "forest/proposals.hpp"
#include "forest/queue.hpp"

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
    nb::class_<Grid>(m, "Grid")
        .def(
            "__init__",
            [](Grid* self, Integers face_start, VectorOf<float> cut, Integers column, Integers split, Integers left,
               Integers right, Integers root) {
                new (self) Grid(copied(face_start), copied(cut), nodes_of(column, split, left, right), copied(root));
            },
            "face_start"_array, "cut"_array, "column"_array, "split"_array, "left"_array, "right"_array, "root"_array)
        .def("lay_paths", &Grid::lay_paths, "nodes"_a, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("columns", &Grid::columns)
        .def_prop_ro("trees", &Grid::trees)
        .def_prop_ro("leaves", &Grid::leaves)
        .def_prop_ro("first_leaf",
                     [](const Grid& grid) {
                         std::vector<std::int32_t> first;
                         for (std::int32_t t = 0; t <= grid.trees(); ++t) first.push_back(grid.first_leaf(t));
                         return array_of(first);
                     })
        .def_prop_ro("asks",
                     [](const Grid& grid) {
                         const auto trees = static_cast<std::size_t>(grid.trees());
                         std::vector<double> asks(grid.columns() * trees, 0.0);
                         for (std::size_t t = 0; t < trees; ++t)
                             for (const Node& node : grid.nodes_of(static_cast<std::int32_t>(t)))
                                 if (node.column >= 0) asks[node.column * trees + t] = 1.0;
                         return nb::cast(to_numpy_rows(asks, trees));
                     })
        .def(
            "leaves_at",
            [](const Grid& grid, Integers cells) {
                Leaves leaves(grid.trees());
                grid.leaves_at(cells_of(grid, cells), leaves);
                return array_of(leaves);
            },
            "cells"_array)
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
            "cells"_array)
        .def(
            "cells_alike",
            [](const Grid& grid, Integers cells) {
                Cells low, high;
                grid.cells_alike(cells_of(grid, cells), low, high);
                return nb::make_tuple(array_of(low), array_of(high));
            },
            "cells"_array);
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
    nb::class_<Located>(m, "Located")
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
            "low"_array, "high"_array, "start"_array, "column"_a, nb::keep_alive<0, 1>(), nb::rv_policy::take_ownership)
        .def_prop_ro_static("ONE_CELL", [](nb::handle) { return Located::kOneCell; })
        .def_prop_ro("distance", as_array(&Located::distances))
        .def_prop_ro("value", as_array(&Located::values))
        .def_prop_ro("start", column(&Column::start))
        .def_prop_ro("first", column(&Column::first))
        .def_prop_ro("last", column(&Column::last))
        .def_prop_ro("group", column(&Column::group));
}

// A plan as a row of what each leaf adds.
auto with_row(void (ForestSearch::*method)(std::vector<double>)) {
    return [method](ForestSearch& search, const Vector& row) {
        require_finite(row, "row");
        (search.*method)(copied(row));
    };
}

void bind_search(nb::module_& m) {
    nb::class_<FewChanges>(m, "FewChanges")
        .def(
            "__init__",
            [](FewChanges* self, Integers feature, std::int32_t most, std::vector<std::vector<std::int32_t>> barred,
               const std::vector<std::int32_t>& free) {
                new (self) FewChanges(copied(feature), most, std::move(barred), free);
            },
            "feature"_array, "most"_a, "barred"_a = std::vector<std::vector<std::int32_t>>(),
            "free"_a = std::vector<std::int32_t>())
        .def(
            "keep",
            [](const FewChanges& few, Box& box) {
                require_fit(box.located().grid(), &few);
                FewChanges::Features changed, kept;
                return few.keep(box, changed, kept);
            },
            "box"_a);
    nb::class_<Plausibility>(m, "Plausibility")
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
            "cells"_array);
    nb::class_<Shares>(m, "Shares")
        .def(
            "__init__",
            [](Shares* self, const Located& located, Integers bucket, Vector edge, Integers begin, Matrix part) {
                require(part.shape(0) == edge.size(), "'part' must have a row of every bucket.");
                new (self) Shares(located, copied(bucket), copied(edge), copied(begin), view(part));
            },
            "located"_a, "bucket"_array, "edge"_array, "begin"_array, "part"_array, nb::keep_alive<1, 2>());
    nb::class_<ForestSearch>(m, "ForestSearch")
        .def(nb::init<const Located&, Criterion&, double, int, const Plausibility*, const FewChanges*>(), "located"_a,
             "criterion"_a, "tau"_a, "threads"_a = 1, "plausible"_a.none() = nb::none(), "few"_a.none() = nb::none(),
             nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 6>(), nb::keep_alive<1, 7>())
        .def("ask_in_boxes", &ForestSearch::ask_in_boxes, "eager"_a)
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
        .def("answer", with_row(&ForestSearch::answer), "row"_array)
        .def("meet", with_row(&ForestSearch::meet), "row"_array)
        .def("show_latest", &ForestSearch::show_latest, "count"_a)
        .def(
            "exclude",
            [](ForestSearch& search, Integers cells, bool all) { search.exclude(cells_of(search.grid(), cells), all); },
            "cells"_array, "all"_a = false)
        .def_prop_ro("cells", as_array(&ForestSearch::cells))
        .def_prop_ro("bytes", &ForestSearch::bytes)
        .def_prop_ro("examined", &ForestSearch::examined);
    nb::class_<Proposals>(m, "Proposals")
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

void bind_potentials(nb::module_& m) {
    nb::class_<PotentialSearch>(m, "PotentialSearch")
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
            "budget"_a, "cutoff"_a, "seconds"_a = kInfinity, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("cells",
                     [](const PotentialSearch& search) {
                         return nb::cast(to_numpy(search.cells().data(), search.cells().size()));
                     })
        .def_prop_ro("distance", &PotentialSearch::distance)
        .def_prop_ro("bytes", &PotentialSearch::bytes)
        .def_prop_ro("examined", &PotentialSearch::examined);
}

// ---- boxes one by one, for a search whose every box asks for the best plan somewhere in it
// ----------------------------

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

void bind_forest(nanobind::module_& m) {
    whence::bind_grid(m);
    whence::bind_located(m);
    whence::bind_search(m);
    whence::bind_box(m);
    whence::bind_queue(m);
    whence::bind_open_box(m);
    whence::bind_potentials(m);
}
