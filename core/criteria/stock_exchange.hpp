// Quantities that a limit on one product sets apart from all others: why none of them is the best.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "criteria/stock_table.hpp"
#include "forest/reach.hpp"

namespace whence {

// A limit on one product that sets quantities apart from all others: at least, or at most, so much of it.
struct StockLimit {
    std::int32_t product;
    double quantity;
    bool at_least;
};

// Why no quantities that keep a limit are the best of all: it would pay to exchange a step of the product for one of
// another.
//
// Take quantities z with at least q of product j, and any m_k of the others that use up what the budget leaves beside
// q. Some z_k is at most m_k. As costs are convex, a step less of j saves at least what the one below q does, and a
// step more of k costs at most what the one above m_k does. So where z is the best, up to tau, of all, there is a
// product k with [step below q of j] - [step above m_k of k] <= tau: one sum over trees for every other product.
// Without a budget it is the step of j alone; with "at most" everything is the other way round, and a budget that is
// not used up is like one more product.
class StockExchange {
public:
    // A step of the product, in exchange for one of another from a quantity on; of none where that is -1.
    struct Offer {
        std::int32_t other;
        double from;
    };
    struct Offers {
        double step = 0.0;
        std::vector<Offer> any;  // none of them may pay: there is none where this is not known to be so
    };

    StockExchange(const StockTable& all, StockLimit limit, double budget) : all_(all), limit_(limit), budget_(budget) {
        const auto [first, last] = all.ranges()[limit.product];
        // Beyond the quantities of the table nothing is known of costs but that they rise, or fall, by more.
        own_ = std::clamp(limit.quantity, all.points()[first], all.points()[last]);
        range_ = all.points()[last] - all.points()[first];
        for (const double point : all.points()) reach_ = std::max(reach_, std::abs(point));
        for (std::int32_t k = 0; k < all.products(); ++k)
            if (k != limit.product) others_.push_back(k);
    }

    // Steps that all pay, by more than tau, where the trees have these leaves.
    Offers offers(LeafView leaves, double tau, StockSums& sums) const {
        // Within a tolerance a limit may ask for more than the budget: then no exchange keeps it.
        if (limit_.at_least && limit_.quantity > budget_) return {};
        sums.find(all_, leaves);
        const std::vector<double>&total = sums.costs, &slopes = sums.slopes;
        std::vector<EtaRange> ranges = all_.ranges();
        const StockTable::Bought best = all_.bought(total, slopes, ranges, budget_);
        if (best.cost == kInfinity) return {};
        const std::int32_t j = limit_.product;
        const double sign = limit_.at_least ? 1.0 : -1.0;
        const double missed = sign * (limit_.quantity - all_.quantity(best, j));
        const double step =
            std::min(kSettings.plans.exchanged * range_, 0.5 * missed / static_cast<double>(all_.products()));
        const double end = all_.points()[limit_.at_least ? ranges[j].first : ranges[j].last];
        if (step <= 0.0 || sign * (own_ - end) < step) return {};
        const double enough = tau + kRounding.stock * largest({step, {}});
        const Offers alone{step, {{-1, 0.0}}};
        const bool pays = least_gain(leaves, alone) > enough;
        // Less of a product always keeps the budget.
        if (budget_ == kInfinity || (pays && limit_.at_least)) return pays ? alone : Offers{};
        if (all_.products() == 1) return {};
        const double left = beside() - (limit_.at_least ? 0.0 : step);
        ranges[j] = {ranges[j].first, ranges[j].first};
        const StockTable::Bought rest = all_.bought(total, slopes, ranges, left + all_.points()[ranges[j].first]);
        Offers found;
        double most = enough;
        for (const double part : {0.0, 0.5, 1.0}) {
            if (part < 1.0 && rest.cost == kInfinity) continue;
            Offers made = between(best, part < 1.0 ? rest : best, left, step, part);
            const double gained = least_gain(leaves, made);
            if (gained <= most) continue;
            most = gained;
            found = std::move(made);
        }
        if (found.any.empty() && spreads()) {
            const std::vector<double> here = furthest(one_each(leaves), step, enough);
            double all = 0.0, least = 0.0;
            for (const double most : here) all += most;
            for (const std::int32_t k : others_) least += least_of(k);
            if (!(all > left) || all <= least) return found;
            found.step = step;
            const double part = std::max(0.0, left - least) / (all - least);
            for (std::size_t i = 0; i < here.size(); ++i) {
                const double first = least_of(others_[i]);
                found.any.push_back({others_[i], first + part * (here[i] - first)});
            }
        }
        return found;
    }

    // Whether products are exchanged for all others, which use up what the budget leaves beside the limit.
    bool spreads() const { return limit_.at_least && budget_ < kInfinity && all_.products() > 1; }
    // How much that is, with a hair more than rounding can amount to.
    double beside() const {
        return budget_ - limit_.quantity + (limit_.at_least ? 1.0 : -1.0) * kRounding.budget * std::abs(budget_);
    }

