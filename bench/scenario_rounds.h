// SPDX-License-Identifier: Apache-2.0
//
// What is told to mpi_scenario.c, and what it says.
#ifndef COPSE_BENCH_SCENARIO_ROUNDS_H_
#define COPSE_BENCH_SCENARIO_ROUNDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/bench.h"
#include "bench/rank_contender.h"
#include "bench/site.h"

namespace copse::bench {

// Times in ms, of the slowest rank; medians of the rounds of one launch.
struct Rounds {
  double call = 0;         // alone, until all data is there
  double computation = 0;  // alone
  double in_call = 0;      // until it returned, before the computation
  double call_busy = 0;    // of all processors in the call alone
  double computation_busy = 0;
  double total = 0;            // call and computation
  std::vector<double> totals;  // of each round
};
// INTERNAL: not the figures of rounds.
absl::StatusOr<Rounds> ParseRounds(const std::vector<double>& samples);

inline constexpr char kScenarioProgram[] = "bench/mpi_scenario";

// What is sent.
struct Payload {
  std::string collective;         // alltoall, bcast
  uint64_t bytes = 0;             // of a block, or of all
  std::string memory = "malloc";  // malloc, mpi: of MPI_Alloc_mem
};
// How many blocks the computation reads, of a payload on so many ranks.
uint32_t BlocksOf(const Payload& payload, uint32_t ranks);
// As in CallAndComputation.
double FirstPartOf(const Payload& payload, uint32_t ppn);

// Computations in ms. `share` of a core for each rank; 0: it sleeps, and needs none.
struct Computation {
  double unrelated = 0;
  double related = 0;
  double share = 0;
  std::string order = "forward";
};
RankCell CellOf(const Payload& payload, const Computation& computation);

// How long each payload's call takes if it blocks, in ms, in one launch of its own: what computations are made as long
// as.
absl::StatusOr<std::vector<double>> TimeCalls(const Options& options, const std::vector<Payload>& payloads,
                                              uint32_t ppn, Site* site);

}  // namespace copse::bench

#endif  // COPSE_BENCH_SCENARIO_ROUNDS_H_
