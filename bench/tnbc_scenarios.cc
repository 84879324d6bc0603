// SPDX-License-Identifier: Apache-2.0
#include "bench/tnbc_scenarios.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/collectives.h"
#include "bench/entrants.h"
#include "bench/rank_contest.h"
#include "bench/row.h"
#include "bench/scenario_rounds.h"
#include "bench/site.h"
#include "bench/tnbc_model.h"
#include "bench/tnbc_systems.h"

namespace copse::bench {
namespace {

using Reporter = std::function<void(const Row&)>;

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB;

struct Shape {
  uint32_t nodes;
  uint32_t ppn;
};

Shape ShapeOf(bool quick) { return quick ? Shape{2, 2} : Shape{4, 4}; }

uint32_t Cores() { return static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN)); }

// A cell, before its call is known.
struct Case {
  size_t payload;
  const Scenario* scenario;
  bool computes;  // else it sleeps: what the mechanism can do apart from this machine's cores
};

std::vector<Payload> Payloads(bool quick, const LinkRate& rate) {
  if (quick) return {{"alltoall", 64 * kKiB}};
  std::vector<Payload> payloads = {
      {"alltoall", 64 * kKiB}, {"alltoall", 256 * kKiB}, {"bcast", kMiB}, {"bcast", 8 * kMiB}};
  // Of 2 s on the slow one: the cells would take hours.
  if (rate.bits_per_s == kFastLink.bits_per_s) payloads.push_back({"alltoall", kMiB});
  return payloads;
}

std::vector<Case> CasesOf(size_t payload) {
  std::vector<Case> cases;
  for (const Scenario& scenario : PaperScenarios()) {
    for (const bool computes : {false, true}) cases.push_back({payload, &scenario, computes});
  }
  return cases;
}

std::string NameOf(const Payload& payload, const Case& each, const LinkRate& rate) {
  return absl::StrCat(payload.collective, " ", SizeName(payload.bytes), ", ", each.scenario->name,
                      each.computes ? ", computing" : ", idle cores", ", shaped ", rate.name);
}

// In calls of `call` ms.
Computation ComputationOf(const Case& each, double call, const Shape& shape) {
  return {.unrelated = each.scenario->unrelated * call,
          .related = each.scenario->related * call,
          .share = each.computes ? ShareOfCores(Cores(), shape.nodes * shape.ppn) : 0};
}

// What was measured of the blocking call, with the computation in the scenario's parts.
CallAndComputation ModelOf(const Payload& payload, const Scenario& scenario, const Shape& shape, const Rounds& rounds) {
  const double unrelated_part = scenario.unrelated / (scenario.unrelated + scenario.related);
  return {.call = rounds.call,
          .unrelated = rounds.computation * unrelated_part,
          .related = rounds.computation * (1 - unrelated_part),
          .blocks = BlocksOf(payload, shape.nodes * shape.ppn),
          .first_part = FirstPartOf(payload, shape.ppn)};
}

// The launches of one contest, by system and case.
using Said = std::map<std::pair<std::string, size_t>, std::vector<Rounds>>;

std::vector<double> Each(const std::vector<Rounds>& launches, double Rounds::*figure) {
  std::vector<double> values;
  for (const Rounds& rounds : launches) values.push_back(rounds.*figure);
  return values;
}

// What T-NBC made of the blocking call, launch by launch.
void ReportOverlap(Row row, const Payload& payload, const Scenario& scenario, const Shape& shape,
                   const std::vector<Rounds>& blocking, const std::vector<Rounds>& early, const Reporter& report) {
  std::vector<double> in_call, missed, wanted;
  for (size_t i = 0; i < std::min(blocking.size(), early.size()); ++i) {
    const CallAndComputation model = ModelOf(payload, scenario, shape, blocking[i]);
    in_call.push_back(100 * early[i].in_call / model.call);
    missed.push_back(NotReachedPercent(OverlapAllowed(model), blocking[i].total - early[i].total));
    wanted.push_back(CoresWantedPercent(blocking[i].call_busy + blocking[i].computation_busy, Cores(), Replay(model)));
  }
  if (missed.empty()) return;
  row.note = "of the blocking call";
  report(Figure(row, "in call", "%", in_call));
  row.note = "of what a replay, block by block, saves";
  report(Figure(row, "not overlapped", "%", missed));
  row.note =
      "computation and communication, of what cores can do in the replay's time; beyond 100 it cannot be reached";
  report(Figure(row, "cores wanted", "%", wanted));
}

