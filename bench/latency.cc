// SPDX-License-Identifier: Apache-2.0
#include "bench/latency.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/hogs.h"
#include "bench/rank_contest.h"
#include "bench/site.h"

namespace copse::bench {
namespace {

constexpr uint32_t kHogs = 2;

using Reporter = std::function<void(const Row&)>;

// One site's contest.
struct Group {
  uint32_t nodes;
  uint32_t ppn;
  bool busy = false;
  absl::Duration latency;  // of the fabric, if there is one
};

std::vector<Group> Groups(bool quick) {
  if (quick) return {{2, 1}, {2, 2}, {2, 1, true}, {2, 1, false, absl::Milliseconds(1)}};
  std::vector<Group> groups;
  for (const uint32_t nodes : {2, 4, 8, 16, 32}) {
    for (const bool busy : {false, true}) groups.push_back({nodes, 1, busy});
  }
  for (const bool busy : {false, true}) groups.push_back({8, 8, busy});
  for (const double ms : {0.2, 1.0}) groups.push_back({8, 1, false, absl::Milliseconds(ms)});
  return groups;
}

// "idle", "busy", "fabric 1 ms".
std::string LoadOf(const Group& group) {
  if (group.latency > absl::ZeroDuration()) {
    return absl::StrCat("fabric ", absl::ToDoubleMilliseconds(group.latency), " ms");
  }
  return group.busy ? "busy" : "idle";
}

std::string NoteOf(const Group& group) {
  if (group.latency > absl::ZeroDuration()) return "one way from node to node";
  if (group.busy) return "beside 2 compute-bound processes: MPI polls, Copse sleeps";
  return group.nodes * group.ppn > 2 ? "more ranks than cores: MPI polls, Copse sleeps" : "";
}

std::vector<RankCase> Cases(const std::string& load) {
  return {
      {"allreduce 48 B, " + load, {"latency", "allreduce", 48}},
      {"reduce 48 B, " + load, {"latency", "reduce", 48}},
      {"bcast 1 KiB, " + load, {"latency", "bcast", 1024}},
      {"barrier, " + load, {"latency", "barrier", 0}},
      {"allreduce 48 B, " + load + ", back-to-back", {"stream", "allreduce", 48}},
  };
}

// What the network takes of the call, whoever makes it: so Copse's part is the rest.
Row OverCriticalPath(const Row& row, uint32_t hops, absl::Duration latency) {
  Row ratio = row;
  const double delays_us = hops * absl::ToDoubleMicroseconds(latency);
  ratio.peer = "critical path";
  ratio.metric = "ratio";
  ratio.unit = "1";
  for (double* figure : {&ratio.p10, &ratio.median, &ratio.p90}) *figure /= delays_us;
  ratio.note =
      absl::StrCat(hops, " hops of ", absl::FormatDuration(latency), " on the plan's critical path; ", row.note);
  return ratio;
}

absl::Status RunGroup(const Options& options, const Group& group, const Reporter& report) {
  RankContest contest;
  contest.bench = "latency";
  contest.metric = "latency";
  contest.unit = "us";
  contest.ppn = group.ppn;
  contest.systems = {"copse", "openmpi", "mpich", "sockets"};
  contest.cases = Cases(LoadOf(group));
  contest.note = NoteOf(group);
  contest.runs = options.quick ? 2 : 5;
  contest.budget = absl::Milliseconds(options.quick ? 30 : 150);
  contest.calls_max = options.quick ? 50 : 200;
  if (!AnyWanted(options, contest, group.nodes)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto hogs, Hogs::Start(group.busy ? kHogs : 0));
  contest.hogs = hogs.get();
  std::map<std::string, uint32_t> hops;  // by collective: each has one size here
  contest.on_plan = [&](const RankCell& cell, const Site::Plan& plan) { hops[cell.collective] = plan.hops; };
  ASSIGN_OR_RETURN(const auto site,
                   Site::Open({.nodes = group.nodes, .parent = options.folder, .latency = group.latency}));
  return RunRankContest(options, contest, site.get(), [&](const Row& row) {
    report(row);
    const bool delayed = group.latency > absl::ZeroDuration() && row.system == "copse" && row.metric == "latency";
    if (delayed && hops[row.collective] > 0) {
      report(OverCriticalPath(row, hops[row.collective], group.latency));
    }
  });
}

}  // namespace

absl::Status RunLatency(const Options& options, const Reporter& report) {
  for (const Group& group : Groups(options.quick)) RETURN_IF_ERROR(RunGroup(options, group, report));
  return absl::OkStatus();
}

}  // namespace copse::bench
