// SPDX-License-Identifier: Apache-2.0
#include "bench/mpi_collectives.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/better_mpi.h"
#include "bench/collectives.h"
#include "bench/hogs.h"
#include "bench/rank_contest.h"
#include "bench/row.h"
#include "bench/site.h"

namespace copse::bench {
namespace {

using Reporter = std::function<void(const Row&)>;

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr uint32_t kHogs = 2;

const char* const kCollectives[] = {"bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall"};

struct Group {
  uint32_t nodes;
  uint32_t ppn;
  bool busy;
  std::vector<uint64_t> sizes;
};

std::vector<Group> Groups(bool quick) {
  if (quick) return {{2, 1, false, {8, 64 * kKiB}}, {2, 1, true, {8}}};
  const std::vector<uint64_t> sizes = {8, kKiB, 64 * kKiB, kMiB};  // as `collectives` has them
  return {{8, 1, false, sizes}, {8, 1, true, sizes}, {8, 8, false, sizes}, {8, 8, true, {8, kKiB}}};
}

std::string LoadOf(const Group& group) { return group.busy ? "busy" : "idle"; }

// By size, so that what takes longest comes last. 48 B is what `latency` has its targets for.
std::vector<RankCase> Cases(const Group& group) {
  const std::string load = LoadOf(group);
  std::vector<RankCase> cases = {{"barrier, " + load, {"latency", "barrier", 0, {}}},
                                 {"allreduce 48 B, " + load, {"latency", "allreduce", 48, {}}}};
  for (const uint64_t bytes : group.sizes) {
    for (const std::string collective : kCollectives) {
      if (!FitsRank(collective, bytes, group.nodes * group.ppn)) continue;
      cases.push_back({absl::StrCat(collective, " ", SizeName(bytes), ", ", load), {"latency", collective, bytes, {}}});
    }
  }
  return cases;
}

RankContest ContestOf(const Options& options, const Group& group) {
  RankContest contest;
  contest.bench = "mpi-collectives";
  contest.metric = "latency";
  contest.unit = "us";
  contest.ppn = group.ppn;
  contest.systems = {"copse", "openmpi+copse", "openmpi", "mpich+copse", "mpich"};
  contest.pairs = {
      {"openmpi+copse", "openmpi"}, {"mpich+copse", "mpich"}, {"openmpi+copse", "copse"}, {"mpich+copse", "copse"}};
  contest.cases = Cases(group);
  contest.note = group.busy ? "beside 2 compute-bound processes: MPI polls, Copse sleeps"
                            : "more ranks than cores: MPI polls, Copse sleeps";
  contest.runs = options.quick ? 1 : 3;
  // The path of a kind of calls is chosen by its first ones, of which some take a peer's time.
  contest.budget = absl::Milliseconds(options.quick ? 30 : 400);
  contest.calls_max = 200;
  contest.peer_time_max = absl::Minutes(1);
  contest.unfinished_max = 3;
  return contest;
}

absl::Status RunGroup(const Options& options, const Group& group, const Reporter& report) {
  RankContest contest = ContestOf(options, group);
  if (!AnyWanted(options, contest, group.nodes)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto hogs, Hogs::Start(group.busy ? kHogs : 0));
  contest.hogs = hogs.get();
  ASSIGN_OR_RETURN(const auto site, Site::Open({.nodes = group.nodes, .parent = options.folder}));
  contest.start = [&](const std::string& system, const std::vector<std::string>& arguments) {
    if (!absl::StrContains(system, kUnderMpi)) return site->StartRanks(system, group.ppn, arguments);
    // A benchmark's ranks make few calls of each kind: what is compared is what a program has that has had its team for
    // long.
    return site->StartMpi(system, {.program = "bench/rank",
                                   .ppn = group.ppn,
                                   .arguments = arguments,
                                   .environment = {{"COPSE_MPI_CALLS_BEFORE", "4"}}});
  };
  std::map<std::string, Standing> standings;  // by library: of it with Copse beside it alone
  RETURN_IF_ERROR(RunRankContest(options, contest, site.get(), [&](const Row& row) {
    report(row);
    for (const std::string library : {"openmpi", "mpich"}) {
      Count(row, library + kUnderMpi, library, &standings[library]);
    }
  }));
  for (const auto& [library, standing] : standings) {
    Row blank;
    blank.bench = contest.bench;
    blank.what = "all, " + LoadOf(group);
    blank.system = library + kUnderMpi;
    blank.nodes = group.nodes;
    blank.ppn = group.ppn;
    for (const Row& row : RowsOf(standing, blank)) report(row);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunMpiCollectives(const Options& options, const Reporter& report) {
  for (const Group& group : Groups(options.quick)) RETURN_IF_ERROR(RunGroup(options, group, report));
  return absl::OkStatus();
}

}  // namespace copse::bench
