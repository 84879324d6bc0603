// SPDX-License-Identifier: Apache-2.0
//
// Declares the analyses, and those of their functions that have unit tests.
#ifndef COPSE_BENCH_ANALYSES_H_
#define COPSE_BENCH_ANALYSES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/analysis.h"

namespace copse::bench {

// --- overlap ---

// OverlapTimes holds the times of one batch of rank_main.c's mode `overlap`, in microseconds.
struct OverlapTimes {
  double call = 0;     // a call without computation
  double compute = 0;  // the computation without a call
  double total = 0;    // post, computation and wait
  double post = 0;     // the post in `total`
  double others = 0;   // processor time of daemons and kernel, per node
};

// Returns the ratio of the total to the sum of computation, post and the processor time of others.
double OverCosts(const OverlapTimes& times);

// --- link ---

// LinkUse describes a call and the plan that serves it, with one rank per node.
struct LinkUse {
  std::string collective;
  std::string algorithm;            // name in planning.md
  std::vector<uint32_t> neighbors;  // number of neighbors by node, the root first
  uint64_t bytes = 0;               // the field `bytes` of rows
};

// Returns the bytes that the node with the busiest link has to send, or to receive if these are more, for a message of
// m bytes, or a block of b bytes of each of n nodes:
//
//   bcast, reduce       m for each child; on a ring, m
//   allreduce           m for each neighbor; on a ring 2 (n - 1) / n m
//   allgather           n b for each child, but at least (n - 1) b; (n - 1) b on a ring, by bruck and by doubling
//
// Segments are assumed to follow each other without gaps, and to be short compared with the message. Returns 0 if the
// bytes are not known: for other collectives, fewer than two nodes, or a node without neighbors.
double BusiestLinkBytes(const LinkUse& use);

// Returns the TCP payload that a link of `bits_per_s` carries, in bytes per second: 1448 of the 1514 bytes of a frame.
double PayloadRate(int64_t bits_per_s);

// --- prediction, in hetero.cc ---

std::unique_ptr<Analysis> NewPredictionAnalysis();

}  // namespace copse::bench

#endif  // COPSE_BENCH_ANALYSES_H_
