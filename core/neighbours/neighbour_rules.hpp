// What must hold between the axes of a context so that it can exist: trees of questions, and linear rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "base/settings.hpp"
#include "neighbours/neighbour_axes.hpp"

namespace whence::neighbours {

// One question: whether a context is at most `value` along an axis, or, of a category, none but that one. If so it goes
// left. In a leaf the axis is -1.
struct RuleNode {
    int axis;
    bool category;
    double value;
    int left, right;
    bool broken;  // whether contexts in this leaf cannot exist
};

// Let `use` look at the part of a box on either side of a question, where there is one; the box is as before
// afterwards.
template <class Use>
void on_both_sides(const RuleNode& node, Box& part, Use use) {
    double& low = part.low[node.axis];
    double& high = part.high[node.axis];
    const double before_low = low, before_high = high;
    if (node.category) {
        if (!(low == high && low == node.value)) {
            if (low == node.value) low += 1.0;
            if (high == node.value) high -= 1.0;
            use(node.left);
        }
        low = before_low;
        high = before_high;
        if (low <= node.value && node.value <= high) {
            low = high = node.value;
            use(node.right);
        }
    } else {
        if (low <= node.value) {
            high = std::min(high, node.value);
            use(node.left);
        }
        low = before_low;
        high = before_high;
        if (high > node.value) {
            low = std::max(low, std::nextafter(node.value, kInfinity));
            use(node.right);
        }
    }
    low = before_low;
    high = before_high;
}

class Rules {
public:
    Rules() = default;
    // `roots` says where each tree begins; a row allows contexts whose product with it is at most its limit.
    Rules(std::vector<RuleNode> nodes, std::vector<int> roots, std::vector<double> rows, std::vector<double> limits)
        : nodes_(std::move(nodes)),
          roots_(std::move(roots)),
          rows_(std::move(rows)),
          limits_(std::move(limits)) {}

    bool empty() const { return roots_.empty() && limits_.empty(); }
    std::size_t rows() const { return limits_.size(); }
    // Largest number of an axis that a rule names, -1 for none.
    int last_axis() const {
        int last = limits_.empty() ? -1 : static_cast<int>(rows_.size() / limits_.size()) - 1;
        for (const RuleNode& node : nodes_) last = std::max(last, node.axis);
        return last;
    }

    // Narrow a box to what the rules leave of it; false where that is nothing.
    bool narrow(const Space& space, Box& box) const {
        if (!narrow_by_rows(box)) return false;
        Reached found;
        for (const int root : roots_) {
            found.any = found.broken = false;
            reach(root, box, found);
            if (!found.any) return false;
            if (!found.broken) continue;
            box.low = found.low;
            box.high = found.high;
        }
        return box.settle(space);
    }

    // Whether a context can exist.
    bool hold(std::span<const double> context) const {
        return trees_hold(context) && broken_row(context, kRounding.rule_slack) < 0;
    }

    bool trees_hold(std::span<const double> context) const {
        return std::ranges::none_of(roots_, [&](int at) {
            while (nodes_[at].axis >= 0) {
                const RuleNode& node = nodes_[at];
                const double x = context[node.axis];
                at = (node.category ? x != node.value : x <= node.value) ? node.left : node.right;
            }
            return nodes_[at].broken;
        });
    }

    // Whether no tree rules out any context of a box.
    bool settled(const Box& box) const {
        Box part = box;
        Reached found;
        for (const int root : roots_) {
            found.any = found.broken = false;
            reach(root, part, found);
            if (found.broken) return false;
        }
        return true;
    }

    // Where to split a box so that more of a tree is settled; no axis where all are.
    Split split(const Space& space, const Box& box) const {
        Box part = box;
        for (const int root : roots_) {
            const RuleNode* node = open_node(root, part);
            if (node == nullptr) continue;
            const int j = node->axis;
            if (!node->category) return split_beyond(space, j, node->value);
            if (node->value == box.low[j]) return {j, node->value, node->value + 1.0};
            return {j, node->value - 1.0, node->value};
        }
        return {};
    }

    // The row that a context breaks most, by more than `slack`; -1 for none.
    int broken_row(std::span<const double> context, double slack) const {
        int worst = -1;
        for (std::size_t i = 0; i < limits_.size(); ++i) {
            const auto factor = row(static_cast<int>(i));
            double over = -limits_[i];
            for (std::size_t j = 0; j < factor.size(); ++j) over += factor[j] * context[j];
            if (over > slack) {
                slack = over;
                worst = static_cast<int>(i);
            }
        }
        return worst;
    }

    std::span<const double> row(int i) const {
        const std::size_t width = rows_.size() / limits_.size();
        return std::span(rows_).subspan(static_cast<std::size_t>(i) * width, width);
    }

    double limit(int i) const { return limits_[i]; }

private:
    // What the leaves of a tree that are not broken leave of a box, and whether it meets one that is broken.
    struct Reached {
        std::vector<double> low, high;
        bool any = false, broken = false;
    };

    void reach(int at, Box& part, Reached& found) const {
        const RuleNode& node = nodes_[at];
        if (node.axis >= 0) {
            on_both_sides(node, part, [&](int child) { reach(child, part, found); });
            return;
        }
        if (node.broken) {
            found.broken = true;
            return;
        }
        if (!found.any) {
            found.low = part.low;
            found.high = part.high;
            found.any = true;
            return;
        }
        for (std::size_t j = 0; j < part.low.size(); ++j) {
            found.low[j] = std::min(found.low[j], part.low[j]);
            found.high[j] = std::max(found.high[j], part.high[j]);
        }
    }

    bool narrow_by_rows(Box& box) const {
        for (std::size_t i = 0; i < limits_.size(); ++i) {
            const auto factor = row(static_cast<int>(i));
            double least = 0.0, size = 1.0;
            for (std::size_t j = 0; j < factor.size(); ++j) {
                least += std::min(factor[j] * box.low[j], factor[j] * box.high[j]);
                size = std::max(size, std::abs(factor[j]) * std::max(std::abs(box.low[j]), std::abs(box.high[j])));
            }
            const double room = limits_[i] - least + kRounding.hair * size;
            if (room < 0.0) return false;
            for (std::size_t j = 0; j < factor.size(); ++j) {
                if (factor[j] > 0.0) box.high[j] = std::min(box.high[j], box.low[j] + room / factor[j]);
                if (factor[j] < 0.0) box.low[j] = std::max(box.low[j], box.high[j] + room / factor[j]);
            }
        }
        return true;
    }

    // The first question, on the way to a broken leaf, to which a box has both answers; null where it meets no broken
    // leaf.
    const RuleNode* open_node(int at, Box& part) const {
        const RuleNode& node = nodes_[at];
        if (node.axis < 0) return nullptr;
        int sides = 0;
        bool broken = false;
        const RuleNode* below = nullptr;
        on_both_sides(node, part, [&](int child) {
            ++sides;
            Reached found;
            reach(child, part, found);
            if (!found.broken) return;
            broken = true;
            if (below == nullptr) below = open_node(child, part);
        });
        if (!broken) return nullptr;
        return sides == 2 ? &node : below;
    }

    std::vector<RuleNode> nodes_;
    std::vector<int> roots_;
    std::vector<double> rows_, limits_;
};

}  // namespace whence::neighbours
