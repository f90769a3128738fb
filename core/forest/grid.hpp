// A fitted forest as a grid: cells between thresholds, faces between cells, leaves as bits.
//
// Contexts that fall between the same thresholds have the same weights, so the search walks over cells. Column j has
// the cells 0..n and n faces between them: face c lies between the cells c and c + 1. The faces of all columns are
// numbered on, and so are their cells.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "base/settings.hpp"

namespace whence {

struct Interval {
    std::int32_t low, high;

    bool operator==(const Interval&) const = default;
};

// A context goes left where its cell in the column is at most the split. In a leaf the column is -1, and left is the
// number of the leaf.
struct Node {
    std::int32_t column, split, left, right;
};

// The cells low..high that a leaf allows in one of the columns on its path.
struct PathEntry {
    std::int32_t column, low, high;

    bool allows(std::int32_t cell) const { return low <= cell && cell <= high; }
};

using Cells = std::vector<std::int32_t>;   // a cell in every column
using Leaves = std::vector<std::int32_t>;  // a leaf of every tree
using LeafView = std::span<const std::int32_t>;

class Grid {
public:
    // `face_start` says where the faces of each column begin, `cut` is the largest float32 value on the lower side of
    // every face (not a number where a face is told by coordinates alone), `nodes` are those of all trees, each child
    // behind its parent, and `roots` says where a tree begins.
    Grid(std::vector<std::int32_t> face_start, std::vector<float> cut, std::vector<Node> nodes,
         std::vector<std::int32_t> roots)
        : face_start_(std::move(face_start)),
          cut_(std::move(cut)),
          nodes_(std::move(nodes)),
          roots_(std::move(roots)) {
        if (face_start_.size() < 2 || face_start_[0] != 0 || !std::is_sorted(face_start_.begin(), face_start_.end()))
            throw std::invalid_argument("'face_start' must ascend from 0, with one entry more than there are columns.");
        if (cut_.size() != static_cast<std::size_t>(faces()))
            throw std::invalid_argument("'cut' must hold one number a face.");
        for (std::int32_t j = 0; j < columns(); ++j)
            if (!std::is_sorted(cut_.begin() + face_start_[j], cut_.begin() + face_start_[j + 1]))
                throw std::invalid_argument("'cut' must ascend within a column.");
        check_trees();
        number_leaves();
        path_start_.reserve(bit_of_leaf_.size() + 1);
        path_start_.push_back(0);
    }

    // Lay out the paths of the leaves of the next trees with at least so many nodes; true once all are laid out.
    // A large forest takes a while, and a time limit has to be kept.
    bool lay_paths(std::int64_t budget) {
        std::vector<std::int32_t> parent;
        const bool before = complete();
        for (; laid_ < trees() && budget > 0; ++laid_) {
            const std::int32_t root = roots_[laid_];
            const auto end = laid_ + 1 < trees() ? roots_[laid_ + 1] : static_cast<std::int32_t>(nodes_.size());
            parent.assign(end - root, -1);
            for (std::int32_t v = root; v < end; ++v)
                if (nodes_[v].column >= 0) parent[nodes_[v].left - root] = parent[nodes_[v].right - root] = v;
            for (std::int32_t v = root; v < end; ++v)
                if (nodes_[v].column < 0) lay_path(v, root, parent);
            budget -= end - root;
        }
        if (complete() && !before) lay_rows();
        return complete();
    }

    std::int32_t columns() const { return static_cast<std::int32_t>(face_start_.size()) - 1; }
    std::int32_t trees() const { return static_cast<std::int32_t>(roots_.size()); }
    std::int32_t leaves() const { return static_cast<std::int32_t>(bit_of_leaf_.size()); }
    // How many of the first trees have so many leaves together; -1 where none do.
    std::int32_t trees_with(std::int32_t leaves) const {
        const auto at = std::lower_bound(first_leaf_.begin(), first_leaf_.end(), leaves);
        return at == first_leaf_.end() || *at != leaves ? -1 : static_cast<std::int32_t>(at - first_leaf_.begin());
    }
    std::int32_t first_leaf(std::int32_t tree) const { return first_leaf_[tree]; }
    std::int32_t words() const { return tree_word_.back(); }
    std::int32_t faces() const { return face_start_.back(); }
    std::int32_t cells() const { return faces() + columns(); }
    std::size_t path_entries() const { return path_.size(); }
    bool complete() const { return laid_ == trees(); }

    std::int32_t first_face(std::int32_t j) const { return face_start_[j]; }
    std::int32_t first_cell(std::int32_t j) const { return face_start_[j] + j; }
    std::int32_t last_cell_of(std::int32_t j) const { return face_start_[j + 1] - face_start_[j]; }

