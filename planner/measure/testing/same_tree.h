// SPDX-License-Identifier: Apache-2.0
//
// Compares trees of switches.
#ifndef COPSE_PLANNER_MEASURE_TESTING_SAME_TREE_H_
#define COPSE_PLANNER_MEASURE_TESTING_SAME_TREE_H_

#include "planner/topology/topology.h"

namespace copse::measure {

// Returns whether both trees have the same nodes (by name), and their links between switches separate the nodes into
// the same pairs of sets. Switches with two links, and the choice of the root, make no difference.
bool SameTree(const topology::Topology& a, const topology::Topology& b);

}  // namespace copse::measure

#endif  // COPSE_PLANNER_MEASURE_TESTING_SAME_TREE_H_
