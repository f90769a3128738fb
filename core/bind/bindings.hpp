// What every file of bindings shares: each family of classes is bound in a file of its own.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

void bind_boxes(nanobind::module_& m);
void bind_criteria(nanobind::module_& m);
void bind_forest(nanobind::module_& m);
void bind_kernels(nanobind::module_& m);
void bind_neighbours(nanobind::module_& m);
void bind_shipment(nanobind::module_& m);
void bind_trees(nanobind::module_& m);
