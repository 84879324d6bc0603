// SPDX-License-Identifier: Apache-2.0
#include "bench/noise.h"

#include <memory>

#include "base/status_macros.h"
#include "bench/rank_contest.h"
#include "bench/site.h"

namespace copse::bench {

absl::Status RunNoise(const Options& options, const std::function<void(const Row&)>& report) {
  RankContest contest;
  contest.bench = "noise";
  contest.metric = "slowdown";
  contest.unit = "%";
  contest.systems = {"copse", "openmpi", "mpich"};
  contest.cases = {
      {"allreduce 48 B beside 1 ms of computing", {"noise", "allreduce", 48}},
      {"allreduce 48 B beside 1 ms of computing, computation alone", {"compute", "allreduce", 48}},
  };
  contest.note = "loops of post, compute, wait against loops that only compute; MPI polls in its waits";
  contest.runs = options.quick ? 2 : 11;  // a difference of two loops: it varies
  contest.budget = options.quick ? absl::Milliseconds(150) : absl::Milliseconds(900);
  contest.calls_max = 100;
  const uint32_t nodes = options.quick ? 2 : 8;
  if (!AnyWanted(options, contest, nodes)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<Site> site, Site::Open({.nodes = nodes, .parent = options.folder}));
  return RunRankContest(options, contest, site.get(), report);
}

}  // namespace copse::bench
