// The module whence._core: the searches that have to be fast, compiled ahead of time.
#include "bind/bindings.hpp"

NB_MODULE(_core, m) {
    m.doc() = "The compiled core of whence: searches over the boxes of a forest and of nearest neighbours.";
    bind_forest(m);
    bind_criteria(m);
    bind_boxes(m);
    bind_neighbours(m);
    bind_kernels(m);
    bind_shipment(m);
    bind_trees(m);
}
