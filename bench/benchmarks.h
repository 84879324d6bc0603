// SPDX-License-Identifier: Apache-2.0
//
// Declares the benchmarks that are code, and runs a benchmark of bench/cases.yaml by name.
#ifndef COPSE_BENCH_BENCHMARKS_H_
#define COPSE_BENCH_BENCHMARKS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "bench/bench.h"
#include "bench/cases.h"

namespace copse::bench {

// Runs the contests of a benchmark of bench/cases.yaml one after the other. Errors: NOT_FOUND if there is no such
// benchmark; those of its contests.
absl::Status RunBenchmark(const std::string& name, const Options& options, const Reporter& report);

absl::Status RunAlu(const Options& options, const Reporter& report);
absl::Status RunApps(const Options& options, const Reporter& report);
absl::Status RunAppsTnbc(const Options& options, const Reporter& report);
absl::Status RunFabric(const Options& options, const Reporter& report);
absl::Status RunHopInstructions(const Options& options, const Reporter& report);
absl::Status RunIdle(const Options& options, const Reporter& report);
absl::Status RunMemory(const Options& options, const Contest& contest, const Reporter& report);
absl::Status RunMgoTable(const Options& options, const Reporter& report);
absl::Status RunModel(const Options& options, const Reporter& report);
absl::Status RunPlanQuality(const Options& options, const Reporter& report);
absl::Status RunPlanTime(const Options& options, const Reporter& report);
absl::Status RunProbe(const Options& options, const Reporter& report);
absl::Status RunReplan(const Options& options, const Reporter& report);
absl::Status RunScale(const Options& options, const Contest& contest, const Reporter& report);
absl::Status RunTnbcSteps(const Options& options, const Reporter& report);

// Returns the slope of the straight line that fits the points (x, y) best.
double Slope(const std::vector<std::pair<double, double>>& points);

}  // namespace copse::bench

#endif  // COPSE_BENCH_BENCHMARKS_H_
