// SPDX-License-Identifier: Apache-2.0
//
// The analyses that have functions of their own to be tested.
#ifndef COPSE_BENCH_ANALYSES_H_
#define COPSE_BENCH_ANALYSES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/analysis.h"

namespace copse::bench {

// --- overlap ---

// One batch of rank_main.c's mode `overlap`, in microseconds.
struct OverlapTimes {
  double call = 0;     // without computation
  double compute = 0;  // without a call
  double total = 0;    // post, computation, wait
  double post = 0;     // of that
  double others = 0;   // processors: daemons and kernel, a node
};

// By the OSU formula, what is left of 100 % overlap: in [0, 100].
double NotOverlappedPercent(const OverlapTimes& times);
// The total beside computation, post, and what the node's processor had to do besides.
double OverCosts(const OverlapTimes& times);

// --- link ---

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

// --- prediction, in hetero.cc ---

std::unique_ptr<Analysis> NewPredictionAnalysis();

}  // namespace copse::bench

#endif  // COPSE_BENCH_ANALYSES_H_
