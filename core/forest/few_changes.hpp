// Which features may differ from the start together: at most so many, and never all of a barred set.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "forest/box.hpp"

namespace whence {

class FewChanges {
public:
    using Features = std::vector<char>;  // of each feature: whether it is one of them

    // `feature` of every column, counted from 0: the columns of a category are one feature. Those that are `free` may
    // change beside all others, and do not count.
    FewChanges(std::vector<std::int32_t> feature, std::int32_t most, std::vector<std::vector<std::int32_t>> barred,
               const std::vector<std::int32_t>& free = {});

    std::int32_t features() const { return features_; }
    std::int32_t columns() const { return static_cast<std::int32_t>(feature_.size()); }
    std::int32_t of(std::int32_t column) const { return feature_[column]; }
    std::int32_t most() const { return most_; }
    bool is_free(std::int32_t feature) const { return free_[feature] != 0; }
    // How many of these features count.
    std::int32_t count(const Features& features) const;

    // Whether exactly these features may change together.
    bool allows(const Features& changed) const;

    // Which of the others must stay where these change for certain, into `kept`; false where these are too many.
    bool settle(const Features& changed, Features& kept) const;

    // Keep the features of a box at the start that may not change beside those that do everywhere in it, which go to
    // `changed`; false where these are too many already. The nearest point of the box stays the same.
    bool keep(Box& box, Features& changed, Features& kept) const;

    // The features of the barred sets that lie within these, into `found`; false where there is no such set.
    bool barred_within(const Features& features, Features& found) const;

private:
    std::vector<std::int32_t> feature_;
    std::int32_t features_ = 0, most_;
    std::vector<std::vector<std::int32_t>> barred_;
    Features free_;
};

// Refuse features that are not those of the grid.
inline void require_fit(const Grid& grid, const FewChanges* few) {
    if (few != nullptr && few->columns() != grid.columns())
        throw std::invalid_argument("'few' must name a feature of every column.");
}

}  // namespace whence
