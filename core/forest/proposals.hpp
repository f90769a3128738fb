// Good explanations found without proof, by coordinate descent over cells.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "base/deadline.hpp"
#include "base/settings.hpp"
#include "criteria/criterion.hpp"
#include "forest/few_changes.hpp"

namespace whence {

class Proposals {
public:
    // Of exchanges: parts of its way that a column is set nearer by, and contexts that are looked at, about, for
    // another one to make up for it.
    struct Fineness {
        std::int32_t parts, looks;
    };

    // Every look at a context counts against `looks`; there are none left after the deadline. So proposals end in time
    // on forests of any size.
    Proposals(const Located& located, const Criterion& criterion, double tau, std::int64_t looks, Deadline deadline,
              const Plausibility* plausible = nullptr, const FewChanges* few = nullptr)
        : located_(located),
          criterion_(criterion),
          tau_(tau),
          looks_(looks),
          deadline_(deadline),
          plausible_(plausible),
          few_(few),
          trees_(static_cast<std::size_t>(plausible == nullptr ? located.grid().trees() : plausible->first_tree())),
          found_(kInfinity),
          best_(located.grid().columns()),
          cells_(located.grid().columns()),
          before_(located.grid().columns()),
          leaves_(located.grid().trees()),
          levels_(criterion.rivals()),
          done_(located.grid().columns()) {
        require_fit(located.grid(), criterion, plausible);
        require_fit(located.grid(), few);
        if (criterion.rivals() < 1) throw std::invalid_argument("There must be a rival.");
    }

    std::int64_t looks() const { return looks_; }
    void set_looks(std::int64_t looks) { looks_ = looks; }

    // The nearest context known that holds, and its distance; infinite as long as there is none.
    double found() const { return found_; }
    const Cells& best() const { return best_; }
    // Only contexts nearer than this count from now on.
    void set_cutoff(double cutoff) { found_ = cutoff; }
    // It is known that none nearer than this holds: it is not looked at. What climbs may pass it.
    double none_nearer() const { return none_nearer_; }
    void set_none_nearer(double distance) { none_nearer_ = distance; }

    // Try the contexts that differ from the start in one feature.
    void try_lines() {
        const auto d = static_cast<std::int32_t>(cells_.size());
        for (std::int32_t j = 0; j < d; ++j) cells_[j] = located_.column(j).start;
        for (std::int32_t j = 0; j < d && looks_ > 0; ++j) {
            if (located_.column(j).group >= 0)
                try_category(j);
            else
                try_line(j);
        }
    }

    // Pull those of the contexts (one after the other in `starts`) that hold towards the start, one column at a time;
    // at most so many of them.
    void pull_back(std::span<const std::int32_t> starts, std::int32_t improved) {
        each_start(starts, improved, [&] {
            pull();
            return true;
        });
    }
    // The same, and from there: set one column nearer to the start and another one farther away, by less, and pull what
    // holds then towards the start, as long as that leads nearer.
    void exchange(std::span<const std::int32_t> starts, std::int32_t improved, Fineness fine) {
        each_start(starts, improved, [&] {
            pull();
            if (located_.distance_of(cells_) > kSettings.forest.hopeless * found_) return false;
            for (from_ = cells_; looks_ > 0 && exchange_once(fine); from_ = cells_) pull();
            return true;
        });
    }

    // From the start, take the step that gains most for its way until the criterion holds; true where it arrived, and
    // `cells()` is then such a context. Steps that lead `cutoff` away or farther are not taken.
    bool climb(double cutoff) {
        const auto d = static_cast<std::int32_t>(cells_.size());
        for (std::int32_t j = 0; j < d; ++j) cells_[j] = located_.column(j).start;
        double now = excess(), walked = 0.0;
        if (now > tau_) missed_ = now - tau_;
        while (now > tau_ && looks_ > 0) {
            const Step step = best_step(now, walked, cutoff);
            if (step.column < 0) return false;
            walked += located_.distance(step.column, step.cell) - located_.distance(step.column, cells_[step.column]);
            cells_[step.column] = step.cell;
            now = step.excess;
        }
        return now <= tau_;
    }

