// SPDX-License-Identifier: Apache-2.0
//
// Clusters of several sites, to be emulated by copse-fabric.
#ifndef COPSE_BENCH_WIDE_AREA_H_
#define COPSE_BENCH_WIDE_AREA_H_

#include <cstdint>

#include "planner/topology/topology.h"

namespace copse::bench {

// Three sites of two racks of two nodes, n0 to n11. One way 0.2 ms in a rack, 1 ms in a site, 10 ms between sites;
// 1 Gbit/s, and 100 Mbit/s between sites. All nodes share this machine's cores.
topology::Topology ThreeSites();
// The same sites, with nodes dealt out: n0, n3, ... are in the first, and neighbours in number are in different racks.
topology::Topology ThreeSitesAcross();

// Three or four branches at the root, of one or two levels, of two to three branches each: 8 to 14 nodes. Links between
// switches take 0.2 to 10 ms one way and carry 50 to 500 Mbit/s, those of nodes 20 to 200 us and 200 to 1000 Mbit/s.
topology::Topology RandomSites(uint64_t seed);

// The same tree as somebody who has measured nothing would write it down: every link 1 us and 10 Gbit/s.
topology::Topology WithoutFigures(const topology::Topology& topology);

}  // namespace copse::bench

#endif  // COPSE_BENCH_WIDE_AREA_H_
