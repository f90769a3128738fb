#include "criteria/stock.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/numbers.hpp"
#include "base/settings.hpp"

namespace whence {

namespace {

// Whether a tree has the leaf of the projection in the whole box; that leaf itself may have been dropped.
bool is_decided(const OpenBox& open, std::int32_t tree) {
    bool elsewhere = false;
    open.reach.each(tree, [&](std::int32_t leaf) { elsewhere |= leaf != open.here[tree]; });
    return !elsewhere;
}

// The least sum of two entries at the same place, four at a time: one comparison would wait for the other.
double least_of_sums(const double* one, const double* other, std::int32_t size) {
    double least[4] = {kInfinity, kInfinity, kInfinity, kInfinity};
    std::int32_t k = 0;
    for (; k + 4 <= size; k += 4)
        for (int lane = 0; lane < 4; ++lane) least[lane] = std::min(least[lane], one[k + lane] + other[k + lane]);
    for (; k < size; ++k) least[0] = std::min(least[0], one[k] + other[k]);
    return std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
}

// Widen `least` and `most` by how much steeper the steps of `row` are than those of `own`.
void widen(const double* row, const double* own, std::int32_t size, double* __restrict least, double* __restrict most) {
    for (std::int32_t k = 0; k < size; ++k) {
        const double more = (row[k + 1] - row[k]) - (own[k + 1] - own[k]);
        least[k] = std::min(least[k], more);
        most[k] = std::max(most[k], more);
    }
}

}  // namespace

// The demands for one product in the alive leaves, in ascending order: those of leaf i from `first[i]` on.
class StockTable::Demands {
public:
    Demands(const LeafSamples& samples, const Alive& alive, std::size_t n) : begin_(n + 1, 0) {
        first.push_back(0);
        for (const std::int32_t leaf : alive.leaves) {
            const auto members = samples.of(leaf);
            first.push_back(first.back() + members.size());
            for (const std::int32_t i : members) ++begin_[static_cast<std::size_t>(i) + 1];
        }
        std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
        total.reserve(alive.leaves.size());
        for (const std::int32_t leaf : alive.leaves) total.push_back(samples.total(leaf));
        holder_.resize(first.back());
        std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
        for (std::size_t l = 0; l < alive.leaves.size(); ++l)
            for (const std::int32_t i : samples.of(alive.leaves[l])) holder_[next[i]++] = static_cast<std::int32_t>(l);
        values.resize(first.back());
        masses.resize(first.back());
        mass_.resize(n);
        for (std::size_t i = 0; i < n; ++i) mass_[i] = samples.mass_of(static_cast<std::int32_t>(i));
        order_.resize(n);
    }

    // Turn to a product: sorted once, the demands are dealt out to the leaves.
    void turn_to(const Products& products, std::size_t j) {
        const std::size_t count = products.count();
        const auto demand = [&](std::size_t i) { return products.demand[i * count + j]; };
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return demand(a) < demand(b); });
        next_.assign(first.begin(), first.end() - 1);
        for (const std::size_t i : order_)
            for (std::size_t at = begin_[i]; at < begin_[i + 1]; ++at) {
                const std::size_t place = next_[holder_[at]]++;
                values[place] = demand(i);
                masses[place] = mass_[i];
            }
    }

    // The quantities that can be best: every demand once, as far as the limits let it.
    std::vector<double> points(const Products& products, std::size_t j) const {
        std::vector<double> own;
        for (const std::size_t i : order_) {
            const double demand = products.demand[i * products.count() + j];
            own.push_back(std::min(std::max(demand, products.lower[j]), products.upper[j]));
        }
        own.erase(std::unique(own.begin(), own.end()), own.end());
        return own;
    }

    std::vector<std::size_t> first;
    std::vector<double> values, masses;
    std::vector<double> total;  // of the masses in each leaf

private:
    std::vector<double> mass_;          // of each sample
    std::vector<std::size_t> begin_;    // of each sample, where the leaves that hold it begin
    std::vector<std::int32_t> holder_;  // and which they are
    std::vector<std::size_t> order_, next_;
};

