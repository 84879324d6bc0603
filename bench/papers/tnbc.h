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

// What stands behind the name of an MPI library in the systems' names.
inline constexpr char kTnbc[] = "+copse-tnbc", kBlocking[] = "+copse-blocking";
inline std::string LibraryOf(const std::string& system) { return system.substr(0, system.find('+')); }

// --- Kernels: mpi_kernel.c ---

// A KernelRun holds the output of one launch, in ms.
struct KernelRun {
  double total = 0;
  uint64_t hash = 0;  // of its results
  std::vector<CallAndComputation> calls;
};
// Parses the samples of a launch. Errors: INTERNAL if they do not have this form, or are no whole number of iterations
// of `calls_an_iteration` calls.
absl::StatusOr<KernelRun> ParseKernelRun(const std::vector<double>& samples, uint32_t calls_an_iteration,
                                         uint32_t nodes, uint32_t ppn);

// Returns the upper limit of the gain by T-NBC in a run, for the calls at this place in an iteration.
double CeilingOf(const KernelRun& run, uint32_t place, uint32_t calls_an_iteration);

// Key: `calls_of_iteration`, of which the case's collective is the long one.
std::unique_ptr<Analysis> NewKernelAnalysis(const Contest& contest);

// --- Scenarios: mpi_scenario.c ---

// Rounds holds times in ms of the slowest rank, as medians of the rounds of one launch.
struct Rounds {
  double call = 0;             // alone, until all data is there
  double computation = 0;      // alone
  double in_call = 0;          // until it returned, before the computation
  double total = 0;            // call and computation
  std::vector<double> totals;  // of each round
};
// Parses the samples of a launch. Errors: INTERNAL if they do not have this form.
absl::StatusOr<Rounds> ParseRounds(const std::vector<double>& samples);

// A Scenario is a call and its computation, whose times are multiples of the call's time.
struct Scenario {
  std::string collective;  // alltoall, bcast
  double unrelated = 0;
  double related = 0;
  std::string order = "forward";
};
// Reads a case. Keys: `scenario` (ms, for a call of 268 ms: "445+350") or `unrelated` and `related`, `order`.
Scenario ScenarioOf(const Words& line);
// Returns the words of the scenario's cell, for a call that takes `call_ms`.
std::vector<std::string> WordsOf(const Scenario& scenario, double call_ms);
// Returns the model of the measured blocking call, with the computation divided as in the scenario.
CallAndComputation ModelOf(const Scenario& scenario, const Rounds& rounds, uint32_t nodes, uint32_t ppn);

std::unique_ptr<Analysis> NewScenarioAnalysis();
// The same cells by priorities that are learned, or those of a profile, which is recorded before the contest.
std::unique_ptr<Analysis> NewOrderAnalysis();

}  // namespace copse::bench::papers

#endif  // COPSE_BENCH_PAPERS_TNBC_H_
