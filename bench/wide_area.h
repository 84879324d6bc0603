// SPDX-License-Identifier: Apache-2.0
//
// Defines clusters of several sites that copse-fabric can emulate.
#ifndef COPSE_BENCH_WIDE_AREA_H_
#define COPSE_BENCH_WIDE_AREA_H_

#include <cstdint>

#include "planner/topology/topology.h"

namespace copse::bench {

// Returns three sites of two racks of two nodes, n0 to n11. The one-way latency is 0.2 ms in a rack, 1 ms in a site and
// 10 ms between sites; links have 1 Gbit/s, and 100 Mbit/s between sites. All nodes share this machine's cores.
topology::Topology ThreeSites();
// Returns the sites of ThreeSites with nodes distributed round-robin: n0, n3, ... are in the first site, and nodes with
// consecutive numbers are in different racks.
topology::Topology ThreeSitesAcross();

// Returns a random tree of 8 to 14 nodes: three or four branches at the root, of one or two levels with two to three
// branches each. Links between switches have one-way latencies of 0.2 to 10 ms and 50 to 500 Mbit/s, those of nodes 20
// to 200 us and 200 to 1000 Mbit/s.
topology::Topology RandomSites(uint64_t seed);

// Returns the tree of `topology` with assumed values instead of measured ones: every link has 1 us and 10 Gbit/s.
topology::Topology WithoutFigures(const topology::Topology& topology);

}  // namespace copse::bench

#endif  // COPSE_BENCH_WIDE_AREA_H_
