// A heap on a number: the item with the smallest key first.
#pragma once

#include <cstddef>
#include <vector>

namespace whence {

template <class Item>
class Heap {
public:
    struct Entry {
        double key;
        Item item;
    };

    bool empty() const { return entries_.empty(); }
    std::size_t size() const { return entries_.size(); }
    // The entry with the smallest key; the heap must not be empty.
    const Entry& top() const { return entries_.front(); }
    std::size_t bytes() const { return entries_.capacity() * sizeof(Entry); }
    void clear() { entries_.clear(); }
    void reserve(std::size_t size) { entries_.reserve(size); }

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

}  // namespace whence
