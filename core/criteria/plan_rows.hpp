// What each leaf adds to the cost of plans: rows that are only ever added, one a plan.
//
// Threads may add rows while others read: whoever was handed the number of a row reads it without a lock, for rows
// never move.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/settings.hpp"

namespace whence {

class PlanRows {
public:
    explicit PlanRows(std::size_t width) : width_(width), blocks_(std::make_unique<Blocks>()) {}

    std::int32_t count() const { return count_.load(std::memory_order_acquire); }
    // Whether so many further rows keep the memory of all of them within bounds.
    bool has_room(std::size_t more) const {
        const std::size_t all = static_cast<std::size_t>(count()) + more;
        return (all <= kSettings.plans.least_rows || all * width_ <= most_numbers_) && all <= kBlocks * kEach;
    }
    // Keep all rows together to so many numbers, but for the first few.
    void limit(std::size_t numbers) { most_numbers_ = std::min(numbers, kSettings.plans.row_numbers); }
    std::size_t bytes() const { return static_cast<std::size_t>(count()) * width_ * sizeof(double); }
    const double* operator[](std::int32_t number) const {
        const auto i = static_cast<std::size_t>(number);
        return (*(*blocks_)[i / kEach])[i % kEach].get();
    }

    // The number of a new row.
    std::int32_t add(std::span<const double> row) {
        std::lock_guard lock(mutex_);
        const auto i = static_cast<std::size_t>(count());
        if (i >= kBlocks * kEach) throw std::length_error("There are too many plans.");
        auto& block = (*blocks_)[i / kEach];
        if (block == nullptr) block = std::make_unique<Block>();
        auto& own = (*block)[i % kEach];
        own = std::make_unique<double[]>(width_);
        std::copy(row.begin(), row.end(), own.get());
        count_.store(static_cast<std::int32_t>(i) + 1, std::memory_order_release);
        return static_cast<std::int32_t>(i);
    }

private:
    static constexpr std::size_t kEach = 512, kBlocks = 2048;
    using Block = std::array<std::unique_ptr<double[]>, kEach>;
    using Blocks = std::array<std::unique_ptr<Block>, kBlocks>;

    std::size_t width_, most_numbers_ = kSettings.plans.row_numbers;
    std::unique_ptr<Blocks> blocks_;
    std::atomic<std::int32_t> count_ = 0;
    std::mutex mutex_;
};

// Plans met on the way to an absolute explanation: what each leaf adds to the criterion against such a plan.
class Rivals {
public:
    explicit Rivals(std::int32_t leaves)
        : leaves_(leaves),
          capacity_(std::max<std::int64_t>(kSettings.forest.least_rivals,
                                           kSettings.forest.rival_numbers / std::max(1, leaves))) {}

    // Number of a new plan.
    std::int32_t add(std::vector<double> row) {
        if (row.size() != static_cast<std::size_t>(leaves_))
            throw std::invalid_argument("A rival must have one number a leaf.");
        if (count_ < capacity_) {
            rows_.push_back(std::move(row));
        } else {
            // In the place of the oldest, which somebody may still look at.
            std::ranges::copy(row, rows_[static_cast<std::size_t>(count_ % capacity_)].begin());
        }
        return count_++;
    }

    // The row of a plan; none where it had to make room for later ones.
    const double* row(std::int32_t number) const {
        if (number < 0 || number + capacity_ < count_) return nullptr;
        return rows_[static_cast<std::size_t>(number % capacity_)].data();
    }

    std::int32_t count() const { return count_; }
    std::size_t bytes() const { return rows_.size() * static_cast<std::size_t>(leaves_) * sizeof(double); }

private:
    std::int32_t leaves_;
    std::int64_t capacity_;
    std::int32_t count_ = 0;
    std::vector<std::vector<double>> rows_;
};

}  // namespace whence