    // From a context, set one column after the other to where the criterion is missed by least, however far away, until
    // it holds; true where it does, and `cells()` is then such a context. Categories stay.
    bool descend(std::span<const std::int32_t> from) {
        std::copy(from.begin(), from.end(), cells_.begin());
        double now = excess();
        for (double before = kInfinity; now < before && now > tau_ && looks_ > 0;) {
            before = now;
            for (std::int32_t j = 0; j < static_cast<std::int32_t>(cells_.size()) && now > tau_; ++j)
                if (located_.column(j).group < 0) now = set_best(j, now);
        }
        return now <= tau_;
    }

    const Cells& cells() const { return cells_; }

private:
    struct Step {
        std::int32_t column, cell;
        double excess;  // after it
    };

    // The criterion at `cells_`.
    double excess() {
        looks_ = deadline_.passed() ? 0 : looks_ - 1;
        located_.grid().leaves_at(cells_, leaves_);
        const LeafView leaves = LeafView(leaves_).first(trees_);
        const Criterion::Excess found = criterion_.excess_near(leaves, {0, criterion_.etas() - 1}, levels_, eta_);
        const double over = found.over;
        eta_ = found.eta;
        if (plausible_ == nullptr || over > tau_) return over;
        // The criterion holds: what is missing now is plausibility.
        const double short_by = plausible_->short_by(leaves_);
        return short_by <= 0.0 ? over : tau_ + std::max(short_by * missed_, std::numeric_limits<double>::denorm_min());
    }

    bool holds() { return !(located_.distance_of(cells_) < none_nearer_) && excess() <= tau_; }

    // Keep the context as the nearest one known, unless too many features differ from the start.
    void keep(double distance) {
        if (!few_with(-1)) return;
        found_ = distance;
        best_ = cells_;
    }
    // Whether as few features differ from the start as is asked for, also where a column does beside those that do.
    bool few_with(std::int32_t column) {
        if (few_ == nullptr) return true;
        changed_.assign(few_->features(), 0);
        for (std::int32_t j = 0; j < static_cast<std::int32_t>(cells_.size()); ++j)
            if (j == column || cells_[j] != located_.column(j).start) changed_[few_->of(j)] = 1;
        return few_->allows(changed_);
    }
    // Move column j of a context that holds as near to the start as bisection finds it; true where it moved.
    bool move_nearer(std::int32_t j) {
        const std::int32_t start = located_.column(j).start, own = cells_[j];
        cells_[j] = start;
        if (holds()) return true;
        cells_[j] = own;
        return close_in(j, start);
    }

    // Move column j of a context that holds towards a cell with which it does not, as far as bisection finds it to
    // hold; true where it moved.
    bool close_in(std::int32_t j, std::int32_t bad) {
        std::int32_t good = cells_[j];
        bool moved = false;
        while (std::abs(good - bad) > 1) {
            std::int32_t middle = (good + bad) / 2;
            middle = good > bad ? located_.up(j, middle) : located_.down(j, middle);
            if (middle == good || middle == bad) break;
            cells_[j] = middle;
            if (holds()) {
                good = middle;
                moved = true;
            } else {
                bad = middle;
            }
        }
        cells_[j] = good;
        return moved;
    }

    // Set a category back to the initial one where the criterion still holds; true where it moved.
    bool set_group_back(std::int32_t group) {
        before_ = cells_;
        for (std::size_t j = 0; j < cells_.size(); ++j) {
            const Column& column = located_.columns()[j];
            if (column.group == group) cells_[j] = column.start;
        }
        if (cells_ == before_) return false;
        if (holds()) return true;
        cells_ = before_;
        return false;
    }

    // The column not done yet that is farthest from the start.
    std::int32_t next_column() const {
        std::int32_t farthest = -1;
        double most = -1.0;
        for (std::int32_t j = 0; j < static_cast<std::int32_t>(cells_.size()); ++j) {
            const double away = located_.distance(j, cells_[j]);
            if (!done_[j] && away > most) {
                farthest = j;
                most = away;
            }
        }
        return farthest;
    }

