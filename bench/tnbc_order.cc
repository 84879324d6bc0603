// SPDX-License-Identifier: Apache-2.0
#include "bench/tnbc_order.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/collectives.h"
#include "bench/rank_contender.h"
#include "bench/rank_contest.h"
#include "bench/row.h"
#include "bench/scenario_rounds.h"
#include "bench/site.h"
#include "bench/tnbc_systems.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"

namespace copse::bench {
namespace {

using Reporter = std::function<void(const Row&)>;
using Words = std::vector<std::string>;

constexpr uint64_t kKiB = 1024;
constexpr char kProfileVariable[] = "COPSE_TNBC_PROFILE";
constexpr char kTraceVariable[] = "COPSE_TNBC_TRACE";
constexpr absl::Duration kProfilePatience = absl::Seconds(60);

// Blocks are read by ranks that need no core for it, in as long as the call takes: so the order is all that matters.
struct Setting {
  uint32_t nodes;
  uint32_t ppn;
  Payload payload;
  LinkRate rate;
};

Words Orders(bool quick) { return quick ? Words{"reverse"} : Words{"forward", "reverse", "random"}; }

RankContest ContestOf(const Options& options, const Setting& setting, const std::string& order, double call) {
  RankContest contest;
  contest.bench = "tnbc-order";
  contest.metric = "time";
  contest.unit = "ms";
  contest.ppn = setting.ppn;
  for (const std::string library : kTnbcLibraries) {
    for (const char* variant : {kLearnt, kProfile, kUnordered, kBlocking}) contest.systems.push_back(library + variant);
    contest.pairs.insert(contest.pairs.end(), {{library + kLearnt, library + kProfile},
                                               {library + kLearnt, library + kUnordered},
                                               {library + kProfile, library + kUnordered},
                                               {library + kLearnt, library + kBlocking}});
  }
  contest.cases.push_back({absl::StrCat(setting.payload.collective, " ", SizeName(setting.payload.bytes), ", ", order,
                                        ", shaped ", setting.rate.name),
                           CellOf(setting.payload, {.related = call, .order = order})});
  contest.note = "call, and reading as long as it takes";
  contest.runs = options.quick ? 1 : 5;
  contest.budget = absl::Milliseconds(options.quick ? 500 : 6000);
  contest.calls_max = 10;
  contest.peer_time_max = absl::InfiniteDuration();
  return contest;
}

// Starts the ranks of one order of reading. Its profiles are of launches of their own, one a library.
class Starter {
 public:
  Starter(const Setting& setting, const std::string& order, Site* site)
      : setting_(setting), order_(order), site_(site) {}

  absl::StatusOr<RankProcesses> Start(const std::string& system, const Words& arguments) const {
    Site::MpiRanks ranks = {.program = kScenarioProgram, .ppn = setting_.ppn, .in_turn = true, .arguments = arguments};
    if (absl::EndsWith(system, kProfile)) ranks.environment[kProfileVariable] = ProfileOf(system);
    return StartTnbc(system, ranks, site_);
  }

  // A launch that leaves traces, of which copse-trace makes the profile.
  absl::Status Record(const Options& options, const std::string& library, const RankCell& cell) const {
    const std::string profile = ProfileOf(library), traces = absl::StrCat(profile, ".traces");
    const auto start = [&](const Words& arguments) {
      return StartTnbc(library + kUnordered,
                       {.program = kScenarioProgram,
                        .ppn = setting_.ppn,
                        .in_turn = true,
                        .arguments = arguments,
                        .environment = {{kTraceVariable, traces}}},
                       site_);
    };
    RankContender contender(library + kUnordered, start, nullptr, {cell},
                            {.calls_max = 1, .cell_timeout = options.cell_timeout}, nullptr);
    RETURN_IF_ERROR(contender.Measure({0}, [](size_t, const std::vector<double>&) {}));
    ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("cli/trace/copse-trace"));
    ASSIGN_OR_RETURN(const auto maker,
                     procs::ChildProcess::Start({.arguments = {program, traces, "--profile", profile, "--check"},
                                                 .log_file = absl::StrCat(profile, ".log")}));
    RETURN_IF_ERROR(maker->AwaitEnd(kProfilePatience));
    if (maker->exit_code() == 0) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("copse-trace: ", maker->DescribeFailure()));
  }

 private:
  std::string ProfileOf(const std::string& system) const {
    return absl::StrCat(site_->cluster()->folder(), "/", LibraryOf(system), "-", order_, ".profile");
  }

  const Setting& setting_;
  const std::string& order_;
  Site* const site_;
};

bool IsWanted(const Options& options, const Setting& setting, const std::string& order) {
  return AnyWanted(options, ContestOf(options, setting, order, 0), setting.nodes);
}

// A launch has one order: what is learnt of a call's place in the program would be wrong for the next.
absl::Status RunOrder(const Options& options, const Setting& setting, const std::string& order, double call, Site* site,
                      const Reporter& report) {
  RankContest contest = ContestOf(options, setting, order, call);
  const Starter starter(setting, order, site);
  for (const std::string library : kTnbcLibraries) {
    if (!WantedSystem(options, library + kProfile)) continue;
    RETURN_IF_ERROR(starter.Record(options, library, contest.cases[0].cell));
  }
  contest.start = [&starter](const std::string& system, const Words& arguments) {
    return starter.Start(system, arguments);
  };
  contest.take = [](const std::string&, size_t,
                    const std::vector<double>& samples) -> absl::StatusOr<std::vector<double>> {
    ASSIGN_OR_RETURN(const Rounds rounds, ParseRounds(samples));
    return rounds.totals;
  };
  return RunRankContest(options, contest, site, report);
}

absl::Status RunSetting(const Options& options, const Setting& setting, const Reporter& report) {
  Words orders = Orders(options.quick);
  std::erase_if(orders, [&](const std::string& order) { return !IsWanted(options, setting, order); });
  if (orders.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      const auto site,
      Site::Open({.nodes = setting.nodes, .parent = options.folder, .rate_bits_per_s = setting.rate.bits_per_s}));
  ASSIGN_OR_RETURN(const std::vector<double> calls, TimeCalls(options, {setting.payload}, setting.ppn, site.get()));
  for (const std::string& order : orders) {
    RETURN_IF_ERROR(RunOrder(options, setting, order, calls[0], site.get(), report));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunTnbcOrder(const Options& options, const Reporter& report) {
  for (const LinkRate& rate : {kSlowLink, kFastLink}) {
    if (options.quick && rate.bits_per_s < kFastLink.bits_per_s) continue;
    const Setting setting =
        options.quick ? Setting{2, 2, {"alltoall", 64 * kKiB}, rate} : Setting{4, 4, {"alltoall", 256 * kKiB}, rate};
    RETURN_IF_ERROR(RunSetting(WithTimeForTnbc(options), setting, report));
  }
  return absl::OkStatus();
}

}  // namespace copse::bench