namespace {

// Of some of the quantities, from the first to the last one: the smallest and the largest share of demands up to each
// that the alive leaves can have together, tree by tree.
struct UpTo {
    std::vector<std::size_t> at;
    std::vector<double> least, most;
};

template <class Demands>
UpTo shares_up_to(const std::vector<double>& points, const Demands& demands, std::span<const std::int32_t> tree,
                  std::int32_t trees) {
    UpTo found;
    const std::size_t step = 1 + (points.size() - 1) / kSettings.plans.looked_at;
    for (std::size_t k = 0; k < points.size(); k += step) found.at.push_back(k);
    const std::size_t size = found.at.size();
    found.least.assign(size, 0.0);
    found.most.assign(size, 0.0);
    std::vector<double> least(size), most(size);
    for (std::size_t l = 0; l < tree.size();) {
        std::fill(least.begin(), least.end(), 1.0);
        std::fill(most.begin(), most.end(), 0.0);
        for (const std::int32_t own = tree[l]; l < tree.size() && tree[l] == own; ++l) {
            const std::size_t first = demands.first[l], last = demands.first[l + 1];
            std::size_t passed = first;
            double less = 0.0;
            for (std::size_t g = 0; g < size; ++g) {
                for (; passed < last && demands.values[passed] <= points[found.at[g]]; ++passed)
                    less += demands.masses[passed];
                const double share = less / demands.total[l];
                least[g] = std::min(least[g], share);
                most[g] = std::max(most[g], share);
            }
        }
        for (std::size_t g = 0; g < size; ++g) {
            found.least[g] += least[g] / trees;
            found.most[g] += most[g] / trees;
        }
    }
    return found;
}

}  // namespace

StockTable::StockTable(const LeafSamples& samples, const Products& products, std::int32_t trees, const Alive& alive,
                       const Limits& limits)
    : leaves_(static_cast<std::int32_t>(samples.size.size())),
      place_(samples.size.size(), 0) {
    const std::size_t count = products.count(), n = count == 0 ? 0 : products.demand.size() / count;
    for (std::size_t l = 0; l < alive.leaves.size(); ++l) place_[alive.leaves[l]] = static_cast<std::int32_t>(l) + 1;
    Demands demands(samples, alive, n);
    // Only what all trees together say rules out quantities.
    std::int32_t met = 0;
    for (std::size_t l = 0; l < alive.tree.size(); ++l) met += l == 0 || alive.tree[l] != alive.tree[l - 1];
    const bool each_tree = met == trees;
    std::vector<double> origins;
    first_.push_back(0);
    for (std::size_t j = 0; j < count; ++j) {
        if (limits.deadline.passed()) return;
        demands.turn_to(products, j);
        const std::vector<double> own = demands.points(products, j);
        origins.push_back(own.front());
        // Costs fall after a quantity as long as (holding + backorder) times the share of demands up to it is less than
        // the rate for backorders, and rise where it is more.
        const UpTo shares = each_tree ? shares_up_to(own, demands, alive.tree, trees) : UpTo{};
        const double rates = products.holding[j] + products.backorder[j], rate = products.backorder[j];
        std::size_t first = 0, last = own.size() - 1;
        for (std::size_t g = 0; g < shares.at.size(); ++g) {
            if (rates * shares.most[g] < rate - kRounding.stock * rates)
                first = std::min(shares.at[g] + 1, own.size() - 1);
            if (rates * shares.least[g] > rate + kRounding.stock * rates) {
                last = std::max(shares.at[g], first);
                break;
            }
        }
        points_.insert(points_.end(), own.begin() + static_cast<std::ptrdiff_t>(first),
                       own.begin() + static_cast<std::ptrdiff_t>(last) + 1);
        first_.push_back(points_.size());
    }
    if ((alive.leaves.size() + 1) * breakpoints() > limits.numbers) return;
    // What is never met costs so much that it does not seem to be an explanation.
    values_.resize((alive.leaves.size() + 1) * breakpoints(), kInfinity);
    for (std::size_t j = 0; j < count; ++j) {
        if (limits.deadline.passed()) return;
        demands.turn_to(products, j);
        write(demands, products, j, trees, origins[j]);
    }
    whole_ = true;
}

