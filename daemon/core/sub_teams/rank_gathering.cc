// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/rank_gathering.h"

#include "absl/strings/str_cat.h"

namespace copse::daemon {

using schedule::Failure;
using schedule::FailureReport;

FailureReport RankGathering::Add(NodeIndex node, const std::string& name, const std::vector<Rank>& ranks,
                                 uint32_t size) {
  if (size_ == 0) size_ = size;
  if (size != size_ && !node_of_rank_.empty() && !ranks.empty()) {
    const auto& [first, member] = *node_of_rank_.begin();
    return {Failure::kMismatch,
            absl::StrCat("sizes differ: ", size_, " says node ", member.name, " as rank ", first.value(), ", ", size,
                         " says node ", name, " as rank ", ranks.front().value())};
  }
  for (const Rank rank : ranks) {
    if (rank.value() >= size) {
      return {.failure = Failure::kInvalidArgument,
              .text = absl::StrCat("rank of node ", name, ": ", rank.value(), " (limit ", size - 1, ")"),
              .node = name,
              .rank = rank,
              .limit = size - 1};
    }
    const auto [claimed, is_new] = node_of_rank_.emplace(rank, Claim{node, name});
    if (is_new || claimed->second.node == node) continue;
    return {.failure = Failure::kMismatch,
            .text = absl::StrCat("rank ", rank.value(), " claimed twice: by node ", claimed->second.name,
                                 " and by node ", name),
            .rank = rank};
  }
  return {};
}

std::vector<NodeIndex> RankGathering::NodeOfRank() const {
  std::vector<NodeIndex> nodes;
  nodes.reserve(node_of_rank_.size());
  for (const auto& [rank, member] : node_of_rank_) nodes.push_back(member.node);
  return nodes;
}

FailureReport RankGathering::Late(absl::Duration timeout) const {
  std::vector<Rank> missing;
  for (Rank rank{0}; rank.value() < size_; ++rank) {
    if (node_of_rank_.count(rank) == 0) missing.push_back(rank);
  }
  return {.failure = Failure::kTimedOut,
          .text = absl::StrCat(missing.size(), " of ", size_, missing.size() == 1 ? " rank" : " ranks",
                               " missing after ", absl::FormatDuration(timeout), ": ", schedule::RankList(missing)),
          .cause = FailureCause::kNotFormedInTime,
          .rank = missing.empty() ? std::nullopt : std::optional<Rank>(missing.front()),
          .limit = static_cast<uint64_t>(absl::ToInt64Milliseconds(timeout))};
}

}  // namespace copse::daemon
