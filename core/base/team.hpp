// Several threads at the same work.
#pragma once

#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace whence {

// Call `work(i)` for i = 0..size-1, each in a thread of its own, the first one in this thread, and wait for all. A
// thread that the system does not give is done without. What a call throws first is thrown again, after `stop()` has
// told the others to end.
template <class Work, class Stop>
void work_together(int size, Work work, Stop stop) {
    std::exception_ptr failure;
    std::mutex mutex;
    const auto guarded = [&](int i) {
        try {
            work(i);
        } catch (...) {
            std::lock_guard lock(mutex);
            if (!failure) failure = std::current_exception();
            stop();
        }
    };
    {
        std::vector<std::jthread> others;
        try {
            for (int i = 1; i < size; ++i) others.emplace_back(guarded, i);
        } catch (const std::system_error&) {
        }
        guarded(0);
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace whence
