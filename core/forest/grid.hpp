// A fitted forest as a grid: cells between thresholds, faces between cells, leaves as bits.
//
// Contexts that fall between the same thresholds have the same weights, so the search walks over cells. Column j has
// the cells 0..n and n faces between them: face c lies between the cells c and c + 1. The faces of all columns are
// numbered on, and so are their cells.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

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
         std::vector<std::int32_t> roots);

    // Lay out the paths of the leaves of the next trees with at least so many nodes; true once all are laid out.
    // A large forest takes a while, and a time limit has to be kept.
    bool lay_paths(std::int64_t nodes);

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
    void leaves_at(const Cells& cells, Leaves& leaves) const;

    // The cells, from `low` to `high` in every column, in which each tree has the same leaf as at this one.
    void cells_alike(const Cells& cells, Cells& low, Cells& high) const;

private:
    void check_trees() const;
    void number_leaves();
    void lay_rows();
    void lay_path(std::int32_t leaf_node, std::int32_t root, const std::vector<std::int32_t>& parent);

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

}  // namespace whence
