// Least costs where every tree chooses a leaf, and all trees together one part of each of several ranges.
//
// What a leaf costs at least is known for every part of every range. Trees that choose parts of their own bound the sum
// from below, and so they do where some of them pay for a part what others are paid for it. These payments rise to
// where no tree by itself prefers other parts than the rest (MPLP, see the README of core/): with a single range the
// bound is then the least over its parts of the sum of what each tree's best leaf costs there.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/settings.hpp"

namespace whence {

class CommonParts {
public:
    // A tree and its leaves: those up to `reached` can be chosen, what others up to `last` cost is only told.
    struct Chooser {
        std::int32_t tree;
        std::size_t first, reached, last;
    };

    std::vector<Chooser> trees;
    std::vector<std::int32_t> leaves;
    std::vector<std::size_t> from;  // where the parts of each range begin, and the last ones end
    std::vector<double> least;      // by leaf and part: what it costs at least
    // What each leaf costs at least: at first whatever does not depend on the parts, in the end all of it.
    std::vector<double> sums;
    std::vector<double> totals;  // of each part: what is known to be paid at least where all trees choose it

    void clear() {
        trees.clear();
        leaves.clear();
        from.assign(1, 0);
        sums.clear();
    }
    std::size_t parts() const { return from.back(); }
    std::size_t ranges() const { return from.size() - 1; }

    // Let the trees agree in so many rounds over all ranges, or until the sum of what they and others, who pay `fixed`,
    // pay at least is more than `enough`. How large the payments are that were added up.
    double agree(int rounds, double fixed, double enough) {
        const std::size_t parts = this->parts(), ranges = this->ranges();
        payments_.assign(trees.size() * parts, 0.0);
        chosen_.resize(leaves.size() * ranges);
        totals.assign(parts, -kInfinity);
        for (const Chooser& one : trees)
            for (std::size_t r = 0; r < ranges; ++r) choose(one, nullptr, r);
        // With one range there is nothing to be found out in a second round.
        for (int round = 0; round < (ranges == 1 ? 1 : rounds); ++round)
            for (std::size_t r = 0; r < ranges; ++r)
                if (settle(r, fixed) > enough) return size();
        return size();
    }

private:
    // Let one range cost the trees alike, whichever part is chosen; the least that all pay.
    double settle(std::size_t range, double fixed) {
        const std::size_t parts = this->parts(), ranges = this->ranges(), begin = from[range];
        const std::size_t count = from[range + 1] - begin;
        alone_.resize(trees.size() * count);
        total_.assign(count, 0.0);
        for (std::size_t u = 0; u < trees.size(); ++u) {
            double* alone = alone_.data() + u * count;
            std::fill(alone, alone + count, kInfinity);
            for (std::size_t i = trees[u].first; i < trees[u].reached; ++i) {
                const double rest = sums[i] - chosen_[i * ranges + range];
                const double* own = least.data() + i * parts + begin;
                for (std::size_t b = 0; b < count; ++b) alone[b] = std::min(alone[b], rest + own[b]);
            }
            const double* paid = payments_.data() + u * parts + begin;
            for (std::size_t b = 0; b < count; ++b) total_[b] += alone[b] += paid[b];
        }
        const double share = 1.0 / static_cast<double>(trees.size());
        double all = kInfinity;
        for (std::size_t b = 0; b < count; ++b) {
            totals[begin + b] = std::max(totals[begin + b], fixed + total_[b]);
            all = std::min(all, fixed + total_[b]);
        }
        for (std::size_t u = 0; u < trees.size(); ++u) {
            double* paid = payments_.data() + u * parts + begin;
            for (std::size_t b = 0; b < count; ++b) paid[b] += share * total_[b] - alone_[u * count + b];
            choose(trees[u], paid, range);
        }
        return all;
    }

    // What the leaves of a tree cost at least with their best part of a range.
    void choose(const Chooser& one, const double* paid, std::size_t range) {
        const std::size_t parts = this->parts(), begin = from[range], count = from[range + 1] - begin;
        for (std::size_t i = one.first; i < one.last; ++i) {
            const double* own = least.data() + i * parts + begin;
            double now = kInfinity;
            for (std::size_t b = 0; b < count; ++b) now = std::min(now, paid == nullptr ? own[b] : own[b] + paid[b]);
            double& before = chosen_[i * ranges() + range];
            sums[i] += paid == nullptr ? now : now - before;
            before = now;
        }
    }

    double size() const {
        double found = 0.0;
        for (const double paid : payments_) found = std::max(found, std::abs(paid));
        return found * static_cast<double>(trees.size() * ranges());
    }

    std::vector<double> payments_;       // by tree and part; those of all trees for a part add up to nothing
    std::vector<double> chosen_;         // by leaf and range: what the best part costs
    std::vector<double> alone_, total_;  // of a range: by tree and part, and by part
};

}  // namespace whence
