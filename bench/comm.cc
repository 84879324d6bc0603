// SPDX-License-Identifier: Apache-2.0
#include "bench/comm.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/rank_contest.h"
#include "bench/row.h"
#include "bench/site.h"

namespace copse::bench {
namespace {

using Reporter = std::function<void(const Row&)>;

// Where ranks have a core each, and where they have not.
struct Group {
  uint32_t nodes;
  uint32_t ppn;
};

constexpr uint64_t kFewCalls = 12;
// So many that ranks look whether a team would be worth its while.
constexpr uint64_t kManyCalls = 80;
constexpr uint32_t kCommunicators = 2000;

std::string CallsName(uint64_t calls) {
  if (calls == 0) return "unused";
  return absl::StrCat(calls, calls == 1 ? " barrier" : " barriers", " each");
}

RankContest ContestOf(const Options& options, const Group& group) {
  RankContest contest;
  contest.bench = "comm";
  contest.metric = "time";
  contest.unit = "us";
  contest.ppn = group.ppn;
  contest.systems = {"openmpi+copse", "openmpi", "mpich+copse", "mpich"};
  contest.pairs = {{"openmpi+copse", "openmpi"}, {"mpich+copse", "mpich"}};
  contest.note = group.nodes * group.ppn > 2 ? "more ranks than cores: MPI polls" : "";
  contest.runs = options.quick ? 1 : 5;
  contest.budget = absl::Milliseconds(options.quick ? 50 : 2000);
  contest.calls_max = options.quick ? 20 : kCommunicators;
  contest.peer_time_max = absl::Minutes(2);
  for (const std::string way : {"dup", "split"}) {
    for (const uint64_t calls : {uint64_t{0}, uint64_t{1}, kFewCalls, kManyCalls}) {
      contest.cases.push_back({absl::StrCat(way, " and free, ", CallsName(calls)), {"make", way, calls, {}}});
    }
  }
  return contest;
}

absl::Status RunGroup(const Options& options, const Group& group, const Reporter& report) {
  RankContest contest = ContestOf(options, group);
  if (!AnyWanted(options, contest, group.nodes)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto site, Site::Open({.nodes = group.nodes, .parent = options.folder}));
  contest.start = [&](const std::string& system, const std::vector<std::string>& arguments) {
    return site->StartMpi(
        system, {.program = "bench/mpi_communicators", .ppn = group.ppn, .arguments = arguments, .environment = {}});
  };
  return RunRankContest(options, contest, site.get(), [&](Row row) {
    row.bytes = 0;  // were barriers
    report(row);
  });
}

}  // namespace

absl::Status RunComm(const Options& options, const Reporter& report) {
  const std::vector<Group> groups =
      options.quick ? std::vector<Group>{{2, 1}} : std::vector<Group>{{1, 2}, {2, 1}, {4, 2}};
  for (const Group& group : groups) RETURN_IF_ERROR(RunGroup(options, group, report));
  return absl::OkStatus();
}

}  // namespace copse::bench
