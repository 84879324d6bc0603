// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/papers/tnbc.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"

namespace copse::bench::papers {
namespace {

constexpr size_t kFigures = 4;        // of a round
constexpr uint32_t kBcastBlocks = 8;  // as the paper has them; mpi_scenario.c reads so many
constexpr double kPaperCallMs = 268;
constexpr char kProfile[] = "+copse-profile", kUnordered[] = "+copse-unordered";
constexpr absl::Duration kProfilePatience = absl::Seconds(60);

std::vector<double> Column(const std::vector<double>& samples, size_t figure) {
  std::vector<double> values;
  for (size_t i = figure; i < samples.size(); i += kFigures) values.push_back(samples[i] / 1e3);
  return values;
}

// A launch of its own, whose ranks are those of `contest` on `library` with Copse and this environment.
absl::Status Launch(const std::string& name, const Contest& contest, std::vector<RankCell> cells,
                    const RankOptions& options, const std::string& library,
                    std::map<std::string, std::string> environment, Testbed* testbed,
                    const SystemUnderTest::Report& report) {
  environment.insert({{"COPSE_MPI_OFFLOAD", "all"}, {"COPSE_MPI_CALLS_BEFORE", "0"}});
  RankHooks hooks;
  hooks.start = [&](const std::vector<std::string>& arguments) {
    return testbed->StartRanks(library + kUnderMpi, {.program = contest.line.at("program"),
                                                     .ppn = contest.ppn,
                                                     .in_turn = true,
                                                     .arguments = arguments,
                                                     .environment = environment});
  };
  std::vector<size_t> all(cells.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  RankSystem ranks(name, hooks, std::move(cells), options, nullptr);
  return ranks.Measure(all, report);
}

class ScenarioAnalysis : public Analysis {
 public:
  // Computations are made as long as each case's call takes if it blocks, which is measured in one launch.
  absl::Status Prepare(const Options& options, const Testbeds& testbeds, Contest* contest) override {
    std::vector<RankCell> cells;
    std::vector<size_t> cell_of_case;
    std::map<std::pair<std::string, uint64_t>, size_t> known;  // by what is sent
    for (const Case& each : contest->cases) {
      const Scenario scenario = ScenarioOf(each.line);
      const auto [cell, is_new] = known.try_emplace({scenario.collective, each.row.bytes}, cells.size());
      cell_of_case.push_back(cell->second);
      if (!is_new) continue;
      cells.push_back(each.cell);
      cells.back().words = WordsOf({.collective = scenario.collective}, 0);
    }
    std::vector<double> calls_ms;
    absl::Status parsed;
    RETURN_IF_ERROR(Launch(
        "calls", *contest, cells, {.budget = absl::Seconds(2), .calls_max = 10, .cell_timeout = options.cell_timeout},
        "openmpi", {{"COPSE_TNBC", "off"}}, testbeds.front().get(), [&](size_t, const std::vector<double>& samples) {
          const absl::StatusOr<Rounds> rounds = ParseRounds(samples);
          if (!rounds.ok()) parsed = rounds.status();
          calls_ms.push_back(rounds.ok() ? rounds->call : 0);
        }));
    RETURN_IF_ERROR(parsed);
    for (size_t i = 0; i < contest->cases.size(); ++i) {
      Case& each = contest->cases[i];
      each.cell.words = WordsOf(ScenarioOf(each.line), calls_ms[cell_of_case[i]]);
      lines_[each.row.what] = each.line;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Samples> Take(const std::string& system, const Case& what, Samples samples) override {
    ASSIGN_OR_RETURN(const Rounds rounds, ParseRounds(samples));
    launches_[{system, what.row.what}].push_back(rounds);
    return rounds.totals;
  }

  void OnRow(const Row& row, const Reporter& report) override {
    report(row);
    if (!row.peer.empty() || row.metric == "unfinished") return;
    const std::vector<Rounds>& launches = launches_[{row.system, row.what}];
    if (!absl::EndsWith(row.system, kTnbc)) return;
    ReportOverlap(row, lines_[row.what], launches_[{LibraryOf(row.system) + kBlocking, row.what}], launches, report);
  }

 private:
  // What T-NBC made of the blocking call, launch by launch.
  static void ReportOverlap(Row row, const Words& line, const std::vector<Rounds>& blocking,
                            const std::vector<Rounds>& early, const Reporter& report) {
    std::vector<double> in_call, missed;
    for (size_t i = 0; i < std::min(blocking.size(), early.size()); ++i) {
      const CallAndComputation model = ModelOf(ScenarioOf(line), blocking[i], row.nodes, row.ppn);
      in_call.push_back(100 * early[i].in_call / model.call);
      missed.push_back(NotReachedPercent(OverlapAllowed(model), blocking[i].total - early[i].total));
    }
    if (missed.empty()) return;
    row.note = "of the blocking call";
    report(Figure(row, "in call", "%", in_call));
    if (!line.contains("scenario")) return;
    row.note = "of what a replay, block by block, saves";
    report(Figure(row, "not overlapped", "%", missed));
  }

  std::map<std::string, Words> lines_;                                           // by case
  std::map<std::pair<std::string, std::string>, std::vector<Rounds>> launches_;  // by system and case
};

// Profiles are of launches of their own, one a library, that leave traces.
class OrderAnalysis final : public ScenarioAnalysis {
 public:
  absl::Status Prepare(const Options& options, const Testbeds& testbeds, Contest* contest) override {
    RETURN_IF_ERROR(ScenarioAnalysis::Prepare(options, testbeds, contest));
    folder_ = testbeds.front()->cluster()->folder();
    for (const SystemSpec& system : contest->systems) {
      if (!absl::EndsWith(system.name, kProfile)) continue;
      RETURN_IF_ERROR(Record(options, LibraryOf(system.name), *contest, testbeds.front().get()));
    }
    return absl::OkStatus();
  }
  void SetEnvironment(const std::string& system, std::map<std::string, std::string>* environment) override {
    if (absl::EndsWith(system, kProfile)) (*environment)["COPSE_TNBC_PROFILE"] = ProfileOf(LibraryOf(system));
  }
  void OnRow(const Row& row, const Reporter& report) override { report(row); }

 private:
  std::string ProfileOf(const std::string& library) const { return absl::StrCat(folder_, "/", library, ".profile"); }

  // Makes the profile by copse-trace.
  absl::Status Record(const Options& options, const std::string& library, const Contest& contest,
                      Testbed* testbed) const {
    const std::string profile = ProfileOf(library), traces = absl::StrCat(profile, ".traces");
    RETURN_IF_ERROR(Launch(library + kUnordered, contest, {contest.cases[0].cell},
                           {.calls_max = 1, .cell_timeout = options.cell_timeout}, library,
                           {{"COPSE_TNBC", "on"}, {"COPSE_TNBC_ORDER", "off"}, {"COPSE_TNBC_TRACE", traces}}, testbed,
                           [](size_t, const std::vector<double>&) {}));
    ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("cli/trace/copse-trace"));
    ASSIGN_OR_RETURN(const auto maker,
                     procs::ChildProcess::Start({.arguments = {program, traces, "--profile", profile, "--check"},
                                                 .log_file = absl::StrCat(profile, ".log")}));
    RETURN_IF_ERROR(maker->AwaitEnd(kProfilePatience));
    if (maker->exit_code() == 0) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("copse-trace: ", maker->DescribeFailure()));
  }

  std::string folder_;
};

}  // namespace

absl::StatusOr<Rounds> ParseRounds(const std::vector<double>& samples) {
  if (samples.empty() || samples.size() % kFigures != 0) {
    return absl::InternalError(absl::StrCat("not the figures of rounds (count=", samples.size(), ")"));
  }
  const auto median = [&samples](size_t figure) { return Median(Column(samples, figure)); };
  return Rounds{.call = median(0),
                .computation = median(1),
                .in_call = median(3),
                .total = median(2),
                .totals = Column(samples, 2)};
}

Scenario ScenarioOf(const Words& line) {
  Scenario scenario = {.collective = TextOf(line, "collective"),
                       .unrelated = NumberOf(line, "unrelated"),
                       .related = NumberOf(line, "related"),
                       .order = TextOf(line, "order", "forward")};
  if (line.contains("scenario")) {
    const std::pair<std::string, std::string> ms = absl::StrSplit(line.at("scenario"), '+');
    scenario.unrelated = NumberOf({{"ms", ms.first}}, "ms") / kPaperCallMs;
    scenario.related = NumberOf({{"ms", ms.second}}, "ms") / kPaperCallMs;
  }
  return scenario;
}

std::vector<std::string> WordsOf(const Scenario& scenario, double call_ms) {
  return {absl::StrCat(scenario.unrelated * call_ms * 1e3), absl::StrCat(scenario.related * call_ms * 1e3),
          scenario.order};
}

CallAndComputation ModelOf(const Scenario& scenario, const Rounds& rounds, uint32_t nodes, uint32_t ppn) {
  const bool is_bcast = scenario.collective == "bcast";
  const double unrelated_part = scenario.unrelated / (scenario.unrelated + scenario.related);
  return {.call = rounds.call,
          .unrelated = rounds.computation * unrelated_part,
          .related = rounds.computation * (1 - unrelated_part),
          .blocks = is_bcast ? kBcastBlocks : nodes * ppn,
          .first_part = 1.0 / (is_bcast ? kBcastBlocks : ppn)};
}

std::unique_ptr<Analysis> NewScenarioAnalysis() { return std::make_unique<ScenarioAnalysis>(); }
std::unique_ptr<Analysis> NewOrderAnalysis() { return std::make_unique<OrderAnalysis>(); }

}  // namespace copse::bench::papers
