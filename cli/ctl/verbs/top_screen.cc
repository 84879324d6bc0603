// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/top_screen.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/hostlist.h"
#include "cli/client/message_json.h"
#include "cli/client/node_counters.h"
#include "cli/command_line/table.h"

namespace copse::ctl {
namespace {

constexpr double kMicrosecondsASecond = 1e6;
constexpr double kBitsAByte = 8;

struct NodeLoad {
  std::string node;
  double calls_per_s = 0;  // of its ranks, ended
  double bits_per_s = 0;   // to and from other daemons
  double cpu = 0;          // of the daemon, in cores
  uint64_t in_flight = 0;
};

uint64_t BytesOf(const v1::NodeStats& stats) {
  return ValueOf(stats, "engine.bytes.sent") + ValueOf(stats, "engine.bytes.received");
}

NodeLoad LoadOf(const v1::NodeStats& before, const v1::NodeStats& now, double seconds) {
  // A daemon that has started anew counts from 0.
  const auto rate = [seconds](uint64_t from, uint64_t to) {
    return static_cast<double>(to >= from ? to - from : to) / seconds;
  };
  return {.node = now.node(),
          .calls_per_s = rate(CallsDone(before), CallsDone(now)),
          .bits_per_s = kBitsAByte * rate(BytesOf(before), BytesOf(now)),
          .cpu = rate(ValueOf(before, "process.cpu_us"), ValueOf(now, "process.cpu_us")) / kMicrosecondsASecond,
          .in_flight = ValueOf(now, "calls.in_flight")};
}

// Returns the busiest first.
std::vector<NodeLoad> Loads(const v1::GetStatsReply& before, const v1::GetStatsReply& now, double seconds) {
  std::map<std::string, const v1::NodeStats*> old;
  for (const v1::NodeStats& stats : before.stats()) old[stats.node()] = &stats;
  std::vector<NodeLoad> loads;
  for (const v1::NodeStats& stats : now.stats()) {
    const auto it = old.find(stats.node());
    const v1::NodeStats& was = it == old.end() ? stats : *it->second;
    loads.push_back(LoadOf(was, stats, SecondsBetween(was, stats, seconds)));
  }
  std::sort(loads.begin(), loads.end(), [](const NodeLoad& a, const NodeLoad& b) {
    return std::tuple(-a.calls_per_s, -a.cpu, a.node) < std::tuple(-b.calls_per_s, -b.cpu, b.node);
  });
  return loads;
}

template <typename Rows>
std::map<std::string, int> CountStates(const Rows& rows) {
  std::map<std::string, int> states;
  for (const auto& row : rows) ++states[row.state()];
  return states;
}

// "12 nodes: 11 ready, 1 away"
std::string Describe(const char* what, const std::map<std::string, int>& states) {
  int all = 0;
  std::string text;
  for (const auto& [state, count] : states) {
    all += count;
    absl::StrAppend(&text, text.empty() ? ": " : ", ", count, " ", state);
  }
  return absl::StrCat(all, " ", what, text);
}

std::vector<v1::CollectiveRow> OldestFirst(const v1::ListCollectivesReply& reply) {
  std::vector<v1::CollectiveRow> calls(reply.collectives().begin(), reply.collectives().end());
  std::stable_sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) { return a.age_s() > b.age_s(); });
  return calls;
}

std::string CallTable(const std::vector<v1::CollectiveRow>& calls, const v1::ListTeamsReply& teams, size_t width) {
  std::map<uint64_t, std::string> names;
  for (const v1::TeamRow& team : teams.teams()) names[team.id()] = team.name();
  cli::TableRows rows = {{"AGE>", "TEAM", "CALL>", "COLLECTIVE", "MISSING", "MISSING ON"}};
  for (const v1::CollectiveRow& call : calls) {
    const std::vector<std::string> nodes(call.missing_nodes().begin(), call.missing_nodes().end());
    const auto name = names.find(call.team());
    rows.push_back({cli::FormatSeconds(call.age_s()), name == names.end() ? absl::StrCat(call.team()) : name->second,
                    absl::StrCat(call.sequence()), call.arguments().empty() ? call.collective() : call.arguments(),
                    cli::FormatRanges({call.missing().begin(), call.missing().end()}),
                    nodes.empty() ? "-" : CompressHostlist(nodes)});
  }
  return cli::RenderTable(std::move(rows), width);
}

std::string LoadTable(const std::vector<NodeLoad>& loads, size_t width) {
  cli::TableRows rows = {{"NODE", "CALLS/S>", "IN FLIGHT>", "TRAFFIC>", "CPU %>"}};
  for (const NodeLoad& load : loads) {
    rows.push_back({load.node, absl::StrFormat("%.0f", load.calls_per_s), absl::StrCat(load.in_flight),
                    cli::FormatBitsPerSecond(load.bits_per_s), absl::StrFormat("%.1f", 100 * load.cpu)});
  }
  return cli::RenderTable(std::move(rows), width);
}

Json TopJson(const ClusterSample& now, const std::vector<v1::CollectiveRow>& calls,
             const std::vector<NodeLoad>& loads) {
  Json json = {{"planner", {{"role", now.planner.role()}, {"leader", now.planner.leader()}}},
               {"nodes", CountStates(now.nodes.nodes())},
               {"teams", CountStates(now.teams.teams())},
               {"calls_in_flight", now.calls.collectives_size()},
               {"calls", Json::array()},
               {"busiest", Json::array()},
               {"silent", std::vector<std::string>(now.stats.silent().begin(), now.stats.silent().end())}};
  for (const v1::CollectiveRow& call : calls) json["calls"].push_back(ToJson(call));
  for (const NodeLoad& load : loads) {
    json["busiest"].push_back({{"node", load.node},
                               {"calls_per_s", load.calls_per_s},
                               {"in_flight", load.in_flight},
                               {"bits_per_s", load.bits_per_s},
                               {"cpu", load.cpu}});
  }
  return json;
}

}  // namespace

std::string RenderTop(const ClusterSample& before, const ClusterSample& now, absl::Duration apart,
                      const TopLimits& limits, const Style& style) {
  std::vector<v1::CollectiveRow> calls = OldestFirst(now.calls);
  std::vector<NodeLoad> loads = Loads(before.stats, now.stats, absl::ToDoubleSeconds(apart));
  double calls_per_s = 0;
  for (const NodeLoad& load : loads) calls_per_s += load.calls_per_s;
  if (calls.size() > limits.calls) calls.resize(limits.calls);
  if (loads.size() > limits.nodes) loads.resize(limits.nodes);
  if (style.format == Format::kJson) return DumpJson(TopJson(now, calls, loads));
  std::string head =
      absl::StrFormat("planner: %s %s\n%s\n%s\n%d calls in flight, %.0f calls/s\n", now.planner.role(),
                      now.planner.address(), Describe("nodes", CountStates(now.nodes.nodes())),
                      Describe("teams", CountStates(now.teams.teams())), now.calls.collectives_size(), calls_per_s);
  const std::vector<std::string> silent(now.stats.silent().begin(), now.stats.silent().end());
  if (!silent.empty()) absl::StrAppend(&head, "no answer from ", CompressHostlist(silent), "\n");
  head = cli::CutLines(cli::Printable(head, /*lines=*/true), style.width);
  if (!calls.empty()) absl::StrAppend(&head, "\n", CallTable(calls, now.teams, style.width));
  return absl::StrCat(head, "\n", LoadTable(loads, style.width));
}

}  // namespace copse::ctl
