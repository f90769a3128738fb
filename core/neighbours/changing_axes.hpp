// Which axes of a box change, where only some may change together.
#pragma once

#include "forest/few_changes.hpp"
#include "neighbours/neighbour_space.hpp"

namespace whence::neighbours {

class ChangingAxes {
public:
    // Where `few` is null, all may change.
    ChangingAxes(const Space& space, const FewChanges* few) : space_(space), few_(few) {}

    bool limited() const { return few_ != nullptr; }
    // Keep the axes at the start that may not change beside those that do in the box; false where these are too many
    // already.
    bool keep(Box& box);
    // An axis of which it has to be decided whether it changes, because too many could, `preferred` if it is one of
    // them; -1 where all that can may. For the box that was kept last.
    int undecided(const Box& box, int preferred);

private:
    const Space& space_;
    const FewChanges* few_;
    FewChanges::Features changed_, others_;  // axes that count as changed in the box under way, and room to compute
};

}  // namespace whence::neighbours
