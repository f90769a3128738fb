// A heap that the threads of a search share, and how they know when to stop.
//
// A thread that finds nothing to take waits as long as another one has an item under way, because parts of it may still
// come back.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>

#include "base/heap.hpp"

namespace whence {

template <class Item>
class SharedHeap {
public:
    using Entry = typename Heap<Item>::Entry;

    // Threads may take items, until the heap is closed.
    void open() { closed_ = false; }
    void close() {
        std::lock_guard lock(mutex_);
        closed_ = true;
        changed_.notify_all();
    }
    bool closed() const { return closed_; }

    // The item with the smallest key; nothing once the heap is closed, or where nothing below `cutoff` is left and none
    // is under way. Whoever takes an item says when it is done with it.
    std::optional<Entry> take(double cutoff) {
        std::unique_lock lock(mutex_);
        while (true) {
            if (closed_) return std::nullopt;
            if (!heap_.empty() && heap_.top().key < cutoff) break;
            if (under_way_ == 0) return std::nullopt;
            ++waiting_;
            changed_.wait(lock);
            --waiting_;
        }
        ++under_way_;
        return heap_.pop();
    }
    void done() {
        std::lock_guard lock(mutex_);
        if (--under_way_ == 0) changed_.notify_all();
    }

    void push(double key, Item item) {
        std::lock_guard lock(mutex_);
        heap_.push(key, item);
        if (waiting_ > 0) changed_.notify_one();
    }
    bool nearer_than(double key) const {
        std::lock_guard lock(mutex_);
        return !heap_.empty() && key > heap_.top().key;
    }
    std::size_t bytes() const {
        std::lock_guard lock(mutex_);
        return heap_.bytes();
    }
    bool empty() const {
        std::lock_guard lock(mutex_);
        return heap_.empty();
    }
    std::size_t size() const {
        std::lock_guard lock(mutex_);
        return heap_.size();
    }
    // The smallest key; the heap must not be empty.
    double nearest() const {
        std::lock_guard lock(mutex_);
        return heap_.top().key;
    }
    void clear() {
        std::lock_guard lock(mutex_);
        heap_.clear();
    }

private:
    Heap<Item> heap_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    int under_way_ = 0;
    int waiting_ = 0;
    std::atomic<bool> closed_ = false;
};

}  // namespace whence
