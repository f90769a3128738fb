// Plans met on the way to an absolute explanation, as rows: what each leaf adds to the criterion against such a plan.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "base/settings.hpp"

namespace whence {

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
