#include <algorithm>
#include <cmath>

#include "base/numbers.hpp"
#include "base/settings.hpp"
#include "criteria/stock.hpp"

namespace whence {

StockExchange::StockExchange(const StockTable& all, StockLimit limit, double budget)
    : all_(all),
      limit_(limit),
      budget_(budget) {
    const auto [first, last] = all.ranges()[limit.product];
    // Beyond the quantities of the table nothing is known of costs but that they rise, or fall, by more.
    own_ = std::clamp(limit.quantity, all.points()[first], all.points()[last]);
    range_ = all.points()[last] - all.points()[first];
    for (const double point : all.points()) reach_ = std::max(reach_, std::abs(point));
}

double StockExchange::gain(std::int32_t leaf, Offer offer, double step) const {
    const std::int32_t j = limit_.product;
    double gained = limit_.at_least ? all_.rise(leaf, j, own_ - step, own_) : -all_.rise(leaf, j, own_, own_ + step);
    if (offer.other >= 0)
        gained -= limit_.at_least ? all_.rise(leaf, offer.other, offer.from, offer.from + step)
                                  : -all_.rise(leaf, offer.other, offer.from - step, offer.from);
    return gained;
}

double StockExchange::largest(const Offers& offers) const {
    double steepest = 0.0;
    for (std::int32_t k = 0; k < all_.products(); ++k) steepest = std::max(steepest, all_.steepest(k));
    return 2.0 * steepest * (offers.step + reach_);  // quantities themselves are rounded, too
}

double StockExchange::least_gain(LeafView leaves, const Offers& offers) const {
    double least = kInfinity;
    for (const Offer offer : offers.any) {
        double total = 0.0;
        for (const std::int32_t leaf : leaves) total += gain(leaf, offer, offers.step);
        least = std::min(least, total);
    }
    return offers.any.empty() ? -kInfinity : least;
}

// Exchanges with every other product, from quantities on that use up what is `left`: between those of the best plan,
// all moved alike, and the best ones beside the limit. None where the table does not reach that far.
StockExchange::Offers StockExchange::between(const StockTable::Bought& best, const StockTable::Bought& rest,
                                             double left, double step, double part) const {
    Offers made{step, {}};
    const std::int32_t count = all_.products();
    double all = 0.0, beside = 0.0;
    for (std::int32_t k = 0; k < count; ++k) {
        if (k == limit_.product) continue;
        all += all_.quantity(best, k);
        beside += all_.quantity(rest, k);
    }
    const double moved = (left - all) / (count - 1), further = (left - beside) / (count - 1);
    const auto ranges = all_.ranges();
    for (std::int32_t k = 0; k < count; ++k) {
        if (k == limit_.product) continue;
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

StockExchange::Offers StockExchange::offers(LeafView leaves, double tau) const {
    // Within a tolerance a limit may ask for more than the budget: then no exchange keeps it.
    if (limit_.at_least && limit_.quantity > budget_) return {};
    std::vector<double> total, slopes;
    all_.sum(leaves, total, &slopes);
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
    // What the budget leaves for the others, with a hair more than rounding can amount to.
    const double left =
        budget_ - limit_.quantity + sign * kRounding.budget * std::abs(budget_) - (limit_.at_least ? 0.0 : step);
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
    return found;
}

}  // namespace whence
