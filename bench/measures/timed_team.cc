// SPDX-License-Identifier: Apache-2.0
#include "bench/measures/timed_team.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"

namespace copse::bench {
namespace {

constexpr char kTeam[] = "bench";  // as rank_copse.c calls it

}  // namespace

absl::StatusOr<std::unique_ptr<TimedTeam>> TimedTeam::Start(procs::ProcessCluster* cluster, uint32_t nodes,
                                                            uint32_t ppn, absl::Duration timeout,
                                                            const std::string& job, uint32_t user) {
  schedule::TeamShape shape;
  shape.node_count = nodes;
  for (uint32_t rank = 0; rank < nodes * ppn; ++rank) shape.node_of_rank.push_back(NodeIndex(rank / ppn));
  ASSIGN_OR_RETURN(RankProcesses ranks, StartCopseRanks(cluster, nodes, ppn, {"serve"}, job, user));
  std::unique_ptr<TimedTeam> team(new TimedTeam(cluster, std::move(shape), std::move(ranks)));
  // Until all are in.
  RETURN_IF_ERROR(team->Time(Collective::kBarrier, 0, 0, 1, timeout).status());
  return team;
}

absl::Status TimedTeam::Force(const std::string& algorithm) { return cluster_->Replan(kTeam, algorithm); }

absl::StatusOr<std::vector<double>> TimedTeam::Time(Collective collective, uint64_t bytes, uint32_t warm_up,
                                                    uint32_t calls, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  const std::string request =
      absl::StrCat("latency:", std::string(CollectiveName(collective)), ":", bytes, " ", warm_up, " ", calls, "\n");
  for (const auto& rank : ranks_.processes) RETURN_IF_ERROR(rank->Write(request));
  std::vector<double> slowest(calls, 0);
  for (const auto& rank : ranks_.processes) {
    ASSIGN_OR_RETURN(const std::string line, rank->ReadLine(deadline - absl::Now()));
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() != calls + 1) {  // behind the number of the cell
      return absl::InternalError(absl::StrCat("rank_copse: other than asked (calls=", words.size(), "): ", line));
    }
    for (uint32_t i = 0; i < calls; ++i) {
      double us = 0;
      if (!absl::SimpleAtod(words[i + 1], &us)) return absl::InternalError(absl::StrCat("rank_copse: ", words[i + 1]));
      slowest[i] = std::max(slowest[i], us);
    }
  }
  return slowest;
}

absl::Status TimedTeam::Stop(absl::Duration timeout) {
  for (const auto& rank : ranks_.processes) rank->CloseInput();
  RETURN_IF_ERROR(ranks_.AwaitEnd(timeout));
  ranks_.processes.clear();
  return absl::OkStatus();
}

}  // namespace copse::bench
