// Numbers that everybody uses.
#pragma once

#include <limits>

namespace whence {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace whence