    // Pull every column of a context that holds towards the start once, the farthest first; true where one moved.
    bool pull_all() {
        bool moved = false;
        std::fill(done_.begin(), done_.end(), 0);
        for (std::size_t i = 0; i < cells_.size() && looks_ > 0; ++i) {
            const std::int32_t j = next_column();
            const Column& column = located_.column(j);
            done_[j] = 1;
            if (column.group < 0) {
                if (cells_[j] != column.start) moved |= move_nearer(j);
            } else if (column.start > 0) {
                moved |= set_group_back(column.group);
            }
        }
        return moved;
    }

    // Improve those of the contexts that hold, until so many of them were worth it.
    template <class Improve>
    void each_start(std::span<const std::int32_t> starts, std::int32_t improved, Improve improve) {
        const std::size_t d = cells_.size();
        if (starts.size() % d != 0)
            throw std::invalid_argument("'starts' must have a cell of every column in each row.");
        for (std::size_t i = 0; i < starts.size() && looks_ > 0 && improved > 0; i += d) {
            for (std::size_t j = 0; j < d; ++j) {
                const Column& column = located_.columns()[j];
                if (starts[i + j] < column.first || starts[i + j] > column.last)
                    throw std::invalid_argument("'starts' must hold allowed cells.");
                cells_[j] = starts[i + j];
            }
            if (holds() && improve()) --improved;
        }
    }

    // Pull a context that holds towards the start, until no column moves any more.
    void pull() {
        for (int round = 0; round < kSettings.forest.pull_rounds && pull_all(); ++round) {
        }
        const double total = located_.distance_of(cells_);
        if (total < found_) keep(total);
    }

    // Try the category of column j instead of the initial one.
    void try_category(std::int32_t j) {
        const Column& column = located_.column(j);
        if (column.home < 0) return;
        const double price = located_.distance(column.home, 0);
        if (column.start > 0 || column.last == 0 || price >= found_) return;
        cells_[column.home] = 0;
        cells_[j] = column.last;
        if (holds()) keep(price);
        cells_[column.home] = located_.column(column.home).start;
        cells_[j] = 0;
    }

    void try_line(std::int32_t j) {
        const Column& column = located_.column(j);
        const std::int32_t stride = std::max(1, (column.last - column.first) / kSettings.forest.along_a_line);
        for (const int direction : {-1, 1}) {
            std::int32_t c = column.start + direction, before = column.start;
            while (column.first <= c && c <= column.last && looks_ > 0) {
                c = direction > 0 ? located_.up(j, c) : located_.down(j, c);
                if (located_.distance(j, c) >= found_) break;
                cells_[j] = c;
                if (holds()) {
                    close_in(j, before);
                    keep(located_.distance(j, cells_[j]));
                    break;
                }
                before = c;
                c += direction * stride;
            }
        }
        cells_[j] = column.start;
    }

    // Take the first exchange at `from_` after which the context holds; false where there is none.
    bool exchange_once(Fineness fine) {
        const auto d = static_cast<std::int32_t>(cells_.size());
        for (std::int32_t i = 0; i < d; ++i) {
            const Column& column = located_.column(i);
            const std::int32_t own = from_[i], way = own - column.start;
            if (column.group >= 0 || way == 0) continue;
            for (std::int32_t part = 0; part < fine.parts; ++part) {
                std::int32_t to = column.start + way * part / fine.parts;
                to = way > 0 ? located_.up(i, to) : located_.down(i, to);
                if (to == own) break;
                const double saved = located_.distance(i, own) - located_.distance(i, to);
                for (std::int32_t j = 0; j < d && looks_ > 0; ++j) {
                    if (j == i || located_.column(j).group >= 0) continue;
                    cells_ = from_;
                    cells_[i] = to;
                    if (few_with(j) && pay_with(j, saved, fine.looks)) return true;
                }
            }
        }
        return false;
    }

