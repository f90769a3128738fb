#include "neighbours/changing_axes.hpp"

namespace whence::neighbours {

bool ChangingAxes::keep(Box& box) {
    changed_.assign(box.dimension(), 0);
    for (int j = 0; j < box.dimension(); ++j) {
        const double start = space_.axes[j].start;
        changed_[j] = box.charged[j] || start < box.low[j] || start > box.high[j];
    }
    if (!few_->settle(changed_, others_)) return false;
    for (int j = 0; j < box.dimension(); ++j) {
        if (others_[j]) box.low[j] = box.high[j] = space_.axes[j].start;
    }
    return true;
}

int ChangingAxes::undecided(const Box& box, int preferred) {
    FewChanges::Features all = changed_;
    for (int j = 0; j < box.dimension(); ++j) all[j] = changed_[j] || box.moves(j);
    if (few_->allows(all)) return -1;
    // Where there are not too many of them, it is one of those that are barred together.
    const bool many = few_->count(all) > few_->most();
    if (many) {
        others_ = all;
    } else {
        few_->barred_within(all, others_);
    }
    int widest = -1;
    for (int j = 0; j < box.dimension(); ++j) {
        if (changed_[j] || !all[j] || !others_[j] || (many && few_->is_free(j))) continue;
        if (j == preferred) return j;
        if (widest < 0 || box.high[j] - box.low[j] > box.high[widest] - box.low[widest]) widest = j;
    }
    return widest;
}

}  // namespace whence::neighbours
