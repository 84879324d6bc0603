// SPDX-License-Identifier: Apache-2.0
//
// One contest: its testbeds, its systems' ranks, and its rows.
#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "bench/analysis.h"
#include "bench/background_load.h"
#include "bench/better_mpi.h"
#include "bench/contest.h"
#include "bench/temporary_file.h"
#include "bench/wide_area.h"
#include "planner/topology/topology_yaml.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"

namespace copse::bench {
namespace {

constexpr uint32_t kLoadProcesses = 2;

// Starts a program that measures between two processes of its own: it speaks as a single rank.
absl::StatusOr<RankProcesses> StartPair(const std::string& label, const std::string& system,
                                        const std::vector<std::string>& arguments) {
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram(label));
  std::vector<std::string> all = {program, system};
  all.insert(all.end(), arguments.begin(), arguments.end());
  RankProcesses pair;
  ASSIGN_OR_RETURN(pair.processes.emplace_back(),
                   procs::ChildProcess::Start({.arguments = std::move(all), .stdin_pipe = true, .stdout_pipe = true}));
  return pair;
}

Testbed* TestbedOf(const SystemSpec& system, const Testbeds& testbeds) {
  for (const auto& testbed : testbeds) {
    const TestbedOptions& options = testbed->options();
    if (options.algorithm == system.algorithm && options.transport == system.transport) return testbed.get();
  }
  return nullptr;
}

absl::StatusOr<Testbeds> OpenTestbeds(const Contest& contest, const std::string& parent, const std::string& fabric) {
  Testbeds testbeds;
  for (const SystemSpec& system : contest.systems) {
    if (TestbedOf(system, testbeds) != nullptr) continue;
    TestbedOptions options = contest.testbed;
    options.parent = parent;
    options.fabric = fabric;
    options.algorithm = system.algorithm;
    options.transport = system.transport;
    ASSIGN_OR_RETURN(testbeds.emplace_back(), Testbed::Open(options));
  }
  return testbeds;
}

RankHooks HooksOf(const Contest& contest, const SystemSpec& system, Testbed* testbed, Analysis* analysis) {
  RankHooks hooks;
  hooks.take = [&contest, &system, analysis](size_t cell, std::vector<double> samples) {
    return analysis->Take(system.name, contest.cases[cell], std::move(samples));
  };
  if (testbed == nullptr) {
    hooks.start = [&contest, &system](const std::vector<std::string>& arguments) {
      return StartPair(contest.line.at("pair"), system.name, arguments);
    };
    return hooks;
  }
  hooks.start = [&contest, &system, testbed, analysis](const std::vector<std::string>& arguments) {
    RankLaunch launch = {.program = TextOf(contest.line, "program"),
                         .ppn = contest.ppn,
                         .in_turn = contest.line.contains("in_turn"),
                         .arguments = arguments,
                         .environment = system.environment};
    analysis->SetEnvironment(system.name, &launch.environment);
    return testbed->StartRanks(system.ranks, launch);
  };
  if (system.ranks != "copse") return hooks;
  hooks.algorithm = [&contest, &system, testbed, analysis](size_t cell) -> absl::StatusOr<std::string> {
    const Case& what = contest.cases[cell];
    ASSIGN_OR_RETURN(const Testbed::PlanSummary plan, testbed->SummarizePlan(what.cell.collective, what.cell.bytes));
    RETURN_IF_ERROR(analysis->OnPlan(system.name, what, plan, testbed));
    return plan.algorithm;
  };
  return hooks;
}

}  // namespace

absl::Status MeasureContest(const Options& given, Contest contest, const Reporter& report) {
  Options options = given;
  options.cell_timeout *= NumberOf(contest.line, "cell_times", 1);
  std::erase_if(contest.cases, [&](const Case& each) { return !Wanted(options, each.row); });
  std::erase_if(contest.systems, [&](const SystemSpec& each) { return !WantedSystem(options, each.name); });
  if (contest.cases.empty() || contest.systems.empty()) return absl::OkStatus();
  if (options.runs > 0) contest.options.runs = options.runs;
  if (options.budget > absl::ZeroDuration()) contest.rank_options.budget = options.budget;
  contest.rank_options.cell_timeout = options.cell_timeout;

  TemporaryFile fabric;
  if (contest.line.contains("sites")) {
    ASSIGN_OR_RETURN(fabric, TemporaryFile::Write(topology::FormatTopologyYaml(ThreeSitesAcross()), options.folder));
  }
  Testbeds testbeds;
  if (!contest.line.contains("pair")) {
    ASSIGN_OR_RETURN(testbeds, OpenTestbeds(contest, options.folder, fabric.path()));
  }
  const std::unique_ptr<Analysis> analysis = NewAnalysis(contest);
  RETURN_IF_ERROR(analysis->Prepare(options, testbeds, &contest));
  ASSIGN_OR_RETURN(const auto load, BackgroundLoad::Start(contest.busy ? kLoadProcesses : 0));

  std::vector<Row> rows;
  for (const Case& each : contest.cases) rows.push_back(each.row);
  std::vector<std::unique_ptr<RankSystem>> systems;
  std::vector<SystemUnderTest*> pointers;
  uint32_t libraries = 0;
  for (const SystemSpec& system : contest.systems) {
    std::vector<RankCell> cells;
    for (const Case& each : contest.cases) {
      std::vector<std::string>& words = cells.emplace_back(each.cell).words;
      words.insert(words.end(), system.words.begin(), system.words.end());
    }
    systems.push_back(
        std::make_unique<RankSystem>(system.name, HooksOf(contest, system, TestbedOf(system, testbeds), analysis.get()),
                                     std::move(cells), contest.rank_options, load.get()));
    pointers.push_back(systems.back().get());
    libraries += IsMpi(system.name);
  }
  const Reporter to_analysis = [&](const Row& row) { analysis->OnRow(row, report); };
  RunContest(rows, pointers, contest.options,
             contest.line.contains("better_mpi") ? WithBetterMpi(libraries, to_analysis) : to_analysis);
  analysis->OnEnd(report);
  return absl::OkStatus();
}

}  // namespace copse::bench
