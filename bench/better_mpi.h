// SPDX-License-Identifier: Apache-2.0
//
// What several MPI libraries mean for one target: a user of MPI can take the faster one.
#ifndef COPSE_BENCH_BETTER_MPI_H_
#define COPSE_BENCH_BETTER_MPI_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/row.h"

namespace copse::bench {

inline constexpr char kBetterMpi[] = "better MPI";

// Passes rows of a contest on, and after the ratios of a cell to all of `libraries` MPI libraries, one to whichever was
// faster there, as peer kBetterMpi. It is unfinished if none of them, or the first system, has finished.
std::function<void(const Row&)> WithBetterMpi(uint32_t libraries, std::function<void(const Row&)> report);

// How many cells are ahead of a peer, which is an MPI library or whichever is faster.
struct Tally {
  uint32_t cells = 0;
  uint32_t ahead = 0;  // ratio below 1, or the peer has not finished
  uint32_t lost = 0;   // not finished by the first system: behind, whatever the others did
  double worst_ratio = 0;
  std::string worst;  // its case
};
// Takes a row of a contest: only the first system's ratios to the peer and its own figures matter. Of a cell the
// figure comes first.
void Count(const Row& row, const std::string& first, const std::string& peer, Tally* tally);
// Metrics "cells not ahead" in percent, and "worst ratio", if there are any cells. `blank` has what they have in
// common.
std::vector<Row> RowsOf(const Tally& tally, const Row& blank);

}  // namespace copse::bench

#endif  // COPSE_BENCH_BETTER_MPI_H_
