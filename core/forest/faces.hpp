// The face at which a box is split.
//
// At first a box is split next to its nearest point, so that what is near is settled first. A question that takes
// longer has to rule out nearly everything nearer, and a box is split where both halves come nearest to being settled:
// deep forests need a fifth of the boxes then.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/settings.hpp"
#include "criteria/criterion.hpp"

namespace whence {

// The face between the cells cut and cut + 1 of a column.
struct Face {
    std::int32_t column, cut;

    bool operator==(const Face&) const = default;
};

class Faces {
public:
    explicit Faces(const Located& located)
        : located_(&located),
          grid_(&located.grid()),
          score_(grid_->faces(), 0.0),
          touched_(),
          seen_(grid_->columns(), 0) {}

    // The face that separates the projection from the leaves that pull hardest, if any does.
    std::optional<Face> pulling(const OpenBox& open) {
        touched_.clear();
        for (std::size_t t = 0; t < open.gains.size(); ++t) {
            const double gain = open.gains[t];
            if (gain <= 0.0) continue;
            for (const PathEntry& entry : grid_->path(open.best[t])) {
                const std::int32_t j = entry.column, cell = open.cells[j];
                if (entry.allows(cell)) continue;
                const std::int32_t cut = cell < entry.low ? entry.low - 1 : entry.high;
                const double extra =
                    std::max(0.0, located_->distance(j, located_->towards(entry, cell)) - located_->distance(j, cell));
                double& score = score_[grid_->first_face(j) + cut];
                if (score == 0.0) touched_.push_back({j, cut});
                score += gain * (extra + 1e-4);
            }
        }
        std::optional<Face> chosen;
        double best = 0.0;
        for (const Face& face : touched_) {
            double& score = score_[grid_->first_face(face.column) + face.cut];
            if (score > best) {
                chosen = face;
                best = score;
            }
            score = 0.0;
        }
        return chosen;
    }

    // A face inside the box that bounds the region with the same leaves as the projection, if there is one.
    std::optional<Face> around(const OpenBox& open) const {
        for (const std::int32_t leaf : open.here)
            for (const PathEntry& entry : grid_->path(leaf)) {
                if (entry.low > open.box[entry.column].low) return Face{entry.column, entry.low - 1};
                if (entry.high < open.box[entry.column].high) return Face{entry.column, entry.high};
            }
        return std::nullopt;
    }
    // The face that brings both halves nearest to being settled, if any does: because their bounds rise, or because one
    // of them lies farther away. A half that is `cutoff` away is settled.
    std::optional<Face> sharpest(const OpenBox& open, const Criterion& criterion, double cutoff) {
        lift_.resize(grid_->cells());
        price_.resize(grid_->leaves());
        const Asked asked = Faces::asked(open);
        for (std::int32_t t = asked.first; t < asked.last; ++t) lift(open, criterion, t, asked.slack);
        return most_settled(open, asked.slack, cutoff);
    }

private:
    // By how much the bound of either half would rise if the box were split after the cell, as differences to the cell
    // before.
    struct Lift {
        double before = 0.0, after = 0.0;
    };
    struct Step {
        double value;
        std::int32_t to;
    };

    // The trees that a split is chosen for, and what their bounds leave: those of the isolation forest where the
    // projection is not plausible though the criterion holds, otherwise those of the criterion.
    struct Asked {
        std::int32_t first, last;
        double slack;
    };

    static Asked asked(const OpenBox& open) {
        if (open.plausible == nullptr || !open.stands) return {0, open.trees, open.slack};
        return {open.plausible->first_tree(), open.reach.trees(), open.plausible_slack};
    }
    // The reached leaves of a tree and what each of them is worth.
    void list_leaves(const OpenBox& open, const Criterion& criterion, std::int32_t tree) {
        listed_.clear();
        open.reach.each(tree, [&](std::int32_t leaf) { listed_.push_back(leaf); });
        if (listed_.size() < 2) return;  // nothing to compare a lone leaf with
        for (const std::int32_t leaf : listed_)
            price_[leaf] = tree >= open.trees     ? open.plausible->value(leaf)
                           : !open.prices.empty() ? open.prices[leaf]
                                                  : criterion.worth(open, open.worst, tree, leaf, open.eta);
    }