    // Of every other product the quantity from which on, at last, an exchange for a step of it gains more than enough,
    // whichever of these leaves the trees have: about that or less, and less than everything where there is none.
    std::vector<double> furthest(const ListedLeaves& listed, double step, double enough) const {
        std::vector<double> saved, found;
        for (const std::int32_t leaf : listed.leaves) saved.push_back(gain(leaf, {-1, 0.0}, step));
        const std::vector<EtaRange> ranges = all_.ranges();
        for (const std::int32_t k : others_) {
            const auto pays = [&](double from) {
                double total = 0.0;
                for (std::int32_t t = 0; t < listed.trees(); ++t) {
                    double least = kInfinity;
                    for (std::int32_t i = listed.from[t]; i < listed.from[t + 1]; ++i)
                        least = std::min(least, saved[i] - all_.rise(listed.leaves[i], k, from, from + step));
                    total += least;
                }
                return total > enough;
            };
            double low = all_.points()[ranges[k].first], high = all_.points()[ranges[k].last] - step;
            if (high < low || !pays(low)) {
                found.push_back(-kInfinity);
                continue;
            }
            if (pays(high)) low = high;
            for (int i = 0; i < kSettings.plans.spread_halvings && low < high; ++i) {
                const double middle = 0.5 * (low + high);
                (pays(middle) ? low : high) = middle;
            }
            found.push_back(low);
        }
        return found;
    }

    // Exchanges with all others from quantities between those up to which they pay in a whole box and at its
    // projection, such that they use up what is left; none where they need not, for no exchange of the box fails to
    // pay.
    std::optional<Offers> spread(const ListedLeaves& listed, LeafView here, const Offers& given, double enough) const {
        const double alone = least_sum(
            listed, [&](std::int32_t i) { return gain(listed.leaves[i], {-1, 0.0}, given.step); },
            [](std::int32_t, const Least&) {});
        const std::vector<double> box = furthest(listed, given.step, enough);
        const double left = beside();
        if (alone > enough || std::accumulate(box.begin(), box.end(), 0.0) >= left) return {};
        const std::vector<double> own = furthest(one_each(here), given.step, enough);
        double low = 0.0, high = 0.0;
        std::vector<double> from;
        for (std::size_t i = 0; i < own.size(); ++i) {
            from.push_back(std::max(box[i], least_of(others_[i])));
            low += from.back();
            high += own[i];
        }
        if (!(high > left)) return given;
        const double part = low >= left ? 0.0 : (left - low) / (high - low);
        Offers made{given.step, {}};
        for (std::size_t i = 0; i < own.size(); ++i)
            made.any.push_back({others_[i], from[i] + part * (own[i] - from[i])});
        return made;
    }

    // What a leaf says an exchange gains.
    double gain(std::int32_t leaf, Offer offer, double step) const {
        const std::int32_t j = limit_.product;
        double gained =
            limit_.at_least ? all_.rise(leaf, j, own_ - step, own_) : -all_.rise(leaf, j, own_, own_ + step);
        if (offer.other >= 0)
            gained -= limit_.at_least ? all_.rise(leaf, offer.other, offer.from, offer.from + step)
                                      : -all_.rise(leaf, offer.other, offer.from - step, offer.from);
        return gained;
    }
    // What all trees together can say of a step at most, either way.
    double largest(const Offers& offers) const {
        double steepest = 0.0;
        for (std::int32_t k = 0; k < all_.products(); ++k) steepest = std::max(steepest, all_.steepest(k));
        return 2.0 * steepest * (offers.step + reach_);  // quantities themselves are rounded, too
    }

private:
    // The least quantity of a product; and leaves of which every tree has one.
    double least_of(std::int32_t product) const { return all_.points()[all_.first(product)]; }
    static ListedLeaves one_each(LeafView leaves) {
        ListedLeaves each{{leaves.begin(), leaves.end()}, std::vector<std::int32_t>(leaves.size() + 1)};
        std::iota(each.from.begin(), each.from.end(), 0);
        return each;
    }

    double least_gain(LeafView leaves, const Offers& offers) const {
        double least = kInfinity;
        for (const Offer offer : offers.any) {
            double total = 0.0;
            for (const std::int32_t leaf : leaves) total += gain(leaf, offer, offers.step);
            least = std::min(least, total);
        }
        return offers.any.empty() ? -kInfinity : least;
    }

    // Exchanges with every other product, from quantities on that use up what is `left`: between those of the best
    // plan, all moved alike, and the best ones beside the limit. None where the table does not reach that far.
    Offers between(const StockTable::Bought& best, const StockTable::Bought& rest, double left, double step,
                   double part) const {
        Offers made{step, {}};
        double all = 0.0, beside = 0.0;
        for (const std::int32_t k : others_) {
            all += all_.quantity(best, k);
            beside += all_.quantity(rest, k);
        }
        const auto count = static_cast<double>(others_.size());
        const double moved = (left - all) / count, further = (left - beside) / count;
        const auto ranges = all_.ranges();
        for (const std::int32_t k : others_) {
            double from = part * (all_.quantity(best, k) + moved) + (1.0 - part) * (all_.quantity(rest, k) + further);
            const double first = all_.points()[ranges[k].first], last = all_.points()[ranges[k].last];
            // A step that is nearer than the one in question costs no less, or saves no more.
            from = limit_.at_least ? std::max(from, first) : std::min(from, last);
            if (limit_.at_least ? from + step > last : from - step < first) return {};
            made.any.push_back({k, from});
        }
        if (!limit_.at_least) made.any.push_back({-1, 0.0});  // what is left of the budget
        return made;
    }

    const StockTable& all_;
    StockLimit limit_;
    std::vector<std::int32_t> others_;  // products
    double budget_, own_, range_, reach_ = 0.0;
};
}  // namespace whence
