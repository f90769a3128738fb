// Good explanations found without proof, by coordinate descent over cells.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/deadline.hpp"
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
              const Plausibility* plausible = nullptr, const FewChanges* few = nullptr);

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
    void try_lines();

    // Pull those of the contexts (one after the other in `starts`) that hold towards the start, one column at a time;
    // at most so many of them.
    void pull_back(std::span<const std::int32_t> starts, std::int32_t improved);

    // The same, and from there: set one column nearer to the start and another one farther away, by less, and pull what
    // holds then towards the start, as long as that leads nearer.
    void exchange(std::span<const std::int32_t> starts, std::int32_t improved, Fineness fine);

    // From the start, take the step that gains most for its way until the criterion holds; true where it arrived, and
    // `cells()` is then such a context. Steps that lead `cutoff` away or farther are not taken.
    bool climb(double cutoff);

    // From a context, set one column after the other to where the criterion is missed by least, however far away, until
    // it holds; true where it does, and `cells()` is then such a context. Categories stay.
    bool descend(std::span<const std::int32_t> from);

    const Cells& cells() const { return cells_; }

private:
    struct Step {
        std::int32_t column, cell;
        double excess;  // after it
    };

    double excess();
    bool holds() { return !(located_.distance_of(cells_) < none_nearer_) && excess() <= tau_; }
    void keep(double distance);
    bool few_with(std::int32_t column);
    bool move_nearer(std::int32_t j);
    bool close_in(std::int32_t j, std::int32_t bad);
    bool set_group_back(std::int32_t group);
    std::int32_t next_column() const;
    bool pull_all();
    template <class Improve>
    void each_start(std::span<const std::int32_t> starts, std::int32_t improved, Improve improve);
    void pull();
    void try_category(std::int32_t j);
    void try_line(std::int32_t j);
    bool exchange_once(Fineness fine);
    bool pay_with(std::int32_t j, double most, std::int32_t looks);
    double set_best(std::int32_t j, double now);
    Step best_step(double excess_now, double walked, double cutoff);

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
