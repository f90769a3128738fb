// A Lagrangian bound on the distance of a box, for searches where the plain bound stalls.
//
// Every step away from the start costs distance once, however many trees it moves to another leaf. Sharing that price
// out among the trees makes them independent: with a multiplier on the criterion, each tree picks the leaf that is
// cheapest in multiplied value plus its own share of the way, and the sum bounds the distance from below whatever the
// shares. Good shares give the trees that cross a step most of its price; they are learned on the way and kept.
//
// Steps are gathered in a few buckets a column and direction.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "base/deadline.hpp"
#include "base/settings.hpp"
#include "criteria/criterion.hpp"
#include "forest/reach.hpp"

namespace whence {

class Shares {
public:
    // `bucket` of each cell; of each bucket the distance at which it begins (`edge`), the first bucket of the same
    // column and direction (`begin`), and by bucket and tree the share of each tree (`part`, at most 1 in all).
    Shares(const Located& located, std::vector<std::int32_t> bucket, std::vector<double> edge,
           std::vector<std::int32_t> begin, std::span<const double> part)
        : located_(&located),
          trees_(static_cast<std::size_t>(located.grid().trees())),
          bucket_(std::move(bucket)),
          edge_(std::move(edge)),
          begin_(std::move(begin)),
          shares_(part.size()),
          way_(located.grid().leaves()),
          price_(located.grid().leaves()),
          touched_(edge_.size(), 0) {
        const auto buckets = static_cast<std::int32_t>(edge_.size());
        const auto is_bucket = [&](std::int32_t b) { return b >= 0 && b < buckets; };
        if (bucket_.size() != located.distances().size() || !std::all_of(bucket_.begin(), bucket_.end(), is_bucket))
            throw std::invalid_argument("'bucket' must name a bucket of every cell.");
        if (begin_.size() != edge_.size() || !std::all_of(begin_.begin(), begin_.end(), is_bucket))
            throw std::invalid_argument("'begin' must name a first bucket of every bucket.");
        if (part.size() != edge_.size() * trees_)
            throw std::invalid_argument("'part' must hold a share of every bucket and tree.");
        for (std::size_t i = 0; i < part.size(); ++i) shares_[i] = {part[i], 0.0};
        pay_before(0, buckets);
    }

    const Located& located() const { return *located_; }

    struct Lesson {
        std::int32_t rounds;  // how often the shares and the multiplier learn, and one more bound is taken
        double rate;          // how much at first
        Deadline deadline{};  // no further round after it
    };

    // Lower bound on the distance of the criterion over a box. ``open.joint`` receives for every eta the best bound
    // under that eta; leaves that no explanation nearer than `cutoff` can use are dropped.
    double bound(OpenBox& open, const Criterion& criterion, double tau, double cutoff, Lesson lesson) {
        const EtaRange range = open.etas;
        std::fill(open.joint.begin() + range.first, open.joint.begin() + range.last + 1, -kInfinity);
        for (std::int32_t i = 0; i < lesson.rounds; ++i) {
            const auto [slope, short_by] = choose(open, criterion);
            for (std::int32_t k = range.first; k <= range.last; ++k)
                open.joint[k] = std::max(open.joint[k], open.near + open.sums[k] - multiplier_ * tau);
            const double now = open.near + open.sums[range.first] - multiplier_ * tau;
            // With several etas left the prices are those of one of them, and say nothing about the others.
            if (range.first == range.last && now < cutoff && cutoff < kInfinity)
                drop_unaffordable(open, cutoff - now + 1e-9 * std::max(1.0, cutoff));
            if (i == lesson.rounds - 1 || lesson.deadline.passed()) break;
            const double step = lesson.rate / (1.0 + 0.05 * i);
            learn(open.best, open.cells, step);
            multiplier_ *= slope > tau ? 1.0 + step : 1.0 / (1.0 + step);
            longing_ *= short_by > 0.0 ? 1.0 + step : 1.0 / (1.0 + step);
        }
        return *std::min_element(open.joint.begin() + range.first, open.joint.begin() + range.last + 1);
    }

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
    // Whether one of the first entries of a path asks for another category of a group.
    bool left_before(std::span<const PathEntry> path, std::size_t end, const Cells& cells, std::int32_t group) const {
        for (const PathEntry& entry : path.first(end))
            if (located_->column(entry.column).group == group && !entry.allows(cells[entry.column])) return true;
        return false;
    }

    // The tree's share of the way from the projection to a leaf.
    double way(std::int32_t tree, std::int32_t leaf, const Cells& cells) const {
        double total = 0.0;
        const auto path = located_->grid().path(leaf);
        for (std::size_t i = 0; i < path.size(); ++i) {
            const PathEntry& entry = path[i];
            const std::int32_t cell = cells[entry.column];
            if (entry.allows(cell)) continue;
            const Column& column = located_->column(entry.column);
            if (column.group < 0) {
                total += paid(tree, column.base + located_->towards(entry, cell)) - paid(tree, column.base + cell);
            } else if (column.home >= 0 && cells[column.home] > 0 && !left_before(path, i, cells, column.group)) {
                // Whichever category is asked for, the price is that of leaving the initial one, paid once.
                total += paid(tree, located_->column(column.home).base);
            }
        }
        return total;
    }

