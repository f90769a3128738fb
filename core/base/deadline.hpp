// When a search has to return to its caller.
#pragma once

#include <algorithm>
#include <chrono>

namespace whence {

class Deadline {
public:
    // Never.
    Deadline() = default;

    // So many seconds from now; never where that is infinite.
    explicit Deadline(double seconds) : limited_(seconds < kLongest) {
        if (limited_)
            ends_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(std::max(0.0, seconds)));
    }

    bool passed() const { return limited_ && Clock::now() >= ends_; }

private:
    using Clock = std::chrono::steady_clock;
    using Seconds = std::chrono::duration<double>;
    static constexpr double kLongest = 1e9;

    bool limited_ = false;
    Clock::time_point ends_{};
};

}  // namespace whence
