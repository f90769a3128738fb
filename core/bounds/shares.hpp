// A Lagrangian bound on the distance of a box, for searches where the plain bound stalls.
//
// Every step away from the start costs distance once, however many trees it moves to another leaf. Sharing that price
// out among the trees makes them independent: with a multiplier on the criterion, each tree picks the leaf that is
// cheapest in multiplied value plus its own share of the way, and the sum bounds the distance from below whatever the
// shares. Good shares give the trees that cross a step most of its price; they are learned on the way and kept.
//
// Steps are gathered in a few buckets a column and direction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/deadline.hpp"
#include "criteria/criterion.hpp"

namespace whence {

class Shares {
public:
    // `bucket` of each cell; of each bucket the distance at which it begins (`edge`), the first bucket of the same
    // column and direction (`begin`), and by bucket and tree the share of each tree (`part`, at most 1 in all).
    Shares(const Located& located, std::vector<std::int32_t> bucket, std::vector<double> edge,
           std::vector<std::int32_t> begin, std::span<const double> part);

    const Located& located() const { return *located_; }

    struct Lesson {
        std::int32_t rounds;  // how often the shares and the multiplier learn, and one more bound is taken
        double rate;          // how much at first
        Deadline deadline{};  // no further round after it
    };

    // Lower bound on the distance of the criterion over a box. ``open.joint`` receives for every eta the best bound
    // under that eta; leaves that no explanation nearer than `cutoff` can use are dropped.
    double bound(OpenBox& open, const Criterion& criterion, double tau, double cutoff, Lesson lesson);

    double multiplier() const { return multiplier_; }
    // By bucket and tree: the share of each tree.
    std::vector<double> parts() const;

private:
    struct Share {
        double part;    // of the price of a step in the bucket
        double before;  // paid where the bucket begins
    };

    double paid(std::int32_t tree, std::int32_t cell) const {
        const std::int32_t b = bucket_[cell];
        const Share& share = shares_[static_cast<std::size_t>(b) * trees_ + tree];
        return share.before + share.part * (located_->distances()[cell] - edge_[b]);
    }
    bool left_before(std::span<const PathEntry> path, std::size_t end, const Cells& cells, std::int32_t group) const;
    double way(std::int32_t tree, std::int32_t leaf, const Cells& cells) const;
    // What the chosen leaves say: the worth of those of the criterion, and what isolation paths are short of.
    struct Chosen {
        double worth, short_by;
    };

    Chosen choose(OpenBox& open, const Criterion& criterion);
    void drop_unaffordable(OpenBox& open, double room) const;
    void learn(const Leaves& leaves, const Cells& cells, double rate);
    void favour(std::int32_t tree, const PathEntry& entry, const Cells& cells, double rate);
    void share_out(std::int32_t bucket);
    void pay_before(std::int32_t first, std::int32_t last);

    const Located* located_;
    std::size_t trees_;
    std::vector<std::int32_t> bucket_;
    std::vector<double> edge_;
    std::vector<std::int32_t> begin_;
    std::vector<Share> shares_;        // by bucket and tree
    double multiplier_ = 1.0;          // distance a unit of the criterion
    double longing_ = 1.0;             // and a unit of the length that isolation paths are short of
    std::vector<double> way_, price_;  // of each leaf
    std::vector<char> touched_;        // of each bucket: whether it is being learned about
};

}  // namespace whence
