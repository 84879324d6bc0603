// SPDX-License-Identifier: Apache-2.0
//
// How much of a long collective an application that computes meanwhile does not notice.
#ifndef COPSE_BENCH_OVERLAP_H_
#define COPSE_BENCH_OVERLAP_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunOverlap(const Options& options, const std::function<void(const Row&)>& report);

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

}  // namespace copse::bench

#endif  // COPSE_BENCH_OVERLAP_H_