// Write down what every breakpoint of a product costs in each leaf.
void StockTable::write(const Demands& demands, const Products& products, std::size_t j, std::int32_t trees,
                       double origin) {
    for (std::size_t l = 0; l + 1 < demands.first.size(); ++l) {
        double* row = values_.data() + (l + 1) * breakpoints();
        const std::size_t first = demands.first[l], last = demands.first[l + 1];
        const auto own = std::span(demands.values).subspan(first, last - first);
        const double* mass = demands.masses.data() + first;
        const double share = 1.0 / (demands.total[l] * trees);
        // Demands below a breakpoint are left over, those above are short; both sums go along with the breakpoints.
        // They are counted from the first one: sums of numbers that are all large would lose what tells them apart.
        double above = 0.0, below = 0.0, less = 0.0;
        for (std::size_t i = 0; i < own.size(); ++i) above += mass[i] * (own[i] - origin);
        std::size_t passed = 0;
        for (std::size_t k = first_[j]; k < first_[j + 1]; ++k) {
            const double point = points_[k] - origin;
            for (; passed < own.size() && own[passed] - origin <= point; ++passed) {
                below += mass[passed] * (own[passed] - origin);
                above -= mass[passed] * (own[passed] - origin);
                less += mass[passed];
            }
            const double more = demands.total[l] - less;
            row[k] = share * (products.holding[j] * std::max(0.0, less * point - below) +
                              products.backorder[j] * std::max(0.0, above - more * point));
        }
    }
}

void StockTable::sum(LeafView leaves, std::vector<double>& total) const {
    total.assign(breakpoints(), 0.0);
    for (const std::int32_t leaf : leaves) {
        const double* own = row(leaf);
        for (std::size_t k = 0; k < total.size(); ++k) total[k] += own[k];
    }
}

double StockTable::least(const std::vector<double>& total, std::vector<std::int32_t>* at) const {
    double sum = 0.0;
    for (std::int32_t j = 0; j < products(); ++j) {
        const auto found = std::min_element(total.begin() + static_cast<std::ptrdiff_t>(first(j)),
                                            total.begin() + static_cast<std::ptrdiff_t>(first(j + 1)));
        sum += *found;
        if (at != nullptr) at->push_back(static_cast<std::int32_t>(found - total.begin()));
    }
    return sum;
}

StockCriterion::StockCriterion(std::shared_ptr<const StockTable> table, std::vector<double> rival,
                               std::shared_ptr<const StockTable> all, double budget)
    : MeanCriterion(table->leaves()),
      table_(std::move(table)),
      all_(std::move(all)),
      rival_(std::move(rival)),
      budget_(budget) {
    if (all_ != nullptr && all_->leaves() != table_->leaves())
        throw std::invalid_argument("Both tables must be about the same leaves.");
    add_rival(rival_);
}

Criterion::Excess StockCriterion::excess(LeafView leaves, EtaRange, std::span<std::int32_t>) const {
    std::vector<double> total;
    table_->sum(leaves, total);
    const double own = table_->least(total);
    double rival = 0.0;
    for (const std::int32_t leaf : leaves) rival += rival_[leaf];
    if (all_ != nullptr) {
        all_->sum(leaves, total);
        std::vector<std::int32_t> at;
        const double best = all_->least(total, &at);
        if (affordable(at)) rival = std::min(rival, best);
    }
    return {own - rival, 0};
}

bool StockCriterion::affordable(const std::vector<std::int32_t>& at) const {
    double total = 0.0;
    for (const std::int32_t k : at) total += all_->points()[static_cast<std::size_t>(k)];
    return total <= budget_;
}

// What the rival costs in each leaf: where the best of all quantities are asked for, those that are so at the
// projection.
std::vector<double> StockCriterion::against(const OpenBox& open) const {
    if (all_ == nullptr) return rival_;
    std::vector<double> total;
    all_->sum(open.counted(), total);
    std::vector<std::int32_t> at;
    const double best = all_->least(total, &at);
    double given = 0.0;
    for (const std::int32_t leaf : open.counted()) given += rival_[leaf];
    if (given <= best || !affordable(at)) return rival_;
    std::vector<double> found(rival_.size(), 0.0);
    const auto write = [&](std::int32_t leaf) {
        found[leaf] = 0.0;
        for (const std::int32_t k : at) found[leaf] += all_->row(leaf)[k];
    };
    for (std::int32_t t = 0; t < open.trees; ++t) {
        open.reach.each(t, write);
        write(open.here[t]);
    }
    return found;
}

