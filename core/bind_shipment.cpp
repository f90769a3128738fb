#include "bindings.hpp"

void bind_shipment(nanobind::module_&) {}
