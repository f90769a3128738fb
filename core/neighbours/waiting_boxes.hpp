// The boxes of contexts that wait, and the past contexts that each of them has to look at, which its parts share.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/best_first.hpp"
#include "base/counted.hpp"
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

}  // namespace whence::neighbours
