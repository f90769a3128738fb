#include "open_box.hpp"

#include "criterion.hpp"

namespace whence {

void OpenBox::judge(const Criterion& criterion, double tau) {
    box.located().grid().leaves_at(cells, here);
    const Criterion::Excess excess = criterion.excess(here, etas, levels);
    worst = excess.worst;
    holds = excess.over <= tau;
    barred = false;
}

}  // namespace whence
