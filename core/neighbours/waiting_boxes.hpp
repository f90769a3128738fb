// The boxes of contexts that wait, the past contexts that each of them has to look at, which its parts share, and which
// of their axes change where only some may change together.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/best_first.hpp"
#include "base/node_store.hpp"
#include "forest/few_changes.hpp"
#include "neighbours/neighbour_space.hpp"

namespace whence::neighbours {

// A context, and its distance; infinite where there is none.
struct Found {
    double distance;
    std::vector<double> context;

    explicit Found(int dimension) : distance(kInfinity), context(dimension) {}
    // Keep the nearer one.
    void improve(double nearer, const std::vector<double>& other) {
        if (nearer >= distance) return;
        distance = nearer;
        context = other;
    }
};

template <class Members>
struct WaitingBox {
    std::vector<double> low, high;
    std::vector<char> charged;
    std::shared_ptr<const Members> members;

    void lay_out(Box& box) const {
        box.low = low;
        box.high = high;
        box.charged = charged;
    }
};

template <class Members>
class WaitingBoxes : public BestFirst<WaitingBox<Members>> {
public:
    using Shared = std::shared_ptr<const Members>;
    using BestFirst<WaitingBox<Members>>::push;

    void push(double key, const Box& box, Shared members) {
        push(key, {box.low, box.high, box.charged, std::move(members)});
    }
    // Members for the parts of a box, which hold so many bytes beside themselves.
    Shared share(Members members, std::size_t bytes) const { return counted_.make<Members>(std::move(members), bytes); }

    // About how much memory they take.
    std::size_t bytes(int dimension) const {
        const std::size_t each = static_cast<std::size_t>(dimension) * (2 * sizeof(double) + sizeof(char));
        return counted_.bytes() + BestFirst<WaitingBox<Members>>::bytes() + this->count() * each;
    }

private:
    Counted counted_;
};

class ChangingAxes {
public:
    // Where `few` is null, all may change.
    ChangingAxes(const Space& space, const FewChanges* few) : space_(space), few_(few) {}

    bool limited() const { return few_ != nullptr; }
    // All of the space.
    Box whole() const {
        Box box(space_.dimension());
        if (limited()) box.charged.assign(space_.axes.size(), 0);
        for (int j = 0; j < box.dimension(); ++j) {
            box.low[j] = space_.axes[j].lower;
            box.high[j] = space_.axes[j].upper;
        }
        return box;
    }
    // Keep the axes at the start that may not change beside those that do in the box; false where these are too many
    // already.
    bool keep(Box& box) {
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

    // Call `push` with the box in which such an axis counts as changed, and with the one in which it stays at the
    // start.
    template <class Push>
    void either_way(const Box& box, int axis, Push push) const {
        Box part = box;
        part.charged[axis] = 1;
        push(part);
        part = box;
        part.low[axis] = part.high[axis] = space_.axes[axis].start;
        push(part);
    }

    // An axis of which it has to be decided whether it changes, because too many could, `preferred` if it is one of
    // them; -1 where all that can may. For the box that was kept last.
    int undecided(const Box& box, int preferred) {
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

private:
    const Space& space_;
    const FewChanges* few_;
    FewChanges::Features changed_, others_;  // axes that count as changed in the box under way, and room to compute
};

}  // namespace whence::neighbours