    // The smallest value among the listed leaves that reach beyond `edge` in column j, and how far it reaches: towards
    // the first cell (side -1) or towards the last one (1).
    Step next_step(const OpenBox& open, std::int32_t j, std::int32_t edge, int side) const {
        Step step{kInfinity, edge};
        for (const std::int32_t leaf : listed_) {
            if (price_[leaf] > step.value) continue;
            const Interval cells = grid_->cells_of(leaf, j);
            const std::int32_t end =
                side < 0 ? std::max(open.box[j].low, cells.low) : std::min(open.box[j].high, cells.high);
            if (side * (end - edge) > 0 && (price_[leaf] < step.value || side * (end - step.to) > 0))
                step = {price_[leaf], end};
        }
        return step;
    }

    // Add up by how much a tree lifts the bound of either half, for every face.
    //
    // Only a half that keeps the tree from its best leaf gains: that with the cells before the leaf's first one, or
    // after its last one. The farther the cut lies from the leaf, the dearer are the leaves that the half is left with.
    void lift(const OpenBox& open, const Criterion& criterion, std::int32_t tree, double slack) {
        list_leaves(open, criterion, tree);
        const std::int32_t chosen = open.best[tree];
        for (const PathEntry& entry : grid_->path(chosen)) {
            const std::int32_t j = entry.column, base = grid_->first_cell(j);
            seen_[j] = 1;
            for (const int side : {-1, 1}) {
                double Lift::* half = side < 0 ? &Lift::before : &Lift::after;
                const std::int32_t end = side < 0 ? open.box[j].low : open.box[j].high;
                std::int32_t edge = side < 0 ? std::max(end, entry.low) : std::min(end, entry.high);
                while (edge != end) {
                    Step step = next_step(open, j, edge, side);
                    double gain = step.value - price_[chosen];
                    if (gain >= slack || listed_.size() > kSettings.forest.many_leaves) {
                        gain = std::min(gain, slack);
                        step.to = end;
                    }
                    lift_[base + std::min(edge, step.to)].*half += gain;
                    lift_[base + std::max(edge, step.to)].*half -= gain;
                    edge = step.to;
                }
            }
        }
    }

    // A half is settled as far as its bound rises towards what is needed, and as far as it moves away towards the
    // cutoff. Both halves count: their shares are multiplied. Between two faces at which the rises change, that one is
    // rated which is farthest from the projection.
    std::optional<Face> most_settled(const OpenBox& open, double need, double cutoff) {
        const double a_rise = need > 0.0 ? 1.0 / need : 0.0, a_step = 1.0 / (cutoff - open.near);
        std::optional<Face> chosen;
        double best = kSettings.forest.least_share * kSettings.forest.least_share;  // of a face that settles nothing
        for (std::int32_t j = 0; j < grid_->columns(); ++j) {
            if (!seen_[j]) continue;
            seen_[j] = 0;
            Lift* lifts = lift_.data() + grid_->first_cell(j);
            const auto [low, high] = open.box[j];
            const std::int32_t here = open.cells[j];
            double before = 0.0, after = 0.0;
            const auto rate = [&](std::int32_t cut) {
                const bool above = here <= cut;  // whether the half without the projection lies above
                const std::int32_t to = above ? located_->up(j, cut + 1) : located_->down(j, cut);
                const double way =
                    to < 0 ? 0.0 : std::max(0.0, located_->distance(j, to) - located_->distance(j, here));
                const double first = std::min(1.0, before * a_rise + (above ? 0.0 : way * a_step));
                const double second = std::min(1.0, after * a_rise + (above ? way * a_step : 0.0));
                const double score =
                    std::max(first, kSettings.forest.least_share) * std::max(second, kSettings.forest.least_share);
                if (score > best * (1.0 + kRounding.rises)) {
                    chosen = Face{j, cut};
                    best = score;
                }
            };
            for (std::int32_t c = low; c < high; ++c) {
                const Lift lift = lifts[c];
                lifts[c] = {};
                const bool changes = lift.before != 0.0 || lift.after != 0.0;
                if (changes && c > low && here < c) rate(c - 1);
                before += lift.before;
                after += lift.after;
                if (changes && here > c) rate(c);
            }
            lifts[high] = {};
            if (low < high && here < high) rate(high - 1);
        }
        return chosen;
    }

    const Located* located_;
    const Grid* grid_;
    std::vector<double> score_;         // of each face
    std::vector<Face> touched_;         // faces with a score
    std::vector<char> seen_;            // of each column: whether it has a lift
    std::vector<Lift> lift_;            // of each cell
    std::vector<double> price_;         // of each leaf
    std::vector<std::int32_t> listed_;  // reached leaves of one tree
};

}  // namespace whence
