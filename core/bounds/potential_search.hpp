// Best-first search over boxes for a few plans, each by itself, with bounds by potentials: few boxes, and dear ones.
//
// A box belongs to one plan. It inherits the potentials of the box that it is a half of, which need a sweep or two to
// suit it. The search is over when no box is left whose bound lies below the nearest context that was found.
//
// Boxes are bounded the better, the less far a context may be. So the search first aims at contexts a little farther
// than what is ruled out already, and begins anew, aiming farther, where there are none.
//
// As long as no context is known there may be none at all, which a bound on distances proves slowly: it has to rise
// beyond everything. So the search first asks whether any context counts, however far away it is. Most plans are then
// ruled out at their first box, and for good.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/best_first.hpp"
#include "base/deadline.hpp"
#include "base/node_store.hpp"
#include "base/settings.hpp"
#include "bounds/potentials.hpp"

namespace whence {

inline double farthest(const Located& located) {
    double total = 0.0;
    for (std::int32_t j = 0; j < located.grid().columns(); ++j) {
        double most = 0.0;
        for (std::int32_t c = 0; c <= located.grid().last_cell_of(j); ++c)
            if (located.distance(j, c) < kInfinity) most = std::max(most, located.distance(j, c));
        total += most;
    }
    return total;
}

class PotentialSearch {
public:
    // `worth` says what each leaf adds to the excess of a plan, one row a plan; a context counts where the sum over
    // trees is at most tau for one of them. No such context is nearer than what was `proved` before.
    PotentialSearch(const Located& located, std::vector<std::vector<double>> worth, double tau, double proved = 0.0)
        : located_(located),
          stretches_(located.grid()),
          worth_(std::move(worth)),
          tau_(tau),
          far_(farthest(located)),
          proved_(std::max(0.0, proved)),
          aim_(proved_ > 0.0 ? kSettings.potentials.aim * proved_ : kInfinity),
          farther_(kSettings.potentials.aim),
          whole_(worth_.size()),
          possible_(worth_.size(), 1),
          potentials_(stretches_, located),
          box_(located),
          reach_(located),
          cells_(located.grid().columns()),
          cheapest_(located.grid().columns()),
          here_(located.grid().trees()),
          found_(located.grid().columns()) {
        for (const auto& row : worth_)
            if (row.size() != static_cast<std::size_t>(located.grid().leaves()))
                throw std::invalid_argument("A plan must have one number a leaf.");
    }

    struct Slice {
        bool proved;   // whether the context found is the nearest one,
        double bound;  // no context is nearer than this: infinite where there is none
    };

    // Search on for so many boxes or until the deadline, for contexts nearer than the cutoff. Where that is infinite,
    // and a first context is found, the slice ends: it may be the next one's cutoff.
    Slice advance(std::int64_t boxes, double cutoff, const Deadline& deadline) {
        if (!begun_) {
            begun_ = true;
            anywhere_ = cutoff == kInfinity;
            begin_all();
        }
        Budget budget(std::max<std::int64_t>(1, boxes), deadline);
        if (anywhere_ && cutoff == kInfinity && distance_ == kInfinity) return find_any(budget, deadline);
        if (anywhere_) end_anywhere();
        const auto limit = [&] { return std::min({cutoff, distance_, aim_}); };
        do {
            waiting_.run(budget, limit, [&](const Open& next) {
                examine(next, limit(), deadline);
                return false;
            });
            if (bound() < limit()) return {false, bound()};
        } while (aim_farther(cutoff));
        return distance_ < cutoff ? Slice{true, distance_} : Slice{false, bound()};
    }

    // The nearest context found so far, and its distance: infinite where there is none.
    const Cells& cells() const { return found_; }
    double distance() const { return distance_; }
    std::int64_t examined() const { return examined_; }
    // About how much memory the boxes that wait take.
    std::size_t bytes() const { return counted_.bytes() + waiting_.bytes(); }

private:
    // What the halves of a box begin with.
    struct Kept {
        std::vector<Interval> box;
        std::vector<std::uint64_t> words;
        std::vector<float> potentials;
        double multiplier;
    };
    struct Waiting {
        std::shared_ptr<const Kept> kept;  // none for the whole space
        std::int32_t plan = -1, column = 0, first = 0, last = 0;
    };
    struct Face {
        std::int32_t column, cell;
        bool to_high;  // whether more trees lie above it than below
    };
    using Open = BestFirst<Waiting>::Open;

    struct Learned {
        std::vector<float> potentials;
        double multiplier = 0.0, first = 0.0;  // the present multiplier, and the one that it all began with
    };

