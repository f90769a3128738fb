// What must hold between the axes of a context so that it can exist: trees of questions, and linear rows.
#pragma once

#include <span>
#include <vector>

#include "base/settings.hpp"

namespace whence::neighbours {

struct Space;
struct Box;
struct Split;

// One question: whether a context is at most `value` along an axis, or, of a category, none but that one. If so it goes
// left. In a leaf the axis is -1.
struct RuleNode {
    int axis;
    bool category;
    double value;
    int left, right;
    bool broken;  // whether contexts in this leaf cannot exist
};

class Rules {
public:
    Rules() = default;
    // `roots` says where each tree begins; a row allows contexts whose product with it is at most its limit.
    Rules(std::vector<RuleNode> nodes, std::vector<int> roots, std::vector<double> rows, std::vector<double> limits);

    bool empty() const { return roots_.empty() && limits_.empty(); }
    std::size_t rows() const { return limits_.size(); }
    // Largest number of an axis that a rule names, -1 for none.
    int last_axis() const;

    // Narrow a box to what the rules leave of it; false where that is nothing.
    bool narrow(const Space& space, Box& box) const;
    // Whether a context can exist.
    bool hold(std::span<const double> context) const {
        return trees_hold(context) && broken_row(context, kRounding.rule_slack) < 0;
    }
    bool trees_hold(std::span<const double> context) const;
    // Whether no tree rules out any context of a box.
    bool settled(const Box& box) const;
    // Where to split a box so that more of a tree is settled; no axis where all are.
    Split split(const Space& space, const Box& box) const;
    // The row that a context breaks most, by more than `slack`; -1 for none.
    int broken_row(std::span<const double> context, double slack) const;
    std::span<const double> row(int i) const;
    double limit(int i) const { return limits_[i]; }

private:
    struct Reached;
    void reach(int node, Box& part, Reached& found) const;
    bool narrow_by_rows(Box& box) const;
    const RuleNode* open_node(int node, Box& part) const;

    std::vector<RuleNode> nodes_;
    std::vector<int> roots_;
    std::vector<double> rows_, limits_;
};

}  // namespace whence::neighbours
