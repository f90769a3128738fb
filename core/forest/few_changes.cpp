#include "forest/few_changes.hpp"

#include <algorithm>
#include <stdexcept>

namespace whence {

FewChanges::FewChanges(std::vector<std::int32_t> feature, std::int32_t most,
                       std::vector<std::vector<std::int32_t>> barred, const std::vector<std::int32_t>& free)
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

std::int32_t FewChanges::count(const Features& features) const {
    std::int32_t found = 0;
    for (std::int32_t f = 0; f < features_; ++f) found += features[f] && !free_[f];
    return found;
}

bool FewChanges::allows(const Features& changed) const {
    if (count(changed) > most_) return false;
    return std::none_of(barred_.begin(), barred_.end(), [&](const auto& set) {
        return std::all_of(set.begin(), set.end(), [&](std::int32_t f) { return changed[f]; });
    });
}

bool FewChanges::settle(const Features& changed, Features& kept) const {
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

bool FewChanges::keep(Box& box, Features& changed, Features& kept) const {
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

bool FewChanges::barred_within(const Features& features, Features& found) const {
    bool any = false;
    found.assign(features_, 0);
    for (const auto& set : barred_) {
        if (!std::all_of(set.begin(), set.end(), [&](std::int32_t f) { return features[f]; })) continue;
        any = true;
        for (const std::int32_t f : set) found[f] = 1;
    }
    return any;
}

}  // namespace whence
