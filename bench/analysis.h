// SPDX-License-Identifier: Apache-2.0
//
// What a benchmark makes of its contest beside the contest's own rows.
#ifndef COPSE_BENCH_ANALYSIS_H_
#define COPSE_BENCH_ANALYSIS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/bench.h"
#include "bench/cases.h"
#include "bench/testbed.h"

namespace copse::bench {

// The testbeds of a contest's systems: one for each algorithm, that of the first system first.
using Testbeds = std::vector<std::unique_ptr<Testbed>>;

// An Analysis sees one contest. Calls follow Prepare, (OnPlan | Take)*, OnRow*, OnEnd; cases are numbered as the
// contest has them. This one adds nothing.
class Analysis {
 public:
  using Samples = std::vector<double>;
  virtual ~Analysis() = default;

  // Before the first launch; cells may be changed.
  virtual absl::Status Prepare(const Options& /*options*/, const Testbeds& /*testbeds*/, Contest* /*contest*/) {
    return absl::OkStatus();
  }
  // The environment of a launch.
  virtual void SetEnvironment(const std::string& /*system*/, std::map<std::string, std::string>* /*environment*/) {}
  // Copse's plan for a case, while its team exists.
  virtual absl::Status OnPlan(const std::string& /*system*/, const Case& /*what*/, const Testbed::PlanSummary& /*plan*/,
                              Testbed* /*testbed*/) {
    return absl::OkStatus();
  }
  // What counts in the contest of what a system's ranks measured in one launch. An error fails the cell.
  virtual absl::StatusOr<Samples> Take(const std::string& /*system*/, const Case& /*what*/, Samples samples) {
    return samples;
  }
  virtual void OnRow(const Row& row, const Reporter& report) { report(row); }
  virtual void OnEnd(const Reporter& /*report*/) {}
};

// That of the contest's `analysis`. The contest outlives it.
std::unique_ptr<Analysis> NewAnalysis(const Contest& contest);

// Measures a contest, and reports its rows and those of its analysis. Leaves out what the options do not want.
absl::Status MeasureContest(const Options& options, Contest contest, const Reporter& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_ANALYSIS_H_
