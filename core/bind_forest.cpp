#include "bindings.hpp"

void bind_forest(nanobind::module_&) {}