    // Begin with the whole space for every plan that is possible.
    void begin_all() {
        waiting_.clear();
        kept_numbers_ = halves_ = 0;
        for (std::size_t z = 0; z < worth_.size(); ++z) {
            if (!possible_[z]) continue;
            Waiting whole;
            whole.plan = static_cast<std::int32_t>(z);
            waiting_.push(anywhere_ ? -kInfinity : proved_, std::move(whole));
        }
    }

    // Look for any context, however far away.
    Slice find_any(Budget& budget, const Deadline& deadline) {
        waiting_.run(
            budget, [] { return kInfinity; },
            [&](const Open& next) {
                examine(next, kInfinity, deadline);
                return distance_ < kInfinity;
            });
        return {false, distance_ == kInfinity && waiting_.empty() ? kInfinity : proved_};
    }
    // From now on look for the nearest context, of the plans of which a box is left.
    void end_anywhere() {
        std::fill(possible_.begin(), possible_.end(), 0);
        waiting_.each([&](const Waiting& one) {
            if (one.plan >= 0) possible_[static_cast<std::size_t>(one.plan)] = 1;
        });
        anywhere_ = false;
        begin_all();
    }
    // What was ruled out is nearer than this; where that is where one aimed at, and nothing was found, aim farther.
    bool aim_farther(double cutoff) {
        if (aim_ >= std::min(cutoff, distance_) || aim_ > far_) return false;
        proved_ = aim_;
        aim_ *= farther_;
        farther_ *= kSettings.potentials.farther;
        begin_all();
        return true;
    }
    // Keep what the whole space has learned for the next time that one begins with it. Where it was ruled out, that is
    // what it had learned until then: from there on the multiplier grows beyond all bounds.
    void remember() {
        if (best_.potentials.empty()) return;
        Learned& own = whole_[static_cast<std::size_t>(plan_)];
        own.potentials = best_.potentials;
        own.multiplier = best_.multiplier;
        // What was dropped may be near enough the next time.
        std::replace(own.potentials.begin(), own.potentials.end(), std::numeric_limits<float>::infinity(), 0.0F);
    }

    double bound() const { return std::max(proved_, waiting_.bound()); }

    void examine(const Open& next, double cutoff, const Deadline& deadline) {
        const Waiting& waiting = next.node;
        // The first boxes of all plans come before the halves of any.
        if (!next.at_once)
            into_depth_ = waiting.kept != nullptr && (anywhere_ || ++halves_ % kSettings.potentials.dive_every == 1);
        ++examined_;
        plan_ = waiting.plan;
        if (open(waiting, cutoff)) {
            begin(waiting, cutoff);
            const bool whole = waiting.kept == nullptr;
            const double own = anywhere_ ? improve_anywhere(whole, deadline) : improve(whole, cutoff, deadline);
            const double bound = std::max(next.key, own);
            if (bound < kInfinity) round(cutoff);
            if (whole && !anywhere_) remember();
            if (bound < std::min(cutoff, distance_) && potentials_.narrow(box_, reach_)) {
                // Its nearest point is another one now, and perhaps the only one left.
                near_ = box_.project(cells_);
                look(cells_, near_);
                if (near_ < std::min(cutoff, distance_)) split(anywhere_ ? bound : std::max(bound, near_), plan_);
            }
        }
        // The last half of a box frees what it began with.
        if (waiting.kept != nullptr && waiting.kept.use_count() == 1)
            kept_numbers_ -= static_cast<std::int64_t>(waiting.kept->potentials.size());
    }

    // Lay out a box; false where nothing in it is nearer than the cutoff but, perhaps, what was found.
    bool open(const Waiting& waiting, double cutoff) {
        if (!box_.reset()) return false;
        if (waiting.kept != nullptr) {
            for (std::int32_t j = 0; j < box_.size(); ++j) box_[j] = waiting.kept->box[j];
            if (!box_.restrict(waiting.column, waiting.first, waiting.last)) return false;
        }
        near_ = box_.project(cells_);
        if (near_ >= cutoff) return false;
        look(cells_, near_);
        if (distance_ <= near_) return false;
        if (cutoff < kInfinity && !box_.tighten(cells_, cutoff - near_)) return false;
        reach_.gather_near(box_, cells_, cutoff - near_);
        if (waiting.kept != nullptr) reach_.keep(waiting.kept->words);
        return potentials_.turn_to(box_, reach_, worth(), tau_);
    }

