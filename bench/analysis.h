// SPDX-License-Identifier: Apache-2.0
//
// Lets a benchmark add rows of its own to those of its contest.
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

// An Analysis observes one contest. Calls follow Prepare, (OnPlan | Take)*, OnRow*, OnEnd. This base class passes rows
// on and adds nothing.
class Analysis {
 public:
  using Samples = std::vector<double>;
  virtual ~Analysis() = default;

  // Called before the first launch; may change the contest's cases.
  virtual absl::Status Prepare(const Options& /*options*/, const Testbeds& /*testbeds*/, Contest* /*contest*/) {
    return absl::OkStatus();
  }
  // Called before each launch of a system; may change the environment of its ranks.
  virtual void SetEnvironment(const std::string& /*system*/, std::map<std::string, std::string>* /*environment*/) {}
  // Called with Copse's plan for a case, while the ranks' team exists.
  virtual absl::Status OnPlan(const std::string& /*system*/, const Case& /*what*/, const Testbed::PlanSummary& /*plan*/,
                              Testbed* /*testbed*/) {
    return absl::OkStatus();
  }
  // Returns those samples of one launch that count in the contest, or values computed from them. An error fails the
  // cell.
  virtual absl::StatusOr<Samples> Take(const std::string& /*system*/, const Case& /*what*/, Samples samples) {
    return samples;
  }
  virtual void OnRow(const Row& row, const Reporter& report) { report(row); }
  virtual void OnEnd(const Reporter& /*report*/) {}
};

// Makes the analysis that the contest's key `analysis` names. `contest` must outlive it.
std::unique_ptr<Analysis> NewAnalysis(const Contest& contest);

// Measures a contest, and reports its rows and those of its analysis. Leaves out cells and systems that the options
// exclude.
absl::Status MeasureContest(const Options& options, Contest contest, const Reporter& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_ANALYSIS_H_
