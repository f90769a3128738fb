// Nodes that come and go, by number: the place of one that is gone serves the next. And what several of them share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace whence {

template <class Node>
class NodeStore {
public:
    // A place, with what was there last.
    std::int32_t take() {
        if (free_.empty()) {
            nodes_.emplace_back();
            return static_cast<std::int32_t>(nodes_.size()) - 1;
        }
        const std::int32_t place = free_.back();
        free_.pop_back();
        return place;
    }
    std::int32_t add(Node node) {
        const std::int32_t place = take();
        (*this)[place] = std::move(node);
        return place;
    }
    // What is there stays until another node takes its place: whoever holds large things lets go of them first.
    void forget(std::int32_t place) { free_.push_back(place); }
    void clear() {
        nodes_.clear();
        free_.clear();
    }

    Node& operator[](std::int32_t place) { return nodes_[static_cast<std::size_t>(place)]; }
    const Node& operator[](std::int32_t place) const { return nodes_[static_cast<std::size_t>(place)]; }
    // Places, some of which may be free; and those that are not.
    std::size_t size() const { return nodes_.size(); }
    std::size_t count() const { return nodes_.size() - free_.size(); }
    bool any_free() const { return !free_.empty(); }
    // Without what nodes hold elsewhere.
    std::size_t bytes() const { return nodes_.capacity() * sizeof(Node) + free_.capacity() * sizeof(std::int32_t); }

    auto begin() const { return nodes_.begin(); }
    auto end() const { return nodes_.end(); }

private:
    std::vector<Node> nodes_;
    std::vector<std::int32_t> free_;
};

// Counts the bytes of what it has made, until nobody holds it any more.
class Counted {
public:
    template <class T>
    std::shared_ptr<const T> make(T value, std::size_t bytes) const {
        *bytes_ += bytes + sizeof(T);
        // Whoever holds it last may outlive the counter.
        return {new T(std::move(value)), [count = bytes_, bytes](const T* made) {
                    delete made;
                    *count -= bytes + sizeof(T);
                }};
    }
    template <class Number>
    std::shared_ptr<const std::vector<Number>> make(std::vector<Number> numbers) const {
        const std::size_t bytes = numbers.capacity() * sizeof(Number);
        return make<std::vector<Number>>(std::move(numbers), bytes);
    }

    std::size_t bytes() const { return *bytes_; }

private:
    std::shared_ptr<std::atomic<std::size_t>> bytes_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace whence
