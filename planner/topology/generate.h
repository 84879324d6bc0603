// SPDX-License-Identifier: Apache-2.0
//
// Generates clusters for benchmarks, simulations and tests.
#ifndef COPSE_PLANNER_TOPOLOGY_GENERATE_H_
#define COPSE_PLANNER_TOPOLOGY_GENERATE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/topology/topology.h"

namespace copse::topology {

// Makes a cluster of nodes n1, n2, ..., whose numbers are unrelated to their places. U is uniform, LU log-uniform; a
// link's figures depend on the kind of its lower end. The same seed gives the same cluster.
//
// kind    | shape                                    | a node's overhead | links
// "mgo"   | floor(1.29 n^0.322 + u) LANs and         | U(110.7, 286) ms  | node U(0.171, 9.88) ms, LAN U(7.61, 151.5)
//         | floor(0.3 LANs + u) sites, at least 2    |                   | ms, site U(4.92, 72.8) ms; 1 kB takes, in
//         | each, u = U(0, 1)                        |                   | this order, LU(3.10, 3.31), LU(7.34, 18.7),
//         |                                          |                   | LU(13.7, 24.2) ms
// "racks" | racks of 16 on average, rooms of 8 racks | LU(1, 20) us      | node U(0.5, 2) us, 10 or 25 Gbit/s;
//         |                                          |                   | rack U(1, 10) us, 40 Gbit/s;
//         |                                          |                   | room U(5, 50) us, 100 Gbit/s
// "wan"   | the same racks in 4 sites, one of them   | LU(1, 20) us      | node and rack as before;
//         | far away                                 |                   | site U(0.2, 2) ms, 1 Gbit/s;
//         |                                          |                   | the far one U(20, 60) ms, 10 Mbit/s
//
// "mgo" resembles table 1 of the MGO paper, whose generator is not published.
//
// Errors: INVALID_ARGUMENT for another kind, no nodes, or more than kNodeCountMax.          Cost: O(nodes).
absl::StatusOr<Topology> GenerateTopology(std::string_view kind, uint32_t nodes, uint64_t seed);

std::vector<std::string> GeneratedKinds();

}  // namespace copse::topology

#endif  // COPSE_PLANNER_TOPOLOGY_GENERATE_H_
