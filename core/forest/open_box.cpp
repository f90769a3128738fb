#include "forest/open_box.hpp"

#include "criteria/criterion.hpp"

namespace whence {

void OpenBox::fit(const Criterion& criterion) {
    trees = box.located().grid().trees_with(criterion.leaves());
    levels.resize(criterion.rivals());
    sums.resize(criterion.etas());
    joint.resize(criterion.etas());
    criterion.make_room(*this);
}

void OpenBox::judge(const Criterion& criterion, double tau) {
    box.located().grid().leaves_at(cells, here);
    const Criterion::Excess excess = criterion.excess_in(*this, levels);
    worst = excess.worst;
    over = excess.over;
    eta_here = excess.eta;
    stands = holds = excess.over <= tau;
    if (plausible != nullptr) {
        short_by = plausible->short_by(here);
        holds = stands && short_by <= 0.0;
    }
    barred = false;
}

}  // namespace whence
