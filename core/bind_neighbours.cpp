#include "bindings.hpp"

void bind_neighbours(nanobind::module_&) {}
