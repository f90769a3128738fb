// The module whence._core: the searches that have to be fast, compiled ahead of time.
#include <nanobind/nanobind.h>

void bind_criteria(nanobind::module_& m);
void bind_forest(nanobind::module_& m);
void bind_contexts(nanobind::module_& m);
void bind_trees(nanobind::module_& m);

NB_MODULE(_core, m) {
    m.doc() = "The compiled core of whence: searches over the boxes of a forest and of nearest neighbours.";
    bind_forest(m);
    bind_criteria(m);
    bind_contexts(m);
    bind_trees(m);
}
