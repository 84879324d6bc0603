// SPDX-License-Identifier: Apache-2.0
#include "cli/web/stats_json.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "cli/client/node_counters.h"

namespace copse::web {
namespace {

using ctl::Json;

constexpr size_t kFailuresMax = 50;
constexpr size_t kAccountsMax = 100;
constexpr int kSilentMax = 20;
constexpr size_t kWorstMax = 5;
constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// Counters that are summed over nodes, and those that begin with kRefused.
constexpr const char* kSummed[] = {
    "calls.in_flight",          "calls.refused",         "daemon.neighbors",     "daemon.neighbors.lost",
    "engine.credits.stalls",    "engine.frames.waiting", "engine.sends.waiting", "engine.memory.reserved_bytes",
    "engine.memory.used_bytes", "quota.orphans",         "wire.reconnected"};
constexpr char kRefused[] = "quota.refused.";

bool IsSummed(const std::string& name) {
  return std::find(std::begin(kSummed), std::end(kSummed), name) != std::end(kSummed) ||
         absl::StartsWith(name, kRefused);
}

// A Holding is what a job holds of a resource on all nodes.
struct Holding {
  uint64_t used = 0;
  std::string node;  // where the largest part of the limit is used
  std::optional<double> percent;
};
struct Account {
  uint64_t nodes = 0;
  std::map<std::string, Holding> holdings;
};

class Sums {
 public:
  void Add(const v1::NodeStats& stats) {
    for (const auto& [name, value] : stats.counters()) AddCounter(stats.node(), name, value);
    for (const v1::AccountRow& row : stats.accounts()) AddAccount(stats.node(), row);
  }

  Json ToJson() const {
    Json json = {{"calls", calls_}, {"failures", Json::array()}, {"totals", totals_}, {"worst", Json::object()}};
    std::vector<std::tuple<uint64_t, std::string, std::string, std::string>> failures = failures_;
    std::sort(failures.rbegin(), failures.rend());
    failures.resize(std::min(failures.size(), kFailuresMax));
    for (const auto& [count, node, collective, reason] : failures) {
      json["failures"].push_back({{"node", node}, {"collective", collective}, {"reason", reason}, {"count", count}});
    }
    for (const auto& [name, nodes] : worst_) {
      for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
        json["worst"][name].push_back({{"node", it->second}, {"value", it->first}});
      }
    }
    json["accounts"] = Json::array();
    for (const auto& [who, account] : accounts_) {
      if (json["accounts"].size() == kAccountsMax) break;
      json["accounts"].push_back(AccountJson(who.first, who.second, account));
    }
    return json;
  }

 private:
  void AddCounter(const std::string& node, const std::string& name, uint64_t value) {
    if (IsSummed(name)) {
      totals_[name] += value;
      if (value > 0) AddWorst(node, value, &worst_[name]);
    }
    const std::optional<ctl::EndedCalls> ended = ctl::AsEndedCalls(name);
    if (!ended.has_value() || value == 0) return;
    if (ended->ok()) {
      calls_[std::string(ended->collective)] += value;
    } else {
      failures_.emplace_back(value, node, ended->collective, ended->outcome);
    }
  }

  static void AddWorst(const std::string& node, uint64_t value, std::multimap<uint64_t, std::string>* nodes) {
    nodes->emplace(value, node);
    if (nodes->size() > kWorstMax) nodes->erase(nodes->begin());
  }

  void AddAccount(const std::string& node, const v1::AccountRow& row) {
    Account& account = accounts_[{row.uid(), row.job()}];
    ++account.nodes;
    for (const v1::HoldingRow& held : row.holdings()) {
      Holding& holding = account.holdings[held.resource()];
      holding.used += held.used();
      if (held.limit() == kNoLimit || held.limit() == 0) continue;
      const double percent = 100 * static_cast<double>(held.used()) / static_cast<double>(held.limit());
      if (holding.percent.has_value() && *holding.percent >= percent) continue;
      holding.percent = percent;
      holding.node = node;
    }
  }

  static Json AccountJson(uint32_t uid, const std::string& job, const Account& account) {
    Json json = {{"uid", uid}, {"job", job}, {"nodes", account.nodes}, {"holdings", Json::array()}};
    for (const auto& [resource, holding] : account.holdings) {
      json["holdings"].push_back({{"resource", resource},
                                  {"used", holding.used},
                                  {"node", holding.node},
                                  {"percent", holding.percent.has_value() ? Json(*holding.percent) : Json(nullptr)}});
    }
    return json;
  }

  std::map<std::string, uint64_t> calls_, totals_;
  std::vector<std::tuple<uint64_t, std::string, std::string, std::string>> failures_;
  std::map<std::string, std::multimap<uint64_t, std::string>> worst_;  // by counter
  std::map<std::pair<uint32_t, std::string>, Account> accounts_;       // by user and job
};

}  // namespace

Json StatsJson(const v1::GetStatsReply& stats, absl::Time now) {
  Sums sums;
  for (const v1::NodeStats& node : stats.stats()) sums.Add(node);
  Json json = {{"time", absl::ToUnixMillis(now) / 1e3},
               {"answered", stats.stats_size()},
               {"silent", Json::array()},
               {"silent_count", stats.silent_size()}};
  for (int i = 0; i < std::min(stats.silent_size(), kSilentMax); ++i) json["silent"].push_back(stats.silent(i));
  json.update(sums.ToJson());
  return json;
}

}  // namespace copse::web
