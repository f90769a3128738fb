// Which features may differ from the start together: at most so many, and never all of a barred set.
#pragma once

#include <algorithm>
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
               const std::vector<std::int32_t>& free = {})
        : feature_(std::move(feature)),
          most_(most),
          barred_(std::move(barred)) {
        for (const std::int32_t f : feature_) {
            if (f < 0 || f >= columns()) throw std::invalid_argument("'feature' must count the features from 0.");
            features_ = std::max(features_, f + 1);
        }
        if (most_ < 0) throw std::invalid_argument("'most' must not be negative.");
        for (auto& set : barred_) {
            std::sort(set.begin(), set.end());
            set.erase(std::unique(set.begin(), set.end()), set.end());
            if (set.empty() || set.front() < 0 || set.back() >= features_)
                throw std::invalid_argument("A barred set must hold some of the features.");
        }
        free_.assign(static_cast<std::size_t>(features_), 0);
        for (const std::int32_t f : free) {
            if (f < 0 || f >= features_) throw std::invalid_argument("'free' must name some of the features.");
            free_[f] = 1;
        }
    }

    std::int32_t features() const { return features_; }
    std::int32_t columns() const { return static_cast<std::int32_t>(feature_.size()); }
    std::int32_t of(std::int32_t column) const { return feature_[column]; }
    std::int32_t most() const { return most_; }
    bool is_free(std::int32_t feature) const { return free_[feature] != 0; }
    // How many of these features count.
    std::int32_t count(const Features& features) const {
        std::int32_t found = 0;
        for (std::int32_t f = 0; f < features_; ++f) found += features[f] && !free_[f];
        return found;
    }
    // Whether exactly these features may change together.
    bool allows(const Features& changed) const {
        if (count(changed) > most_) return false;
        return std::none_of(barred_.begin(), barred_.end(), [&](const auto& set) {
            return std::all_of(set.begin(), set.end(), [&](std::int32_t f) { return changed[f]; });
        });
    }

    // Which of the others must stay where these change for certain, into `kept`; false where these are too many.
    bool settle(const Features& changed, Features& kept) const {
        const std::int32_t counted = count(changed);
        if (counted > most_) return false;
        kept.assign(features_, 0);
        if (counted == most_)
            for (std::int32_t f = 0; f < features_; ++f) kept[f] = !changed[f] && !free_[f];
        for (const auto& set : barred_) {
            std::int32_t open = 0, last = -1;
            for (const std::int32_t f : set)
                if (!changed[f]) {
                    ++open;
                    last = f;
                }
            if (open == 0) return false;
            if (open == 1) kept[last] = 1;
        }
        return true;
    }

    // Keep the features of a box at the start that may not change beside those that do everywhere in it, which go to
    // `changed`; false where these are too many already. The nearest point of the box stays the same.
    bool keep(Box& box, Features& changed, Features& kept) const {
        changed.assign(features_, 0);
        for (std::int32_t j = 0; j < box.size(); ++j) {
            const std::int32_t start = box.located().column(j).start;
            if (start < box[j].low || start > box[j].high) changed[feature_[j]] = 1;
        }
        if (!settle(changed, kept)) return false;
        for (std::int32_t j = 0; j < box.size(); ++j) {
            const std::int32_t start = box.located().column(j).start;
            if (kept[feature_[j]] && !box.restrict(j, start, start)) return false;
        }
        return true;
    }

    // The features of the barred sets that lie within these, into `found`; false where there is no such set.
    bool barred_within(const Features& features, Features& found) const {
        bool any = false;
        found.assign(features_, 0);
        for (const auto& set : barred_) {
            if (!std::all_of(set.begin(), set.end(), [&](std::int32_t f) { return features[f]; })) continue;
            any = true;
            for (const std::int32_t f : set) found[f] = 1;
        }
        return any;
    }

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