    // What the chosen leaves say: the worth of those of the criterion, and what isolation paths are short of.
    struct Chosen {
        double worth, short_by;
    };

    // Choose for every tree the leaf with the smallest multiplied worth plus way: those at the eta with the smallest
    // sum, which goes to ``open.sums``.
    Chosen choose(OpenBox& open, const Criterion& criterion) {
        const auto trees = static_cast<std::int32_t>(trees_);
        for (std::int32_t t = 0; t < trees; ++t)
            open.reach.each(t, [&](std::int32_t leaf) { way_[leaf] = way(t, leaf, open.cells); });
        const std::int32_t eta = criterion.cheapest_eta(open, multiplier_, way_);
        double total = 0.0, slope = 0.0;
        for (std::int32_t t = 0; t < open.trees; ++t) {
            Least least;
            double chosen = 0.0;
            open.reach.each(t, [&](std::int32_t leaf) {
                const double worth = criterion.worth(open, open.worst, t, leaf, eta);
                price_[leaf] = multiplier_ * worth + way_[leaf];
                least.take(price_[leaf], leaf);
                if (least.leaf == leaf) chosen = worth;
            });
            if (least.leaf >= 0) open.best[t] = least.leaf;
            total += least.value;
            slope += chosen;
        }
        open.sums[eta] = total;
        if (open.plausible == nullptr) return {slope, 0.0};
        // The same for the isolation trees.
        const std::int32_t last = open.reach.trees();
        const auto price = [&](std::int32_t, std::int32_t leaf) {
            return price_[leaf] = longing_ * open.plausible->value(leaf) + way_[leaf];
        };
        const double further = least_sum(open.reach, open.trees, last, price, open.best);
        for (std::int32_t k = open.etas.first; k <= open.etas.last; ++k) open.sums[k] += further;
        double short_by = 0.0;
        for (std::int32_t t = open.trees; t < last; ++t) short_by += open.plausible->value(open.best[t]);
        return {slope, short_by};
    }

    // Drop the leaves that would lift the bound by `room` or more.
    void drop_unaffordable(OpenBox& open, double room) const {
        for (std::size_t t = 0; t < trees_; ++t) {
            const double most = price_[open.best[t]] + room;
            open.reach.drop(static_cast<std::int32_t>(t), [&](std::int32_t leaf) { return price_[leaf] >= most; });
        }
    }

    // Give more of the price of a step to the trees that take it.
    void learn(const Leaves& leaves, const Cells& cells, double rate) {
        std::fill(touched_.begin(), touched_.end(), 0);
        for (std::size_t t = 0; t < trees_; ++t)
            for (const PathEntry& entry : located_->grid().path(leaves[t]))
                if (!entry.allows(cells[entry.column])) favour(static_cast<std::int32_t>(t), entry, cells, rate);
        const auto buckets = static_cast<std::int32_t>(edge_.size());
        for (std::int32_t b = 0; b < buckets; ++b)
            if (touched_[b]) share_out(b);
        for (std::int32_t first = 0, last; first < buckets; first = last) {
            bool changed = false;
            for (last = first; last < buckets && begin_[last] == begin_[first]; ++last) changed |= touched_[last] != 0;
            if (changed) pay_before(first, last);
        }
    }

    // A tree whose leaf asks for the entry takes all steps between the projection and the entry's cells.
    void favour(std::int32_t tree, const PathEntry& entry, const Cells& cells, double rate) {
        const Column& column = located_->column(entry.column);
        const std::int32_t cell = cells[entry.column];
        std::int32_t first = bucket_[column.base + cell];
        std::int32_t last = bucket_[column.base + located_->towards(entry, cell)];
        if (column.group >= 0) {
            if (column.home < 0 || cells[column.home] == 0) return;
            first = last = bucket_[located_->column(column.home).base];
        } else if (cell == column.start) {
            first = begin_[last];
        }
        for (std::int32_t b = first; b <= last; ++b) {
            shares_[static_cast<std::size_t>(b) * trees_ + tree].part *= 1.0 + rate;
            touched_[b] = 1;
        }
    }

    // Scale the shares of a bucket so that they are 1 in all.
    void share_out(std::int32_t bucket) {
        Share* own = shares_.data() + static_cast<std::size_t>(bucket) * trees_;
        double total = 0.0;
        for (std::size_t t = 0; t < trees_; ++t) total += own[t].part;
        for (std::size_t t = 0; t < trees_; ++t) own[t].part /= total;
    }

    // What was paid before a bucket begins follows from the buckets nearer to the start.
    void pay_before(std::int32_t first, std::int32_t last) {
        for (std::int32_t b = first; b < last; ++b) {
            Share* own = shares_.data() + static_cast<std::size_t>(b) * trees_;
            if (begin_[b] == b) {
                for (std::size_t t = 0; t < trees_; ++t) own[t].before = 0.0;
                continue;
            }
            const Share* nearer = own - trees_;
            const double width = edge_[b] - edge_[b - 1];
            for (std::size_t t = 0; t < trees_; ++t) own[t].before = nearer[t].before + nearer[t].part * width;
        }
    }

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
