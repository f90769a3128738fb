// Neighbours that count the more the nearer they are: each by the inverse of its distance, as one at distance 0 alone.
//
// In a box, what each counts for lies in an interval. All of them are taken in units of what one of them, which is
// nearest, counts for: then they stay bounded around it as well. That the alternative costs no more than a rival is a
// sum over the neighbours that must not be positive. Where the neighbours of a box are known but not yet whether it is
// so anywhere, the sum lies above a linear function of the steps from its nearest context, since its slopes lie in
// intervals too.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "neighbours/neighbour_criterion.hpp"

namespace whence::neighbours {

class NearnessCriterion : public Criterion {
public:
    // With a `tail`, the mean of the worst costs with so much weight is compared, else the mean of all.
    NearnessCriterion(std::vector<double> alternative, int k, double tau, std::optional<double> tail, int axes);

    bool by_nearness() const override { return true; }
    void attach(const Space& space) override { space_ = &space; }
    void look(const Space& space, const Box& box, const MemberSets& sets) const override;
    void lines(Members inside, Members undecided, std::span<double> buffer, std::vector<Line>& found) const override;
    void tighten(double by) override { tau_ -= by; }

private:
    // In the box last looked at: how far a member is at the nearest context and anywhere, and what it counts for.
    struct Seen {
        double here = 0.0, near = 0.0, far = 0.0, least = 0.0, most = 0.0;
    };
    struct Slope {
        double low, high;
    };

    bool any_cut_hopeless(Members inside, Members undecided, std::span<double> buffer) const override;
    bool holds(Members members, std::span<const double> context, std::span<double> buffer) const override;
    void look_by_sums(const Space& space, const Box& box, int member) const;
    void look_by_places(const Space& space, int member, double around) const;
    void count(const Space& space, const Box& box, int member, int nearest) const;
    Slope difference(const Space& space, const Box& box, int one, int other) const;
    template <class Term>
    bool positive(Members inside, Members undecided, std::span<double> buffer, Term term) const;
    bool tail_hopeless(const std::vector<double>& rival, Members inside, Members undecided,
                       std::span<double> buffer) const;
    double threshold(const std::vector<double>& costs, Members inside, Members undecided) const;
    double tail_mean(const std::vector<double>& costs, Members members, std::span<const double> weights) const;

    std::optional<double> tail_;
    std::size_t axes_;
    const Space* space_ = nullptr;
    // What was seen last; for one thread.
    mutable std::vector<Seen> seen_;
    mutable std::vector<Slope> along_;  // how fast distances grow, a row a member
    mutable std::vector<double> place_, nearest_, weights_;
    mutable std::vector<Slope> products_;  // of places, an axis: by how much products are off, and the steepest slope
    mutable bool sloped_ = false;          // whether distances have slopes, as no category is open
};

}  // namespace whence::neighbours
