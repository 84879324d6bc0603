// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/hostlist.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "cli/command_line/table.h"
#include "cli/ctl/verbs/verbs.h"
#include "cli/info/checks.h"
#include "rpc/identity.h"

namespace copse::ctl {
namespace {

using info::Check;

constexpr double kOldestTaskMsMax = 1000;
constexpr char kNewList[] =
    "make one that lasts (copse-ca crl), and copy it to every machine: no certificate is believed without";
constexpr absl::Duration kClockApartMax = absl::Seconds(1);

Check Of(std::string check, std::string seen, std::string wanted, bool ok, std::string advice) {
  return {std::move(check), std::move(seen), std::move(wanted), ok, ok ? "" : std::move(advice)};
}

// Returns a check of all nodes: which of them fail `is_well`.
Check OfNodes(std::string check, const std::vector<v1::NodeRow>& nodes, std::string wanted, std::string advice,
              const std::function<bool(const v1::NodeRow&)>& is_well) {
  std::vector<std::string> others;
  for (const v1::NodeRow& node : nodes) {
    if (!is_well(node)) others.push_back(node.name());
  }
  std::string seen = absl::StrCat(nodes.size() - others.size(), " of ", nodes.size());
  if (!others.empty()) absl::StrAppend(&seen, "; not ", CompressHostlist(others));
  return Of(std::move(check), std::move(seen), std::move(wanted), others.empty(), std::move(advice));
}

void CheckPlanner(const v1::GetPlannerStatusReply& planner, std::vector<Check>* checks) {
  checks->push_back(Of("planner",
                       absl::StrCat(planner.role(), " at ", planner.address(), ", version ", planner.version()),
                       "a leader that answers", true, ""));
  checks->push_back(Of("planner: version", planner.version(), absl::StrCat(kVersion, ", as this copsectl"),
                       planner.version() == kVersion, "upgrade the older one: versions next to each other work"));
  checks->push_back(Of("planner: oldest task", absl::StrCat(static_cast<int64_t>(planner.oldest_task_ms()), " ms"),
                       absl::StrCat("at most ", kOldestTaskMsMax, " ms"), planner.oldest_task_ms() <= kOldestTaskMsMax,
                       "give it more processor time; see `copsectl stats --planner`"));
  checks->push_back(Of("planner: damaged records", absl::StrCat(planner.quarantined()), "0", planner.quarantined() == 0,
                       "copse-planner --check-state names them"));
  checks->push_back(Of("planner: nodes of another cluster", absl::StrCat(planner.foreign_size()), "0",
                       planner.foreign_size() == 0, "see `copsectl planner status` and `copsectl state adopt`"));
}

void CheckNodes(const std::vector<v1::NodeRow>& nodes, const std::string& version, std::vector<Check>* checks) {
  checks->push_back(OfNodes("nodes: connected", nodes, "all that registered",
                            "look at the daemon there (systemctl status copsed); `copsectl node remove` forgets a node",
                            [](const v1::NodeRow& node) { return node.connected() && node.state() != "lost"; }));
  checks->push_back(OfNodes("nodes: take new teams", nodes, "all, unless they are to drain",
                            "copsectl node undrain NODE",
                            [](const v1::NodeRow& node) { return node.state() != "draining"; }));
  checks->push_back(OfNodes("nodes: version", nodes, absl::StrCat(version, ", as the planner"),
                            "upgrade them: copsectl node drain NODE --wait, upgrade, copsectl node undrain NODE",
                            [&](const v1::NodeRow& node) { return node.version() == version; }));
}

void CheckAnswers(const std::vector<v1::NodeRow>& nodes, const v1::GetStatsReply& stats, std::vector<Check>* checks) {
  const std::set<std::string> silent(stats.silent().begin(), stats.silent().end());
  std::vector<v1::NodeRow> connected;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(connected),
               [](const v1::NodeRow& node) { return node.connected(); });
  checks->push_back(OfNodes("daemons: answer the planner", connected, "all that are connected",
                            "the daemon or its network stands still: copsectl ping --node NODE",
                            [&](const v1::NodeRow& node) { return silent.count(node.name()) == 0; }));
  const auto has = [&](const v1::NodeRow& node, const char* counter) {
    for (const v1::NodeStats& row : stats.stats()) {
      if (row.node() != node.name()) continue;
      const auto it = row.counters().find(counter);
      return it != row.counters().end() && it->second > 0;
    }
    return false;
  };
  checks->push_back(OfNodes("daemons: lost no neighbor", connected, "all",
                            "links between daemons broke, or daemons ended: their logs say which",
                            [&](const v1::NodeRow& node) { return !has(node, "daemon.neighbors.lost"); }));
}

// Returns the counter of each node that has it, by the node's name.
std::map<std::string, uint64_t> CounterOf(const v1::GetStatsReply& stats, const char* counter) {
  std::map<std::string, uint64_t> values;
  for (const v1::NodeStats& row : stats.stats()) {
    const auto it = row.counters().find(counter);
    if (it != row.counters().end()) values[row.node()] = it->second;
  }
  return values;
}

// A date of tls_cert or tls_crl_dir on a machine.
absl::Time DateOf(uint64_t seconds) { return absl::FromUnixSeconds(static_cast<int64_t>(seconds)); }

// What daemons and the planner have read from their files, and when a node's certificate that a daemon does not tell of
// ends with which it registered.
void CheckEnds(const std::vector<v1::NodeRow>& nodes, const v1::GetStatsReply& stats,
               const v1::GetPlannerStatsReply& planner, std::vector<Check>* checks) {
  const absl::Time now = absl::Now();
  const std::map<std::string, uint64_t> certificates = CounterOf(stats, rpc::kCertificateEndsCounter);
  const std::map<std::string, uint64_t> lists = CounterOf(stats, rpc::kListEndsCounter);
  checks->push_back(OfNodes("nodes: certificates", nodes, "that last for 14 days", "issue new ones: copse-ca node NAME",
                            [&](const v1::NodeRow& node) {
                              const auto told = certificates.find(node.name());
                              if (told != certificates.end()) return DateOf(told->second) > now + rpc::kEndsSoon;
                              return !node.has_certificate_ends_s() ||
                                     node.certificate_ends_s() > absl::ToDoubleSeconds(rpc::kEndsSoon);
                            }));
  checks->push_back(
      OfNodes("nodes: revocation lists", nodes, "that last for 7 days", kNewList, [&](const v1::NodeRow& node) {
        const auto told = lists.find(node.name());
        return told == lists.end() || DateOf(told->second) > now + rpc::kListEndsSoon;
      }));
  const auto check_planner = [&](const char* check, const char* counter, absl::Duration soon, const char* advice) {
    const auto told = planner.counters().find(counter);
    if (told == planner.counters().end()) return;
    const absl::Time ends = DateOf(told->second);
    checks->push_back(Of(check, absl::StrCat("ends ", absl::FormatTime("%Y-%m-%d", ends, absl::UTCTimeZone())),
                         absl::StrCat("lasts for ", soon / absl::Hours(24), " days"), ends > now + soon, advice));
  };
  check_planner("planner: certificate", rpc::kCertificateEndsCounter, rpc::kEndsSoon,
                "issue a new one: copse-ca planner NAME");
  check_planner("planner: revocation list", rpc::kListEndsCounter, rpc::kListEndsSoon, kNewList);
}

// A node's clock was read between `asked` and `heard` of this machine's, or as long before as its row is old.
Check CheckClocks(const v1::GetStatsReply& stats, absl::Time asked, absl::Time heard) {
  std::vector<std::string> off;
  absl::Duration most;
  const std::map<std::string, uint64_t> clocks = CounterOf(stats, "process.clock_at_ms");
  for (const v1::NodeStats& row : stats.stats()) {
    const auto clock = clocks.find(row.node());
    if (clock == clocks.end()) continue;
    const absl::Time there = absl::FromUnixMillis(static_cast<int64_t>(clock->second)) + absl::Seconds(row.age_s());
    const absl::Duration apart = std::max({asked - there, there - heard, absl::ZeroDuration()});
    most = std::max(most, apart);
    if (apart > kClockApartMax) off.push_back(row.node());
  }
  std::string seen = absl::StrCat("at most ", absl::ToInt64Milliseconds(most), " ms apart");
  if (clocks.empty()) seen = "not known";
  if (!off.empty()) absl::StrAppend(&seen, "; off: ", CompressHostlist(off));
  return Of("nodes: clocks", std::move(seen),
            absl::StrCat("within ", absl::ToInt64Milliseconds(kClockApartMax), " ms of this machine's"), off.empty(),
            "synchronize the time there (chronyc tracking): certificates and logs need it");
}

// All nodes of a network for data should have the MTU that most have.
Check CheckMtus(const v1::GetStatsReply& stats) {
  std::map<uint64_t, std::vector<std::string>> nodes;
  for (const auto& [node, bytes] : CounterOf(stats, "data.mtu_bytes")) {
    if (bytes > 0) nodes[bytes].push_back(node);
  }
  std::vector<std::string> seen;
  for (const auto& [bytes, names] : nodes) seen.push_back(absl::StrCat(bytes, ": ", CompressHostlist(names)));
  return Of("nodes: MTU of the network for data", seen.empty() ? "not known" : absl::StrJoin(seen, "; "),
            "the same on all", nodes.size() <= 1,
            "set one MTU on these interfaces and their switches (ip link set DEVICE mtu N): long packets get lost");
}

void CheckTopology(const std::vector<v1::NodeRow>& nodes, const v1::ShowTopologyReply& topology,
                   std::vector<Check>* checks) {
  // One switch is all that many clusters have.
  checks->push_back(Of("topology", topology.is_default() ? "none: one switch with all nodes" : "in force",
                       "one that is in force, with several switches", true, ""));
  std::set<std::string> known;
  for (const v1::TopologyNodeRow& node : topology.nodes()) known.insert(node.name());
  checks->push_back(OfNodes("topology: knows the nodes", nodes, "all that registered",
                            "add them to the topology: plans take them for neighbors of all",
                            [&](const v1::NodeRow& node) { return known.count(node.name()) > 0; }));
}

absl::Status CheckCluster(const Arguments& arguments, VerbContext& context, std::vector<Check>* checks) {
  AdminClient& client = *context.client;
  const absl::StatusOr<v1::GetPlannerStatusReply> planner = client.Call(PlannerAdmin::GetPlannerStatus, {});
  if (!planner.ok()) {
    checks->push_back(Of("planner", std::string(planner.status().message()), "a leader that answers", false,
                         "start it (systemctl start copse-planner), or give --endpoint"));
    return planner.status();
  }
  CheckPlanner(*planner, checks);
  v1::ListNodesRequest request;
  if (arguments.Has("node")) request.mutable_selector()->set_nodes(arguments.Text("node"));
  ASSIGN_OR_RETURN(const v1::ListNodesReply list,
                   client.CallForRows(PlannerAdmin::StreamNodes, PlannerAdmin::ListNodes, request));
  const std::vector<v1::NodeRow> nodes(list.nodes().begin(), list.nodes().end());
  checks->push_back(Of("nodes", absl::StrCat(nodes.size()), "at least 1", !nodes.empty(),
                       "no daemon has registered: give copsed the planner's address (planner: HOST:PORT)"));
  CheckNodes(nodes, planner->version(), checks);
  v1::GetStatsRequest asked;
  asked.set_timeout_s(absl::ToDoubleSeconds(client.TimeForOthers()));
  if (arguments.Has("node")) asked.mutable_selector()->set_nodes(arguments.Text("node"));
  const absl::Time before = absl::Now();
  ASSIGN_OR_RETURN(const v1::GetStatsReply stats,
                   client.CallForRows(PlannerAdmin::StreamStats, PlannerAdmin::GetStats, asked));
  CheckAnswers(nodes, stats, checks);
  // A planner of an earlier version does not tell.
  const absl::StatusOr<v1::GetPlannerStatsReply> own = client.Call(PlannerAdmin::GetPlannerStats, {});
  CheckEnds(nodes, stats, own.ok() ? *own : v1::GetPlannerStatsReply(), checks);
  checks->push_back(CheckClocks(stats, before, absl::Now()));
  checks->push_back(CheckMtus(stats));
  ASSIGN_OR_RETURN(const v1::ShowTopologyReply topology, client.Call(PlannerAdmin::ShowTopology, {}));
  CheckTopology(nodes, topology, checks);
  return absl::OkStatus();
}

absl::Status Doctor(const Arguments& arguments, VerbContext& context) {
  std::vector<Check> checks;
  const absl::Status asked = CheckCluster(arguments, context, &checks);
  if (!arguments.Has("node")) {
    for (Check check : info::CheckSystem()) {
      check.check = absl::StrCat("this machine: ", check.check);
      checks.push_back(std::move(check));
    }
  }
  Json json = Json::array();
  cli::TableRows table = {{"CHECK", "SEEN", "WANTED", "OK"}};
  std::string advice;
  size_t failed = 0;
  for (const Check& check : checks) {
    json.push_back({{"check", check.check},
                    {"seen", check.seen},
                    {"wanted", check.wanted},
                    {"ok", check.ok},
                    {"advice", check.advice}});
    table.push_back({check.check, check.seen, check.wanted, check.ok ? "yes" : "NO"});
    if (check.ok) continue;
    ++failed;
    absl::StrAppend(&advice, check.check, ": ", check.advice, "\n");
  }
  const std::string text = absl::StrCat(cli::RenderTable(std::move(table), context.style.width),
                                        advice.empty() ? "" : "\n", cli::CutLines(advice, context.style.width));
  RETURN_IF_ERROR(context.Answer(json, text));
  RETURN_IF_ERROR(asked);
  if (failed == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("not all is well (failed=", failed, ", checks=", checks.size(), ")"));
}

}  // namespace

std::vector<Verb> DoctorVerbs() {
  return {{.name = "doctor",
           .help = "what of the cluster, and of this machine, is not as it should be, and what to do",
           .options = {{.name = "node", .value_name = "LIST", .help = "of these nodes alone"}},
           .run = Doctor}};
}

}  // namespace copse::ctl