// The breakpoints of each product that can be best somewhere in the box: a breakpoint is not where costs still fall
// after it whichever leaves the trees have, or have risen before it.
void StockCriterion::narrow(OpenBox& open, const std::vector<double>& here) const {
    std::vector<EtaRange> ranges;
    if (open.plans)
        ranges = open.plans->ranges;
    else
        for (std::int32_t j = 0; j < table_->products(); ++j)
            ranges.push_back(
                {static_cast<std::int32_t>(table_->first(j)), static_cast<std::int32_t>(table_->first(j + 1)) - 1});
    // Steps from each breakpoint to the next: the smallest and the largest that they can be.
    std::vector<double> low(table_->breakpoints(), 0.0), high(table_->breakpoints(), 0.0);
    for (const EtaRange& range : ranges)
        for (std::int32_t k = range.first; k < range.last; ++k) low[k] = high[k] = here[k + 1] - here[k];
    std::vector<double> least(low.size()), most(low.size());
    for (std::int32_t t = 0; t < open.trees; ++t) {
        if (is_decided(open, t)) continue;
        const double* own = table_->row(open.here[t]);
        std::fill(least.begin(), least.end(), 0.0);
        std::fill(most.begin(), most.end(), 0.0);
        open.reach.each(t, [&](std::int32_t leaf) {
            const double* row = table_->row(leaf);
            for (const auto& [k, last] : ranges) widen(row + k, own + k, last - k, least.data() + k, most.data() + k);
        });
        for (std::size_t k = 0; k < low.size(); ++k) {
            low[k] += least[k];
            high[k] += most[k];
        }
    }
    double size = 0.0;
    for (const double cost : here) size = std::max(size, std::abs(cost));
    const std::vector<EtaRange> before = ranges;
    for (auto& [first, last] : ranges) {
        while (first < last && high[first] < -kRounding.stock * size) ++first;
        while (last > first && low[last - 1] > kRounding.stock * size) --last;
    }
    if (ranges == before && open.plans) return;
    const std::size_t bytes = ranges.capacity() * sizeof(EtaRange);
    open.plans = left_.make<PossiblePlans>({{}, std::move(ranges), {}}, bytes);
}

void StockCriterion::lean(OpenBox& open) const {
    std::vector<double> here;
    table_->sum(open.counted(), here);
    narrow(open, here);
    const std::vector<EtaRange>& ranges = open.plans->ranges;
    const std::vector<double> rival = against(open);
    std::vector<double>& row = room(open).rows[0];
    row.resize(static_cast<std::size_t>(leaves()));
    std::vector<std::int32_t> undecided;
    for (std::int32_t t = 0; t < open.trees; ++t) {
        row[open.here[t]] = -rival[open.here[t]];
        if (!is_decided(open, t)) undecided.push_back(t);
    }
    double least = 0.0;
    for (const auto& [first, last] : ranges) least += *std::min_element(here.begin() + first, here.begin() + last + 1);
    if (undecided.empty()) {
        row[open.here[0]] += least;
        return;
    }
    const double share = 1.0 / static_cast<double>(undecided.size());
    std::vector<double> moved(table_->breakpoints());
    for (const std::int32_t t : undecided) {
        const double* own = table_->row(open.here[t]);
        for (const auto& [first, last] : ranges)
            for (std::int32_t k = first; k <= last; ++k) moved[k] = share * here[k] - own[k];
        const auto write = [&](std::int32_t leaf) {
            const double* values = table_->row(leaf);
            double total = -rival[leaf];
            for (const auto& [k, last] : ranges) total += least_of_sums(values + k, moved.data() + k, last - k + 1);
            row[leaf] = total;
        };
        open.reach.each(t, write);
        write(open.here[t]);
    }
}

bool StockCriterion::bound(OpenBox& open, double tau) const {
    lean(open);
    double size = 0.0;
    for (std::int32_t t = 0; t < open.trees; ++t) size += std::abs(row(open, 0)[open.here[t]]);
    return MeanCriterion::bound(open, tau + kRounding.stock * size);
}

}  // namespace whence
