// The loop of a best-first search, and the nodes that wait for it, nearest first; several threads may share both.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "base/deadline.hpp"
#include "base/node_store.hpp"
#include "base/settings.hpp"
#include "base/shared_heap.hpp"

namespace whence {

// What a slice of a search may use: so many nodes, and the clock. One node is visited however little time there is, so
// that questions asked again and again come forward.
class Budget {
public:
    Budget(std::int64_t nodes, const Deadline& deadline) : nodes_(nodes), left_(nodes), deadline_(deadline) {}

    bool spent() const { return left_ <= 0 || (visited() > 0 && deadline_.passed()); }
    // Whether one more node may be visited, which then counts.
    bool take() {
        if (spent()) return false;
        if (left_-- > 0) return true;
        give_back();
        return false;
    }
    void give_back() { ++left_; }
    std::int64_t visited() const { return nodes_ - left_; }

private:
    std::int64_t nodes_;
    std::atomic<std::int64_t> left_;
    Deadline deadline_;
};

template <class Node>
class BestFirst {
public:
    struct Open {
        double key;
        Node node;
        bool at_once = false;  // whether it did not wait for its turn
    };

    void push(double key, Node node) {
        std::unique_lock lock(mutex_);
        const std::int32_t place = nodes_.add(std::move(node));
        lock.unlock();
        heap_.push(key, place);
    }
    // Visit a node before all that wait; for one thread.
    void push_next(double key, Node node) { next_ = Open{key, std::move(node), true}; }
    void clear() {
        next_.reset();
        heap_.clear();
        nodes_.clear();
    }

    bool empty() const { return !next_ && heap_.empty(); }
    // The smallest key; infinite where nothing waits.
    double bound() const {
        const double least = heap_.empty() ? kInfinity : heap_.nearest();
        return next_ ? std::min(least, next_->key) : least;
    }
    bool nearer_than(double key) const { return heap_.nearer_than(key); }
    // Without what nodes hold elsewhere.
    std::size_t bytes() const {
        const std::size_t waiting = heap_.bytes();
        std::lock_guard lock(mutex_);
        return waiting + nodes_.bytes();
    }
    std::size_t count() const {
        std::lock_guard lock(mutex_);
        return nodes_.count();
    }
    // Call `use(node)` for all that wait, and for some empty ones.
    template <class Use>
    void each(Use use) const {
        for (const Node& node : nodes_) use(node);
        if (next_) use(next_->node);
    }

    // Visit the nearest nodes, in one thread, until the budget is spent, none is nearer than `limit()`, or
    // `visit(open)` is true.
    template <class Limit, class Visit>
    void run(Budget& budget, Limit limit, Visit visit) {
        open();
        work(budget, limit, visit);
    }
    // The same as one of several threads, all of which end when one of them does; the list is opened before.
    template <class Limit, class Visit>
    void work(Budget& budget, Limit limit, Visit visit) {
        while (budget.take()) {
            std::optional<Open> open = take(limit());
            if (!open) {
                budget.give_back();
                break;
            }
            const UnderWay until_done{open->at_once ? nullptr : &heap_};
            if (visit(*open)) break;
        }
        close();
    }
    void open() { heap_.open(); }
    void close() { heap_.close(); }

private:
    using Places = SharedHeap<std::int32_t>;

    // Others wait for what becomes of a node that was taken from the heap.
    struct UnderWay {
        Places* heap;
        ~UnderWay() {
            if (heap != nullptr) heap->done();
        }
    };

    std::optional<Open> take(double limit) {
        if (next_) return bound() < limit ? std::exchange(next_, std::nullopt) : std::nullopt;
        const auto entry = heap_.take(limit);
        if (!entry) return std::nullopt;
        std::lock_guard lock(mutex_);
        Open taken{entry->key, std::exchange(nodes_[entry->item], Node{})};
        nodes_.forget(entry->item);
        return taken;
    }

    Places heap_;
    NodeStore<Node> nodes_;
    std::optional<Open> next_;
    mutable std::mutex mutex_;  // of the nodes
};

}  // namespace whence
