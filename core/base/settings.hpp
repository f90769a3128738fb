// Every number of core/ that was chosen: allowances for rounding, and what trades one kind of work for another.
//
// Allowances belong to proofs: a smaller one may rule out what is an explanation, a larger one only costs time. All
// others change how fast a search is and the course it takes, never what it proves; what a change of them costs is
// measured by benchmarks/forest_search.py and knn_search.py. How many numbers are dealt with side by side is the
// business of the loops that do so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace whence {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A double has about 16 digits, and a sum of n terms may lose as many units in the last place as it has terms.
struct Rounding {
    // Shares of the size of what was added up, by which a bound may lie above what it bounds:
    double spread_of_means = 1e-13;  // a sum over trees with factors,
    double curves = 1e-12;           // one of slopes times forecasts,
    double stock = 1e-12;            // one of costs of quantities,
    double budget = 1e-9;            // what plans that keep a budget add up to, beside it,
    double linear_plans = 1e-6;      // what linear plans cost that keep their rows only as solvers do,
    double spread_of_tails = 1e-11;  // one of excesses that are sums over samples themselves,
    double strong_bound = 1e-10;     // the Lagrangian bound, which learned for a hundred rounds (absolute up to 1),
    double potentials = 1e-11;       // the bound by potentials, of some thousand sums each,
    double neighbours = 1e-11;       // the spread of k differences,
    double nearness = 1e-12;         // a sum of weights by nearness,
    double kernels = 1e-12;          // and one of a kernel's values.
    // Shares of a tail's weight that are one number, computed in two ways: where trees are added up, and where leaves
    // are counted.
    double same_share = 1e-12, counted_share = 1e-9;
    // Rises of the bound of a half add up to zero; a face must be better by this share, and a split of a grown tree
    // too.
    double rises = 1e-9, gain = 1e-9;
    // Along an axis, in units of distance: what a ball that cuts a box may leave outside, widths that are none, keys
    // that are the same, and by how much a pair of neighbours or a row of the rules may miss what is asked for.
    double hair = 1e-12, narrow = 1e-12, same_key = 1e-12, miss = 1e-11, rule_slack = 1e-10;
    // The steepest slope inside a ball, and slopes beside it that a linear program takes for none.
    double steepest = 1e-9, slight_slope = 1e-8;
};

// The search over the boxes of a forest.
struct ForestSettings {
    std::int64_t learn_every = 64;            // boxes between two lessons of the strong bound
    std::int32_t first_lesson = 100;          // rounds of the first one, at most; a forest with long paths gets fewer:
    std::int32_t shortest_lesson = 8;         // rounds of it at least, and of the later ones
    std::int64_t lesson_entries = 4'000'000;  // path entries that the first lesson goes over, about
    double later_rate = 0.1;                  // how much shares learn then; at first it is 1
    double least_share = 1e-3;                // what a half that gains nothing counts for where a face is chosen
    std::size_t many_leaves = 64;             // of a tree, above which only the first step of its gains is followed
    double full_paths = 0.5;  // share of the columns on paths from which on leaves keep whole rows of cells
    std::size_t kept_words = std::size_t{1} << 22;  // of 64 leaves each that waiting boxes keep: 32 MB
    std::int32_t wide_range = 64;      // etas from which on it pays to ask which of them can attain the CVaR
    std::int32_t pull_rounds = 8;      // in which proposals pull all columns of a context towards the start
    std::int32_t along_a_line = 24;    // cells that they look at along a column, about
    double hopeless = 1.25;            // a proposal so many times as far as the nearest one gets no exchanges
    std::int32_t spread_steps = 4;     // in which the common level of disagreeing trees is closed in on,
    double close_level = 1e-4;         // and how close is enough, as a share of where it may lie
    std::int32_t parabolas = 4;        // that are tried for a box where a breach is looked for
    double least_width = 1e-9;         // of one, beside the values
    std::int32_t mixture_rounds = 24;  // in which the weights of a mixture of rivals are corrected,
    double mixture_rate = 1.5;         // and how much at first
    std::int64_t rival_numbers = 16'000'000, least_rivals = 64;  // of plans met on the way that are kept
};

// The search for single plans by potentials.
struct PotentialSettings {
    std::int32_t whole_sweeps = 30, sweeps = 3;          // over the whole space, and over any other box
    double whole_step = 0.2, step = 0.05, slower = 0.1;  // share by which the multiplier moves, and its decrease
    // The factor by which the best multiplier is searched, and how many times the first one it may be: where no context
    // counts there is no best one, and rounding grows with it.
    double factor = 1.5, most_multiplier = 1e4;
    // The first multiplier: what a context in question may be away for what the start is short of, times this; what it
    // is short of is at least this part of what leaves differ by.
    double first_multiplier = 2.0, least_short = 1e-3;
    double width = 0.005;          // share of the distance in question up to which dearer leaves count for the slope
    double unknown = 0.25;         // part of the largest distance that is in question as long as nothing is known
    std::int64_t dive_every = 64;  // halves of boxes, one of which is gone into at once until nothing is left
    double aim = 1.35, farther = 1.2;  // contexts are aimed at up to this times what was proved; grows by the other
    std::int64_t kept_numbers = 50'000'000;  // potentials that boxes keep at most: others begin with zeros
    double largest_price = 1e30;             // that sweeps can add up with half the digits
};

