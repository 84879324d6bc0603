// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/stats_summary.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/units.h"
#include "cli/client/node_counters.h"
#include "cli/command_line/table.h"

namespace copse::ctl {
namespace {

constexpr double kMicrosecondsASecond = 1e6;

// Counters, or the beginnings of their names, that stay at 0 while all is well.
struct Trouble {
  const char* name;
  const char* meaning;
};
constexpr Trouble kTroubles[] = {
    {"calls.refused", "calls that were refused: an unknown team, bad arguments"},
    {"daemon.neighbors.lost", "neighbors that were declared lost"},
    {"engine.dropped.", "frames that were not taken"},
    {"loop.turns_long", "times that the daemon worked for 2 ms or more without a look at its clients"},
    {"quota.orphans", "jobs that hold something without a process"},
    {"quota.refused.", "requests beyond what a user may have (copsectl quota)"},
    {"wire.dropped", "frames that named another sender than their connection"},
    {"wire.reconnected", "connections to other daemons that were lost and made anew"},
    {"wire.refused", "strangers at the data port"},
};

// Returns what it means that the counter is not 0; nothing if it means no trouble.
std::string_view MeaningOf(std::string_view name) {
  const std::optional<EndedCalls> ended = AsEndedCalls(name);
  if (ended.has_value()) return ended->ok() ? "" : "calls that failed";
  for (const Trouble& trouble : kTroubles) {
    const std::string_view known = trouble.name;
    if (name == known || (known.ends_with('.') && name.starts_with(known))) return trouble.meaning;
  }
  return "";
}

struct Load {
  uint64_t calls = 0, failed = 0, in_flight = 0, sent = 0, received = 0, memory = 0, cpu_us = 0;

  void Add(const v1::NodeStats& stats) {
    calls += CallsDone(stats);
    failed += CallsFailed(stats);
    in_flight += ValueOf(stats, "calls.in_flight");
    sent += ValueOf(stats, "engine.bytes.sent");
    received += ValueOf(stats, "engine.bytes.received");
    memory += ValueOf(stats, "engine.memory.used_bytes");
    cpu_us += ValueOf(stats, "process.cpu_us");
  }

  std::vector<std::string> Row(const std::string& node) const {
    const auto bytes = [](uint64_t value) { return FormatBytes(static_cast<int64_t>(value)); };
    return {node,
            absl::StrCat(calls),
            absl::StrCat(failed),
            absl::StrCat(in_flight),
            bytes(sent),
            bytes(received),
            bytes(memory),
            cli::FormatSeconds(static_cast<double>(cpu_us) / kMicrosecondsASecond)};
  }
};

std::string LoadTable(const v1::GetStatsReply& reply, size_t width) {
  cli::TableRows rows = {{"NODE", "CALLS>", "FAILED>", "IN FLIGHT>", "SENT>", "RECEIVED>", "MEMORY>", "CPU TIME>"}};
  Load all;
  for (const v1::NodeStats& stats : reply.stats()) all.Add(stats);
  if (reply.stats_size() > 1) rows.push_back(all.Row("all"));
  for (const v1::NodeStats& stats : reply.stats()) {
    Load load;
    load.Add(stats);
    rows.push_back(load.Row(stats.node()));
  }
  return cli::RenderTable(std::move(rows), width);
}

// How often a counter has counted, and where most often.
struct Sum {
  uint64_t all = 0, most = 0;
  std::string node;
};

std::string TroubleTable(const v1::GetStatsReply& reply, size_t width) {
  std::map<std::string, Sum> sums;
  for (const v1::NodeStats& stats : reply.stats()) {
    for (const auto& [name, value] : stats.counters()) {
      if (value == 0 || MeaningOf(name).empty()) continue;
      Sum& sum = sums[name];
      sum.all += value;
      if (value <= sum.most) continue;
      sum.most = value;
      sum.node = stats.node();
    }
  }
  if (sums.empty()) return "";
  cli::TableRows rows = {{"TROUBLE", "COUNT>", "MOST AT", "WHAT IT IS"}};
  for (const auto& [name, sum] : sums) {
    rows.push_back({name, absl::StrCat(sum.all), sum.node, std::string(MeaningOf(name))});
  }
  return absl::StrCat("\n", cli::RenderTable(std::move(rows), width));
}

}  // namespace

std::string RenderStatsSummary(const v1::GetStatsReply& reply, size_t width) {
  return LoadTable(reply, width) + TroubleTable(reply, width);
}

}  // namespace copse::ctl
