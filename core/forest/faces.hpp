// The face at which a box is split.
//
// At first a box is split next to its nearest point, so that what is near is settled first. A question that takes
// longer has to rule out nearly everything nearer, and a box is split where both halves come nearest to being settled:
// deep forests need a fifth of the boxes then.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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

    const Located& located() const { return *located_; }

    // The face that separates the projection from the leaves that pull hardest, if any does.
    std::optional<Face> pulling(const OpenBox& open);

    // A face inside the box that bounds the region with the same leaves as the projection, if there is one.
    std::optional<Face> around(const OpenBox& open) const;

    // The face that brings both halves nearest to being settled, if any does: because their bounds rise, or because one
    // of them lies farther away. A half that is `cutoff` away is settled.
    std::optional<Face> sharpest(const OpenBox& open, const Criterion& criterion, double cutoff);

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

    static Asked asked(const OpenBox& open);
    void list_leaves(const OpenBox& open, const Criterion& criterion, std::int32_t tree);
    Step next_step(const OpenBox& open, std::int32_t j, std::int32_t edge, int side) const;
    void lift(const OpenBox& open, const Criterion& criterion, std::int32_t tree, double slack);
    std::optional<Face> most_settled(const OpenBox& open, double need, double cutoff);

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
