// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/views/call_merge.h"

#include <algorithm>
#include <iterator>

namespace copse::coordinator {

void CallMerge::Add(const std::string& node, const schedule::DaemonStatus& status) {
  answered_.insert(node);
  for (const schedule::RankProgress& rank : status.progress) progress_[{rank.team, rank.rank}] = rank.calls;
  for (const schedule::CallStatus& call : status.calls) {
    const auto [it, is_new] = calls_.try_emplace({call.team, call.waits_for, call.sequence});
    Merged& merged = it->second;
    if (is_new || call.age_s > merged.info.age_s) merged.info.arguments = call.arguments;
    merged.info.age_s = std::max(merged.info.age_s, call.age_s);
    merged.joined.insert(call.joined.begin(), call.joined.end());
    merged.missing.insert(call.missing.begin(), call.missing.end());
  }
}

std::map<TeamId, uint32_t> CallMerge::Counts() const {
  std::map<TeamId, uint32_t> counts;
  for (const auto& [key, merged] : calls_) ++counts[std::get<TeamId>(key)];
  return counts;
}

std::optional<TeamId> CallMerge::NextTeam() const {
  if (calls_.empty()) return std::nullopt;
  return std::get<TeamId>(calls_.begin()->first);
}

CollectiveInfo CallMerge::Next(const schedule::TeamLayout* layout) {
  auto call = calls_.extract(calls_.begin());
  const auto [team, waits_for, sequence] = call.key();
  Merged& merged = call.mapped();
  if (layout != nullptr) {
    for (Rank rank{0}; rank.value() < layout->shape.size(); ++rank) {
      const std::string& node = layout->nodes[layout->shape.node_of_rank[rank.value()].value()].name;
      const auto at = progress_.find({team, rank});
      // Only ranks that have joined a call that waits for plans have reached it: every other rank is missing.
      const bool behind =
          waits_for != Family::kCommon || (at == progress_.end() ? answered_.count(node) == 0 : at->second <= sequence);
      if (behind) merged.missing.insert(rank);
    }
  }
  merged.info.team = team;
  merged.info.sequence = sequence;
  merged.info.waits_for = waits_for;
  merged.info.joined.assign(merged.joined.begin(), merged.joined.end());
  std::set_difference(merged.missing.begin(), merged.missing.end(), merged.joined.begin(), merged.joined.end(),
                      std::back_inserter(merged.info.missing));
  return std::move(merged.info);
}

}  // namespace copse::coordinator
