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
#include <vector>

namespace whence {

// A heap on a number: the item with the smallest key first.
template <class Item>
class Heap {
public:
    struct Entry {
        double key;
        Item item;
    };

    bool empty() const { return entries_.empty(); }
    // The entry with the smallest key; the heap must not be empty.
    const Entry& top() const { return entries_.front(); }
    std::size_t bytes() const { return entries_.capacity() * sizeof(Entry); }
    void clear() { entries_.clear(); }

    void push(double key, Item item) {
        std::size_t i = entries_.size();
        entries_.push_back({key, item});
        while (i > 0) {
            std::size_t up = (i - 1) / 2;
            if (entries_[up].key <= key) break;
            entries_[i] = entries_[up];
            i = up;
        }
        entries_[i] = {key, item};
    }

    // Take the entry with the smallest key off the heap, which must not be empty.
    Entry pop() {
        const Entry first = entries_.front();
        const Entry last = entries_.back();
        entries_.pop_back();
        const std::size_t size = entries_.size();
        if (size == 0) return first;
        std::size_t i = 0;
        for (std::size_t child = 1; child < size; child = 2 * i + 1) {
            if (child + 1 < size && entries_[child + 1].key < entries_[child].key) ++child;
            if (entries_[child].key >= last.key) break;
            entries_[i] = entries_[child];
            i = child;
        }
        entries_[i] = last;
        return first;
    }

private:
    std::vector<Entry> entries_;
};

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