// Sets of plans and routes.
struct PlanSettings {
    std::size_t listed_routes = 600;                   // of a box, at most, and what finding them may take:
    std::size_t looks = 3'000'000, least_steps = 200;  // looks at a leaf, but at least so many steps
    double many_routes = 10'000.0;       // above which not even a small question lists them at its first box
    double try_again = 0.8;              // a box lists again where it meets at most this share of the leaves before
    double worth_keeping = 0.8;          // plans are written down where this share, or less, is left
    std::size_t summed_routes = 100;     // up to which costs are summed up one by one to find the cheapest
    std::size_t kept_tolls = 8'000'000;  // numbers of tolls that are held for the parts of boxes, about
    double close_to_tau = 4.0;           // bounds nearer than so many roundings are taken again with all digits
    // Rounds in which tolls change at the first box and at others, and prices that are added up for that.
    std::size_t first_rounds = 16, further_rounds = 8, prices = 60'000'000;
    std::size_t wide_network = 9;  // arcs for each arc of a route up to which routes are listed
    // A step of the tolls leads towards a bound that is more than enough by such a share of what it began with, but not
    // by less than another; the first one by this factor, every further one by less.
    double more = 0.02, least_step = 0.05, first_step = 1.1, next_step = 0.95;
    double exchanged = 1e-4;            // share of a product's quantities that a step is long: below it lie demands
    int halvings = 48;                  // of the prices of a unit that may suit a budget
    double price_room = 0.1;            // share of the dearest one by which prices in the parts of a box may differ
    std::int64_t large_stock = 50'000;  // leaves times products of a box that is split before it is bounded
    // Parts into which the quantities of all products are cut in a box, and numbers of leaves and parts above which
    // they are fewer; rounds in which trees agree on parts of several products.
    std::size_t parts = 32, part_numbers = 1'000'000;
    int rounds = 2;
    int spread_halvings = 8;  // in which it is found out up to which quantities exchanges pay
    // Leaves times products of a box above which exchanges are those that come to hand.
    std::int64_t few_numbers = 20'000;
    std::size_t looked_at = 64;  // quantities of a product at which it is looked whether they can be best
    std::size_t row_numbers = 60'000'000, least_rows = 8;  // of rows of plans, at most, but for the first ones
    std::int64_t few_rivals = 12;                          // that thresholds of a plan are ruled out by
    double linear_gap = 1e-10;  // share of the least risk of linear plans within which both bounds are one number,
    double linear_close = 0.1;  // and of its distance from what is asked, where only that matters
    int linear_rounds = 1;      // in which a box learns from where its bound is attained, by this step
    double linear_step = 0.5;
    std::size_t looked_at_costs = 32;  // costs at which it is looked whether the worst share can begin there
};

// The search over boxes of contexts, by neighbours and by kernels.
struct ContextSettings {
    std::size_t few_members = 48;        // open ones up to which a box that can be split is tried by linear programs,
    std::int64_t programs = 20;          // so many of them
    std::int64_t numbers = 500'000'000;  // that the programs of a box may look at before it is split instead
    std::size_t lines = 4;               // cuts that become rows of such a program
    double narrow_beside = 0.25;         // share of another axis' width below which a split gives way to that one
    double still = 0.25;                 // share of the separation by which scores may vary in a box that is not split
    double largest_exponent = 300.0;     // of a kernel's factor, above which nothing is known of the sums in a box
    double beyond = 1.01;                // by how much farther than estimated a context is tried
};

// The plans of the shipment problem, where costs and demands are in units that make the largest ones about one.
struct ShipmentSettings {
    double tie = 1e-11;        // share of the largest cost below which costs of shipping do not differ
    double gap = 1e-10;        // of the cost of a plan, within which the bound is met,
    double least_gap = 1e-12;  // and the least such difference that is more than rounding
    double near = 1e-5;        // share of the cost beyond which trial plans go only so far to the minimum of the cuts:
    double pull = 0.3;
    double flat = 1e-13;   // slopes below this share of demand and stock are zero,
    double pivot = 1e-11;  // and so are coefficients of the cuts up to this one
};

struct Settings {
    Rounding rounding;
    ForestSettings forest;
    PotentialSettings potentials;
    PlanSettings plans;
    ContextSettings contexts;
    ShipmentSettings shipment;
};

inline constexpr Settings kSettings;
inline constexpr const Rounding& kRounding = kSettings.rounding;

}  // namespace whence
