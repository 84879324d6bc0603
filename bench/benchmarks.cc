// SPDX-License-Identifier: Apache-2.0
#include "bench/benchmarks.h"

#include <functional>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/analysis.h"

namespace copse::bench {
namespace {

using Code = std::function<absl::Status(const Options&, const Contest&, const Reporter&)>;

Code WithoutContest(absl::Status (*run)(const Options&, const Reporter&)) {
  return [run](const Options& options, const Contest&, const Reporter& report) { return run(options, report); };
}

absl::Status RunContest(const Options& options, const Contest& contest, const Reporter& report) {
  static const auto& codes = *new std::map<std::string, Code>{{"alu", WithoutContest(RunAlu)},
                                                              {"apps", WithoutContest(RunApps)},
                                                              {"apps-tnbc", WithoutContest(RunAppsTnbc)},
                                                              {"fabric", WithoutContest(RunFabric)},
                                                              {"hop-instructions", WithoutContest(RunHopInstructions)},
                                                              {"idle", WithoutContest(RunIdle)},
                                                              {"memory", RunMemory},
                                                              {"mgo-table", WithoutContest(RunMgoTable)},
                                                              {"model", WithoutContest(RunModel)},
                                                              {"plan-quality", WithoutContest(RunPlanQuality)},
                                                              {"plan-time", WithoutContest(RunPlanTime)},
                                                              {"probe", WithoutContest(RunProbe)},
                                                              {"replan", WithoutContest(RunReplan)},
                                                              {"scale", RunScale},
                                                              {"tnbc-steps", WithoutContest(RunTnbcSteps)}};
  const auto code = codes.find(TextOf(contest.line, "code", contest.bench));
  return code == codes.end() ? MeasureContest(options, contest, report) : code->second(options, contest, report);
}

}  // namespace

absl::Status RunBenchmark(const std::string& name, const Options& options, const Reporter& report) {
  ASSIGN_OR_RETURN(const std::vector<Benchmark> benchmarks, LoadBenchmarks(options.quick));
  for (const Benchmark& benchmark : benchmarks) {
    if (benchmark.name != name) continue;
    for (const Contest& contest : benchmark.contests) RETURN_IF_ERROR(RunContest(options, contest, report));
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat("no such benchmark (name=", name, ")"));
}

}  // namespace copse::bench