    const std::vector<Node>& nodes() const { return nodes_; }
    const std::vector<std::int32_t>& roots() const { return roots_; }
    std::span<const Node> nodes_of(std::int32_t tree) const {
        const std::size_t end = tree + 1 < trees() ? static_cast<std::size_t>(roots_[tree + 1]) : nodes_.size();
        return {nodes_.data() + roots_[tree], nodes_.data() + end};
    }
    const std::vector<float>& cut() const { return cut_; }
    const std::vector<std::int32_t>& bit_of_leaf() const { return bit_of_leaf_; }

    std::span<const PathEntry> path(std::int32_t leaf) const {
        return {path_.data() + path_start_[leaf], path_.data() + path_start_[leaf + 1]};
    }

    // Numbers that are dealt with at once, and columns up to which leaves have whole rows of them.
    static constexpr std::int32_t kLanes = 8, kMostLanes = 16;

    // The cells that a leaf allows in every column, as two rows of numbers of the same length: the first cells, and the
    // last ones. There are none where paths ask for few of the columns, or there are too many cells to be counted so.
    std::int32_t lanes() const { return lanes_; }
    const std::int16_t* first_cells(std::int32_t leaf) const { return rows_.data() + 2 * lanes_ * std::int64_t{leaf}; }
    const std::int16_t* last_cells(std::int32_t leaf) const { return first_cells(leaf) + lanes_; }

    // The cells that a leaf allows in a column.
    Interval cells_of(std::int32_t leaf, std::int32_t column) const {
        if (lanes_ > 0) return {first_cells(leaf)[column], last_cells(leaf)[column]};
        for (const PathEntry& entry : path(leaf))
            if (entry.column == column) return {entry.low, entry.high};
        return {0, last_cell_of(column)};
    }
    // The words of 64 leaves each that hold the leaves of a tree, and the leaf of a bit.
    std::int32_t first_word(std::int32_t tree) const { return tree_word_[tree]; }
    std::int32_t leaf_of_bit(std::int32_t bit) const { return leaf_of_bit_[bit]; }

    // Leaf of every tree at a cell.
    // Several trees at a time: which way one turns need not be known before others go on.
    void leaves_at(const Cells& cells, Leaves& leaves) const {
        constexpr std::size_t kTogether = 16;
        for (std::size_t first = 0; first < roots_.size(); first += kTogether) {
            const std::size_t last = std::min(first + kTogether, roots_.size());
            for (std::size_t t = first; t < last; ++t) leaves[t] = roots_[t];
            for (bool moved = true; moved;) {
                moved = false;
                for (std::size_t t = first; t < last; ++t) {
                    const Node& node = nodes_[leaves[t]];
                    if (node.column < 0) continue;
                    leaves[t] = cells[node.column] <= node.split ? node.left : node.right;
                    moved = true;
                }
            }
            for (std::size_t t = first; t < last; ++t) leaves[t] = nodes_[leaves[t]].left;
        }
    }

    // The cells, from `low` to `high` in every column, in which each tree has the same leaf as at this one.
    void cells_alike(const Cells& cells, Cells& low, Cells& high) const {
        low.assign(cells.size(), 0);
        high.resize(cells.size());
        for (std::int32_t j = 0; j < columns(); ++j) high[j] = last_cell_of(j);
        for (const std::int32_t root : roots_) {
            const Node* node = &nodes_[root];
            while (node->column >= 0) {
                const bool left = cells[node->column] <= node->split;
                if (left)
                    high[node->column] = std::min(high[node->column], node->split);
                else
                    low[node->column] = std::max(low[node->column], node->split + 1);
                node = &nodes_[left ? node->left : node->right];
            }
        }
    }

private:
    void check_trees() const {
        const auto count = static_cast<std::int32_t>(nodes_.size());
        if (roots_.empty() || roots_[0] != 0 ||
            std::adjacent_find(roots_.begin(), roots_.end(), std::greater_equal<>()) != roots_.end() ||
            roots_.back() >= count)
            throw std::invalid_argument("'root' must name the first node of every tree, in ascending order.");
        std::vector<bool> is_child(nodes_.size(), false);
        for (std::int32_t t = 0; t < trees(); ++t) {
            const std::int32_t end = t + 1 < trees() ? roots_[t + 1] : count;
            for (std::int32_t v = roots_[t]; v < end; ++v) {
                const Node& node = nodes_[v];
                if (v > roots_[t] && !is_child[v])
                    throw std::invalid_argument("Every node but the root must be a child.");
                if (node.column < 0) continue;
                if (node.column >= columns() || node.split < 0 || node.split >= last_cell_of(node.column))
                    throw std::invalid_argument("A node must split one of the columns at one of its faces.");
                for (const std::int32_t child : {node.left, node.right}) {
                    if (child <= v || child >= end || is_child[child])
                        throw std::invalid_argument("Children must stand behind their only parent, in the same tree.");
                    is_child[child] = true;
                }
            }
        }
    }