    // What the plan of the box is worth at a context.
    double total_at(const Cells& cells) {
        located_.grid().leaves_at(cells, here_);
        double total = 0.0;
        for (const std::int32_t leaf : here_) total += worth()[leaf];
        return total;
    }
    // A context is found where the plan of the box counts.
    void look(const Cells& cells, double distance) {
        if (distance >= distance_ || total_at(cells) > tau_) return;
        found_ = cells;
        for (std::int32_t j = 0; j < box_.size(); ++j) pull_back(j);
        distance_ = located_.distance_of(found_);
    }

    // Move what was found along a column as near to the start as it may be.
    void pull_back(std::int32_t j) {
        const Column& column = located_.column(j);
        if (column.group >= 0) return;
        const std::int32_t own = found_[j];
        const std::int32_t step = own < column.start ? -1 : 1;
        for (std::int32_t cell = column.start; cell != own; cell += step) {
            if (located_.distance(j, cell) == kInfinity) continue;
            found_[j] = cell;
            if (total_at(found_) <= tau_) return;
        }
        found_[j] = own;
    }

    void begin(const Waiting& waiting, double cutoff) {
        potentials_.count_distance(!anywhere_);
        if (waiting.kept != nullptr) {
            potentials_.begin_with(waiting.kept->potentials, waiting.kept->multiplier);
            return;
        }
        if (anywhere_) {
            potentials_.begin_with({}, potentials_.spread() > 0.0 ? 1.0 / potentials_.spread() : 1.0);
            return;
        }
        Learned& own = whole_[static_cast<std::size_t>(plan_)];
        if (!own.potentials.empty()) {
            potentials_.begin_with(own.potentials, own.multiplier);
            return;
        }
        const double over = total_at(cells_) - tau_;
        const double distance = std::min(cutoff, kSettings.potentials.unknown * far_);
        own.first = kSettings.potentials.first_multiplier * distance /
                    std::max({over, kSettings.potentials.least_short * potentials_.spread(),
                              std::numeric_limits<double>::min()});
        potentials_.begin_with({}, own.first);
    }

    // Improve the potentials; the best bound met, with the potentials that it was met with. A multiplier that is on its
    // way may lower the bound, and one that has gone astray does not come back soon: halves must not inherit it.
    double improve(bool whole, double cutoff, const Deadline& deadline) {
        const double width =
            std::max(1e-300, kSettings.potentials.width * std::min(cutoff, kSettings.potentials.unknown * far_));
        const double most = kSettings.potentials.most_multiplier * whole_[static_cast<std::size_t>(plan_)].first;
        double best = -kInfinity;
        best_.potentials.clear();
        const std::int32_t sweeps = whole ? kSettings.potentials.whole_sweeps : kSettings.potentials.sweeps;
        for (std::int32_t i = 0; i <= sweeps; ++i) {
            if (i > 0) potentials_.sweep(i % 2 == 1);
            if (i > 0)
                potentials_.search_multiplier(width, kSettings.potentials.factor, most);
            else
                potentials_.evaluate(width);
            if (potentials_.bound() > best && potentials_.bound() < cutoff) {
                best_.multiplier = potentials_.multiplier();
                best_.potentials = potentials_.potentials();
            }
            best = std::max(best, potentials_.bound());
            // Numbers beyond all bounds rule out nothing.
            if (best >= cutoff || deadline.passed() || !std::isfinite(potentials_.bound())) break;
            if (i == 0) continue;
            potentials_.drop_dear(cutoff - potentials_.bound());
            if (potentials_.multiplier() < most)
                potentials_.adjust((whole ? kSettings.potentials.whole_step : kSettings.potentials.step) /
                                   (1.0 + kSettings.potentials.slower * (i - 1)));
        }
        if (best < cutoff && best > -kInfinity) {
            potentials_.return_to(best_.potentials, best_.multiplier);
            potentials_.evaluate(width);
        }
        return best;
    }

    // The same where distances do not count: infinite where no context of the box counts, otherwise at most 0.
    double improve_anywhere(bool whole, const Deadline& deadline) {
        double best = -kInfinity;
        for (std::int32_t i = 0; i <= (whole ? kSettings.potentials.whole_sweeps : kSettings.potentials.sweeps); ++i) {
            if (i > 0) potentials_.sweep(i % 2 == 1);
            potentials_.evaluate(kSettings.potentials.width);
            if (potentials_.bound() > 0.0) return kInfinity;
            if (!std::isfinite(potentials_.bound())) break;
            best = std::max(best, potentials_.bound());
            if (deadline.passed()) break;
            if (i > 0) potentials_.drop_dear(-potentials_.bound());
        }
        return best;
    }

