// SPDX-License-Identifier: Apache-2.0
#include "bench/latency.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "bench/hogs.h"
#include "bench/rank_contest.h"
#include "bench/site.h"

namespace copse::bench {
namespace {

constexpr uint32_t kHogs = 2;

struct Group {
  uint32_t nodes;
  uint32_t ppn;
};

std::vector<RankCase> Cases(const std::string& load) {
  return {
      {"allreduce 48 B, " + load, {"latency", "allreduce", 48}},
      {"reduce 48 B, " + load, {"latency", "reduce", 48}},
      {"bcast 1 KiB, " + load, {"latency", "bcast", 1024}},
      {"barrier, " + load, {"latency", "barrier", 0}},
      {"allreduce 48 B, " + load + ", back-to-back", {"stream", "allreduce", 48}},
  };
}

absl::Status RunGroup(const Options& options, const Group& group, bool busy, Site* site,
                      const std::function<void(const Row&)>& report) {
  std::unique_ptr<Hogs> hogs;
  if (busy) {
    ASSIGN_OR_RETURN(hogs, Hogs::Start(kHogs));
  }
  RankContest contest;
  contest.bench = "latency";
  contest.metric = "latency";
  contest.unit = "us";
  contest.ppn = group.ppn;
  contest.systems = {"copse", "openmpi", "mpich", "sockets"};
  contest.cases = Cases(busy ? "busy" : "idle");
  contest.note = busy                          ? "beside 2 compute-bound processes; MPI polls, Copse sleeps"
                 : group.nodes * group.ppn > 2 ? "more ranks than cores: MPI polls, Copse sleeps"
                                               : "";
  contest.runs = options.quick ? 2 : 5;
  contest.budget = options.quick ? absl::Milliseconds(40) : absl::Milliseconds(150);
  contest.calls_max = options.quick ? 50 : 200;
  contest.hogs = hogs.get();
  return RunRankContest(options, contest, site, report);
}

}  // namespace

absl::Status RunLatency(const Options& options, const std::function<void(const Row&)>& report) {
  const std::vector<uint32_t> node_counts =
      options.quick ? std::vector<uint32_t>{2, 4} : std::vector<uint32_t>{2, 4, 8, 16, 32};
  for (const uint32_t nodes : node_counts) {
    std::unique_ptr<Site> site;  // opened when a cell of it is wanted
    std::vector<Group> groups = {{nodes, 1}};
    if (nodes == 8) groups.push_back({nodes, 8});
    for (const Group& group : groups) {
      for (const bool busy : {false, true}) {
        if (options.quick && busy) continue;
        if (site == nullptr) {
          ASSIGN_OR_RETURN(site, Site::Open(nodes, options.folder));
        }
        RETURN_IF_ERROR(RunGroup(options, group, busy, site.get(), report));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace copse::bench