    // Move column j away from the start by less than `most`, until the context holds; true where it does.
    bool pay_with(std::int32_t j, double most, std::int32_t looks) {
        const Column& column = located_.column(j);
        const std::int32_t own = cells_[j];
        const double before = located_.distance(j, own);
        for (const int direction : {-1, 1}) {
            if (own != column.start && (own > column.start) != (direction > 0)) continue;
            const auto allowed = [&](std::int32_t c) {
                return column.first <= c && c <= column.last && located_.distance(j, c) - before < most;
            };
            // The cells that are near enough lie together.
            std::int32_t near = 0, far = direction > 0 ? column.last - own : own - column.first;
            while (near < far) {
                const std::int32_t middle = (near + far + 1) / 2, c = own + direction * middle;
                const std::int32_t to = direction > 0 ? located_.down(j, c) : located_.up(j, c);
                if (to >= 0 && allowed(to))
                    near = middle;
                else
                    far = middle - 1;
            }
            const std::int32_t stride = std::max(1, near / looks);
            for (std::int32_t way = stride; way <= near && looks_ > 0; way += stride) {
                const std::int32_t c = own + direction * way,
                                   to = direction > 0 ? located_.up(j, c) : located_.down(j, c);
                if (to < 0 || !allowed(to)) break;
                cells_[j] = to;
                if (holds()) return true;
            }
        }
        cells_[j] = own;
        return false;
    }

    // Set column j to where the criterion is missed by least; the excess there.
    double set_best(std::int32_t j, double now) {
        const Column& column = located_.column(j);
        std::int32_t best = cells_[j];
        const std::int32_t stride = std::max(1, (column.last - column.first) / kSettings.forest.along_a_line);
        for (std::int32_t c = column.first; c <= column.last && looks_ > 0; c += stride) {
            const std::int32_t to = located_.up(j, c);
            if (to < 0 || to > column.last) break;
            cells_[j] = c = to;
            const double there = excess();
            if (there >= now) continue;
            now = there;
            best = to;
        }
        cells_[j] = best;
        return now;
    }

    // The step that gains most for its way; its column is -1 where none gains.
    Step best_step(double excess_now, double walked, double cutoff) {
        Step best{-1, 0, excess_now};
        double ratio = 0.0;
        for (std::int32_t j = 0; j < static_cast<std::int32_t>(cells_.size()); ++j) {
            const Column& column = located_.column(j);
            if (column.group >= 0 || !few_with(j)) continue;
            const std::int32_t own = cells_[j];
            for (const int direction : {-1, 1}) {
                std::int32_t stride = 1, c = own + direction;
                while (column.first <= c && c <= column.last && looks_ > 0) {
                    c = direction > 0 ? located_.up(j, c) : located_.down(j, c);
                    const double way = located_.distance(j, c) - located_.distance(j, own);
                    if (way <= 0.0 || walked + way >= cutoff) break;
                    cells_[j] = c;
                    const double now = excess();
                    const double gain = std::min(excess_now - now, excess_now - tau_) / (way + 1e-9);
                    if (gain > ratio) {
                        best = {j, c, now};
                        ratio = gain;
                    }
                    stride += stride / 2 + 1;
                    c += direction * stride;
                }
            }
            cells_[j] = own;
        }
        return best;
    }

    const Located& located_;
    const Criterion& criterion_;
    double tau_;
    std::int64_t looks_;
    Deadline deadline_;
    const Plausibility* plausible_;
    const FewChanges* few_;
    FewChanges::Features changed_;
    std::size_t trees_;    // that the criterion is about
    double missed_ = 1.0;  // by how much the criterion was missed at the start: the weight of plausibility beside it
    double none_nearer_ = 0.0;
    double found_;
    Cells best_, cells_, before_, from_;
    Leaves leaves_;
    std::vector<std::int32_t> levels_;
    std::int32_t eta_ = -1;  // the alternative's threshold at the context before
    std::vector<char> done_;
};

}  // namespace whence
