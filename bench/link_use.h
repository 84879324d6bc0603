// SPDX-License-Identifier: Apache-2.0
//
// How fast an algorithm can be where links are all that limits it.
#ifndef COPSE_BENCH_LINK_USE_H_
#define COPSE_BENCH_LINK_USE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace copse::bench {

struct LinkUse {
  std::string collective;
  std::string algorithm;             // planning.md's name
  std::vector<uint32_t> neighbours;  // by node, of the root first; one rank a node
  uint64_t bytes = 0;                // as rows have it
};

// What the node whose link is busiest has to send, or to receive if that is more, in bytes, for a message m, or a block
// b of each of n nodes:
//
//   bcast, reduce       m for each child; on a ring, m
//   allreduce           m for each neighbour; on a ring 2 (n - 1) / n m; by recursive doubling m for each neighbour
//   allgather           n b for each child, and b for each node below, up; (n - 1) b on a ring, by bruck, by doubling
//
// Segments are taken to follow each other without a gap, and to be short beside the message. 0: not known.
double BusiestLinkBytes(const LinkUse& use);

// The payload of TCP that a link of so many bits a second carries, in bytes a second: frames of 1514 bytes have 1448.
double PayloadRate(int64_t bits_per_s);

}  // namespace copse::bench

#endif  // COPSE_BENCH_LINK_USE_H_
