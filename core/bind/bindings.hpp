// What every file of bindings shares: each family of classes is bound in a file of its own.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

void bind_forest(nanobind::module_& m);
void bind_forest_parts(nanobind::module_& m);
void bind_kernels(nanobind::module_& m);
void bind_neighbours(nanobind::module_& m);
void bind_potentials(nanobind::module_& m);
void bind_shipment(nanobind::module_& m);
void bind_trees(nanobind::module_& m);