class RateRun {
 public:
  RateRun(const Options& options, const LinkRate& rate, const Reporter& report)
      : options_(WithTimeForTnbc(options)), rate_(rate), report_(report), shape_(ShapeOf(options.quick)) {}

  absl::Status Run() {
    ChooseCases();
    if (cases_.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(
        const auto site,
        Site::Open({.nodes = shape_.nodes, .parent = options_.folder, .rate_bits_per_s = rate_.bits_per_s}));
    ASSIGN_OR_RETURN(calls_, TimeCalls(options_, payloads_, shape_.ppn, site.get()));
    RankContest contest = MakeContest();
    contest.start = [&](const std::string& system, const std::vector<std::string>& arguments) {
      return StartTnbc(system,
                       {.program = kScenarioProgram, .ppn = shape_.ppn, .in_turn = true, .arguments = arguments},
                       site.get());
    };
    contest.take = [this](const std::string& system, size_t index,
                          const std::vector<double>& samples) -> absl::StatusOr<std::vector<double>> {
      ASSIGN_OR_RETURN(const Rounds rounds, ParseRounds(samples));
      said_[{system, index}].push_back(rounds);
      return rounds.totals;
    };
    return RunRankContest(options_, contest, site.get(), [&](const Row& row) { Report(contest, row); });
  }

 private:
  // Those that are wanted, and only their payloads: each has to be timed first.
  void ChooseCases() {
    for (const Payload& payload : Payloads(options_.quick, rate_)) {
      for (const Case& each : CasesOf(payloads_.size())) {
        Row row;
        row.bench = "tnbc-scenarios";
        row.what = NameOf(payload, each, rate_);
        row.nodes = shape_.nodes;
        row.ppn = shape_.ppn;
        if (Wanted(options_, row) && (!options_.quick || each.scenario == &PaperScenarios()[1])) cases_.push_back(each);
      }
      if (!cases_.empty() && cases_.back().payload == payloads_.size()) payloads_.push_back(payload);
    }
  }

  RankContest MakeContest() const {
    RankContest contest;
    contest.bench = "tnbc-scenarios";
    contest.metric = "time";
    contest.unit = "ms";
    contest.ppn = shape_.ppn;
    for (const std::string library : kTnbcLibraries) {
      contest.systems.push_back(library + kTnbc);
      contest.systems.push_back(library + kBlocking);
      contest.pairs.emplace_back(library + kTnbc, library + kBlocking);
    }
    for (const Case& each : cases_) {
      const Payload& payload = payloads_[each.payload];
      contest.cases.push_back(
          {NameOf(payload, each, rate_), CellOf(payload, ComputationOf(each, calls_[each.payload], shape_))});
    }
    contest.runs = options_.quick ? 1 : 3;
    contest.budget = absl::Milliseconds(options_.quick ? 500 : 3000);
    contest.calls_max = 10;
    contest.peer_time_max = absl::InfiniteDuration();
    return contest;
  }

  const std::vector<Rounds>& LaunchesOf(const std::string& system, size_t index) { return said_[{system, index}]; }

  void Report(const RankContest& contest, const Row& row) {
    report_(row);
    if (!row.peer.empty() || row.metric == "unfinished") return;
    size_t index = 0;
    while (contest.cases[index].what != row.what) ++index;
    const std::vector<Rounds>& launches = LaunchesOf(row.system, index);
    report_(Figure(row, "communication", "ms", Each(launches, &Rounds::call)));
    report_(Figure(row, "computation", "ms", Each(launches, &Rounds::computation)));
    const std::string library = LibraryOf(row.system);
    if (row.system != library + kTnbc) return;
    ReportOverlap(row, payloads_[cases_[index].payload], *cases_[index].scenario, shape_,
                  LaunchesOf(library + kBlocking, index), launches, report_);
  }

  const Options options_;
  const LinkRate& rate_;
  const Reporter& report_;
  const Shape shape_;
  std::vector<Payload> payloads_;
  std::vector<Case> cases_;
  std::vector<double> calls_;  // ms, by payload
  Said said_;
};

}  // namespace

absl::Status RunTnbcScenarios(const Options& options, const Reporter& report) {
  for (const LinkRate& rate : {kSlowLink, kFastLink}) {
    if (options.quick && rate.bits_per_s < kFastLink.bits_per_s) continue;
    RETURN_IF_ERROR(RateRun(options, rate, report).Run());
  }
  return absl::OkStatus();
}

}  // namespace copse::bench
