// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/tracing/trace_calls.h"

#include <tuple>

#include "absl/strings/str_cat.h"

namespace copse::ctl {

NodeCalls::NodeCalls(const NodeTrace& node, std::optional<uint64_t> team) {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, size_t> open;  // by team, call, rank
  for (const TraceRecord& r : node.records) {
    if (team.has_value() && r.has_team() && r.team != static_cast<uint32_t>(*team)) continue;
    if (r.kind == TraceRecord::kCallPosted) {
      open[{r.team, r.call, r.peer}] = calls.size();
      calls.push_back({.client = r.subject,
                       .rank = r.peer,
                       .team = r.team,
                       .call = r.call,
                       .bytes = r.bytes,
                       .collective = r.phase,
                       .begin = r.time_ns});
      clients[r.subject].insert({r.team, r.peer});
    } else if (r.kind == TraceRecord::kCallCompleted) {
      const auto it = open.find({r.team, r.call, r.peer});
      if (it == open.end()) continue;  // the record of its post was overwritten
      calls[it->second].end = r.time_ns;
      calls[it->second].failed = r.failed();
      open.erase(it);
    } else if (r.kind == TraceRecord::kRanksArrived) {
      arrived_ns[{r.team, r.call}] = r.time_ns;
    }
  }
}

std::string NodeCalls::NameOf(uint32_t client) const {
  const auto& ranks = clients.at(client);
  if (ranks.size() != 1) return absl::StrCat("client ", client, ", ", ranks.size(), " ranks");
  return absl::StrCat("rank ", ranks.begin()->second, " of team ", ranks.begin()->first, ", client ", client);
}

}  // namespace copse::ctl
