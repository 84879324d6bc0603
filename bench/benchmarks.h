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

// Code reports the rows of a contest of that name, or of the contest's key `code`.
using Code = absl::Status(const Options& options, const Contest& contest, const Reporter& report);
Code RunAlu, RunApps, RunAppsTnbc, RunControlCore, RunControlSwarm, RunDerive, RunFabric, RunFailover,
    RunHopInstructions, RunHostile, RunIdle, RunLaunch, RunMemory, RunMgoTable, RunModel, RunPage, RunPlanQuality,
    RunPlanTime, RunProbe, RunReplan, RunScale, RunScrape, RunShares, RunTnbcSteps;

// Returns the slope of the straight line that fits the points (x, y) best.
double Slope(const std::vector<std::pair<double, double>>& points);

}  // namespace copse::bench

#endif  // COPSE_BENCH_BENCHMARKS_H_
