// SPDX-License-Identifier: Apache-2.0
//
// Compares Copse with the fastest of several MPI libraries, since a user of MPI can choose that one.
#ifndef COPSE_BENCH_BETTER_MPI_H_
#define COPSE_BENCH_BETTER_MPI_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/row.h"

namespace copse::bench {

inline constexpr char kBetterMpi[] = "better MPI";

// Returns a function that passes the rows of a contest on to `report`. After a cell's ratios to all `libraries` MPI
// libraries, it adds the ratio to the fastest of them, with peer kBetterMpi. That row is unfinished if none of the
// libraries, or if the first system, has finished.
std::function<void(const Row&)> WithBetterMpi(uint32_t libraries, std::function<void(const Row&)> report);

// A Tally counts the cells in which the first system is faster than a peer, which is an MPI library or kBetterMpi.
struct Tally {
  uint32_t cells = 0;
  uint32_t ahead = 0;  // ratio below 1, or no ratio since a system has not finished; includes `lost`
  uint32_t lost = 0;   // not finished by the first system, which is then behind in any case
  double worst_ratio = 0;
  std::string worst;  // case with the worst ratio
};
// Adds a row of a contest to `*tally`. Only the results of system `first` and its ratios to `peer` have an effect.
void Count(const Row& row, const std::string& first, const std::string& peer, Tally* tally);
// Returns rows with the metrics "cells not ahead" in percent, and "worst ratio", or no rows without cells. `blank` has
// the fields that the rows have in common.
std::vector<Row> RowsOf(const Tally& tally, const Row& blank);

}  // namespace copse::bench

#endif  // COPSE_BENCH_BETTER_MPI_H_
