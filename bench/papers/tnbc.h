// SPDX-License-Identifier: Apache-2.0
//
// The T-NBC paper's measurements (transparent non-blocking collectives, whose calls return before their data is there):
// small applications as NPB's FT and IS, its five scenarios, and what the order of reading makes of them.
#ifndef COPSE_BENCH_PAPERS_TNBC_H_
#define COPSE_BENCH_PAPERS_TNBC_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/analysis.h"
#include "bench/cases.h"
#include "bench/papers/tnbc_model.h"

namespace copse::bench::papers {

// --- Kernels: mpi_kernel.c ---

// What one launch has said, in ms.
struct KernelRun {
  double total = 0;
  uint64_t hash = 0;  // of its results
  std::vector<CallAndComputation> calls;
};
// INTERNAL: that is no such line, or not of a whole number of iterations with so many calls each.
absl::StatusOr<KernelRun> ParseKernelRun(const std::vector<double>& samples, uint32_t calls_an_iteration,
                                         uint32_t nodes, uint32_t ppn);

// What T-NBC may bring in a run at most, of the calls with this place in an iteration, whatever the computation needs.
double CeilingOf(const KernelRun& run, uint32_t place, uint32_t calls_an_iteration);

// Key: `calls_of_iteration`, of which the case's collective is the long one.
std::unique_ptr<Analysis> NewKernelAnalysis(const Contest& contest);

// --- Scenarios: mpi_scenario.c ---

// Times in ms, of the slowest rank; medians of the rounds of one launch.
struct Rounds {
  double call = 0;             // alone, until all data is there
  double computation = 0;      // alone
  double in_call = 0;          // until it returned, before the computation
  double total = 0;            // call and computation
  std::vector<double> totals;  // of each round
};
// INTERNAL: not the figures of rounds.
absl::StatusOr<Rounds> ParseRounds(const std::vector<double>& samples);

// A call and its computation, which takes so many calls.
struct Scenario {
  std::string collective;  // alltoall, bcast
  double unrelated = 0;
  double related = 0;
  std::string order = "forward";
};
// Reads a case. Keys: `scenario` (ms, for a call of 268 ms: "445+350") or `unrelated` and `related`, `order`.
Scenario ScenarioOf(const Words& line);
// The words of a cell, for a call of so many ms.
std::vector<std::string> WordsOf(const Scenario& scenario, double call_ms);
// What was measured of the blocking call, with the computation in the scenario's parts.
CallAndComputation ModelOf(const Scenario& scenario, const Rounds& rounds, uint32_t nodes, uint32_t ppn);

std::unique_ptr<Analysis> NewScenarioAnalysis();
// The same cells by priorities that are learnt, or those of a profile, which is recorded before the contest.
std::unique_ptr<Analysis> NewOrderAnalysis();

}  // namespace copse::bench::papers

#endif  // COPSE_BENCH_PAPERS_TNBC_H_