    // Look at the context that the columns would choose by themselves.
    void round(double cutoff) {
        if (located_.grouped()) return;  // two categories might be on
        double distance = 0.0;
        for (std::int32_t j = 0; j < box_.size(); ++j) {
            cheapest_[j] = potentials_.cheapest_cell(j);
            distance += located_.distance(j, cheapest_[j]);
        }
        if (distance < cutoff) look(cheapest_, distance);
    }

    // The face that divides the best leaves of the trees most evenly.
    std::optional<Face> face() {
        const Grid& grid = located_.grid();
        left_.assign(static_cast<std::size_t>(grid.faces()), 0);
        right_.assign(static_cast<std::size_t>(grid.faces()), 0);
        for (const std::int32_t leaf : potentials_.best())
            for (const PathEntry& entry : grid.path(leaf)) {
                const Interval& own = box_[entry.column];
                if (own.low <= entry.high && entry.high < own.high) ++left_[grid.first_face(entry.column) + entry.high];
                if (own.low < entry.low && entry.low <= own.high)
                    ++right_[grid.first_face(entry.column) + entry.low - 1];
            }
        std::optional<Face> chosen;
        std::int64_t best = -1;
        const std::int64_t trees = grid.trees() + 1;
        for (std::int32_t j = 0; j < box_.size(); ++j) {
            const std::int32_t base = grid.first_face(j), first = box_[j].low, last = box_[j].high - 1;
            for (std::int32_t c = first + 1; c <= last; ++c) left_[base + c] += left_[base + c - 1];
            for (std::int32_t c = last - 1; c >= first; --c) right_[base + c] += right_[base + c + 1];
            for (std::int32_t c = first; c <= last; ++c) {
                const auto [fewer, more] = std::minmax(left_[base + c], right_[base + c]);
                const std::int64_t score = fewer * trees + more;
                if (score <= best) continue;
                best = score;
                chosen = Face{j, c, right_[base + c] > left_[base + c]};
            }
        }
        return chosen;
    }

    void split(double key, std::int32_t plan) {
        const auto at = face();
        if (!at) return;  // a single cell
        Kept own;
        for (std::int32_t j = 0; j < box_.size(); ++j) own.box.push_back(box_[j]);
        own.words = reach_.words();
        own.multiplier = potentials_.multiplier();
        if (kept_numbers_ < kSettings.potentials.kept_numbers) {
            const auto& potentials = potentials_.potentials();
            own.potentials.assign(potentials.begin(), potentials.end());
            kept_numbers_ += static_cast<std::int64_t>(potentials.size());
        }
        const std::size_t bytes = own.box.capacity() * sizeof(Interval) + own.words.capacity() * sizeof(std::uint64_t) +
                                  own.potentials.capacity() * sizeof(float);
        const auto kept = counted_.make(std::move(own), bytes);
        const Interval cut = box_[at->column];
        Waiting low{kept, plan, at->column, cut.low, at->cell}, high{kept, plan, at->column, at->cell + 1, cut.high};
        if (into_depth_) {
            // The half that more trees ask for.
            if (at->to_high) std::swap(low, high);
            waiting_.push_next(key, std::move(low));
        } else {
            waiting_.push(key, std::move(low));
        }
        waiting_.push(key, std::move(high));
    }

    const double* worth() const { return worth_[static_cast<std::size_t>(plan_)].data(); }

    const Located& located_;
    Stretches stretches_;
    std::vector<std::vector<double>> worth_;
    double tau_, far_;
    double proved_, aim_, farther_;  // what is ruled out, what is aimed at, and by how much farther one aims next
    std::vector<Learned> whole_;     // of the whole space, by plan
    std::vector<char> possible_;     // of each plan: whether there may be a context anywhere
    bool anywhere_ = false, begun_ = false;  // whether any context is looked for, however far away
    Potentials potentials_;
    Learned best_;  // what the box under way has learned, until it was ruled out
    BestFirst<Waiting> waiting_;
    Counted counted_;  // what they begin with
    std::int64_t examined_ = 0, halves_ = 0, kept_numbers_ = 0;
    bool into_depth_ = false;  // whether a half of the box under way is gone into at once

    // The box under way.
    std::int32_t plan_ = 0;
    Box box_;
    Reach reach_;
    Cells cells_, cheapest_;
    Leaves here_;
    double near_ = 0.0;
    std::vector<std::int32_t> left_, right_;

    Cells found_;
    double distance_ = kInfinity;
};

}  // namespace whence