    void number_leaves() {
        tree_word_.push_back(0);
        first_leaf_.push_back(0);
        for (std::int32_t t = 0; t < trees(); ++t) {
            const std::size_t end = t + 1 < trees() ? roots_[t + 1] : nodes_.size();
            for (std::size_t v = roots_[t]; v < end; ++v) {
                if (nodes_[v].column >= 0) continue;
                nodes_[v].column = -1;
                nodes_[v].left = leaves();
                bit_of_leaf_.push_back(static_cast<std::int32_t>(leaf_of_bit_.size()));
                leaf_of_bit_.push_back(nodes_[v].left);
            }
            leaf_of_bit_.resize((leaf_of_bit_.size() + 63) / 64 * 64, -1);
            tree_word_.push_back(static_cast<std::int32_t>(leaf_of_bit_.size() / 64));
            first_leaf_.push_back(leaves());
        }
    }

    void lay_rows() {
        std::int32_t most = 0;
        for (std::int32_t j = 0; j < columns(); ++j) most = std::max(most, last_cell_of(j));
        const auto all = static_cast<double>(leaves()) * columns();
        if (columns() > kMostLanes || most >= std::numeric_limits<std::int16_t>::max() ||
            static_cast<double>(path_.size()) < kSettings.forest.full_paths * all)
            return;
        lanes_ = (columns() + kLanes - 1) / kLanes * kLanes;
        rows_.assign(2 * static_cast<std::size_t>(lanes_) * bit_of_leaf_.size(), 0);
        for (std::int32_t leaf = 0; leaf < leaves(); ++leaf) {
            std::int16_t* first = rows_.data() + 2 * lanes_ * std::int64_t{leaf};
            std::int16_t* last = first + lanes_;
            for (std::int32_t j = 0; j < columns(); ++j) last[j] = static_cast<std::int16_t>(last_cell_of(j));
            for (const PathEntry& entry : path(leaf)) {
                first[entry.column] = static_cast<std::int16_t>(entry.low);
                last[entry.column] = static_cast<std::int16_t>(entry.high);
            }
        }
    }

    void lay_path(std::int32_t leaf_node, std::int32_t root, const std::vector<std::int32_t>& parent) {
        const auto begin = static_cast<std::ptrdiff_t>(path_.size());
        std::int32_t child = leaf_node;
        for (std::int32_t v = parent[leaf_node - root]; v >= 0; child = v, v = parent[v - root]) {
            const Node& node = nodes_[v];
            auto entry = std::find_if(path_.begin() + begin, path_.end(),
                                      [&](const PathEntry& e) { return e.column == node.column; });
            if (entry == path_.end()) entry = path_.insert(path_.end(), {node.column, 0, last_cell_of(node.column)});
            if (node.left == child)
                entry->high = std::min(entry->high, node.split);
            else
                entry->low = std::max(entry->low, node.split + 1);
        }
        path_start_.push_back(static_cast<std::int64_t>(path_.size()));
    }

    std::vector<std::int32_t> face_start_;
    std::vector<float> cut_;
    std::vector<Node> nodes_;
    std::vector<std::int32_t> roots_;
    std::vector<std::int32_t> tree_word_;
    std::vector<std::int32_t> first_leaf_;  // of each tree, and the number of all leaves
    std::vector<std::int32_t> leaf_of_bit_;
    std::vector<std::int32_t> bit_of_leaf_;
    std::vector<std::int64_t> path_start_;
    std::vector<PathEntry> path_;
    std::int32_t laid_ = 0;
    std::int32_t lanes_ = 0;
    std::vector<std::int16_t> rows_;
};

// The samples of every leaf: those of leaf i are samples[first[i]], ... as many as size[i]. They share a leaf's weight
// alike, or in proportion to their mass.
struct LeafSamples {
    std::span<const std::int32_t> samples;
    std::span<const std::int64_t> first, size;
    std::int32_t trees = 1;             // that the leaves belong to
    std::span<const double> mass = {};  // of every sample; empty where all count alike

    std::span<const std::int32_t> of(std::int32_t leaf) const {
        return samples.subspan(static_cast<std::size_t>(first[leaf]), static_cast<std::size_t>(size[leaf]));
    }
    double mass_of(std::int32_t sample) const { return mass.empty() ? 1.0 : mass[static_cast<std::size_t>(sample)]; }
    double total(std::int32_t leaf) const {
        if (mass.empty()) return static_cast<double>(size[leaf]);
        double sum = 0.0;
        for (const std::int32_t sample : of(leaf)) sum += mass_of(sample);
        return sum;
    }
};

}  // namespace whence
