// SPDX-License-Identifier: Apache-2.0
#include "bench/benchmarks.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/analysis.h"

namespace copse::bench {
namespace {

absl::Status RunContest(const Options& options, const Contest& contest, const Reporter& report) {
  static const auto& codes = *new std::map<std::string, Code*>{{"alu", RunAlu},
                                                               {"apps", RunApps},
                                                               {"apps-tnbc", RunAppsTnbc},
                                                               {"control-core", RunControlCore},
                                                               {"control-swarm", RunControlSwarm},
                                                               {"derive", RunDerive},
                                                               {"fabric", RunFabric},
                                                               {"failover", RunFailover},
                                                               {"hop-instructions", RunHopInstructions},
                                                               {"hostile", RunHostile},
                                                               {"idle", RunIdle},
                                                               {"launch", RunLaunch},
                                                               {"memory", RunMemory},
                                                               {"mgo-table", RunMgoTable},
                                                               {"model", RunModel},
                                                               {"page", RunPage},
                                                               {"plan-quality", RunPlanQuality},
                                                               {"plan-time", RunPlanTime},
                                                               {"probe", RunProbe},
                                                               {"replan", RunReplan},
                                                               {"scale", RunScale},
                                                               {"scrape", RunScrape},
                                                               {"shares", RunShares},
                                                               {"tnbc-steps", RunTnbcSteps}};
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
