// SPDX-License-Identifier: Apache-2.0
#include "bench/benchmarks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/temporary_file.h"
#include "bench/testbed.h"
#include "bench/wide_area.h"
#include "planner/measure/testing/same_tree.h"
#include "planner/topology/topology_yaml.h"
#include "proto/copse/v1/admin.pb.h"
#include "testbed/netns/test_network.h"
#include "testbed/processes/admin_client.h"
#include "testbed/processes/process_cluster.h"

namespace copse::bench {
namespace {

using topology::Topology;

constexpr double kSeconds = 120;
constexpr absl::Duration kGrace = absl::Seconds(30);
// What a figure may be off before it is a miss.
constexpr double kLatencyShare = 0.15;
constexpr double kLatencyNs = 60'000;
constexpr double kRateShare = 0.25;

// A link by the nodes at its lower side: the same link in two trees, whatever their switches are called and whichever
// is the root. Of the two sides, the one without node n0.
using Side = std::set<std::string>;

struct Link {
  double latency_ns = 0;
  double bandwidth_bytes_per_s = 0;
  bool latency_known = true;  // else only its sum with others is
  std::string name;
};

std::map<Side, Link> LinksOf(const Topology& tree) {
  std::vector<Side> below(tree.switches().size());
  Side all;
  for (const topology::Node& node : tree.nodes()) {
    all.insert(node.name);
    for (uint32_t s = node.parent; s != topology::kNoParent; s = tree.switches()[s].parent) below[s].insert(node.name);
  }
  std::map<Side, Link> links;
  const auto add = [&](Side side, const auto& lower) {
    if (side.count(*all.begin()) != 0) {
      Side other;
      std::set_difference(all.begin(), all.end(), side.begin(), side.end(), std::inserter(other, other.end()));
      side = std::move(other);
    }
    Link& link = links[side];  // of two links in a row: the sum, and the slower
    const bool first = link.name.empty();
    link.latency_ns += static_cast<double>(lower.latency_ns);
    const auto rate = static_cast<double>(lower.bandwidth_bytes_per_s);
    link.bandwidth_bytes_per_s = first ? rate : std::min(link.bandwidth_bytes_per_s, rate);
    link.name = lower.name;
  };
  for (uint32_t s = 0; s < tree.switches().size(); ++s) {
    if (s != tree.root_switch()) add(below[s], tree.switches()[s]);
  }
  for (const topology::Node& node : tree.nodes()) add({node.name}, node);
  return links;
}

// Links that hold some pair's rate down.
std::set<Side> Bottlenecks(const Topology& tree, const std::map<Side, Link>& links) {
  std::set<Side> bottlenecks;
  for (uint32_t a = 0; a < tree.nodes().size(); ++a) {
    for (uint32_t b = 0; b < a; ++b) {
      const auto rate = static_cast<double>(tree.PathBetween(a, b).bandwidth_bytes_per_s);
      for (const auto& [side, link] : links) {
        const bool on_path = (side.count(tree.nodes()[a].name) != 0) != (side.count(tree.nodes()[b].name) != 0);
        if (on_path && link.bandwidth_bytes_per_s <= rate) bottlenecks.insert(side);
      }
    }
  }
  return bottlenecks;
}

// The link that is farthest off, in parts of what is allowed.
struct Worst {
  double most = -1;
  std::string worst;

  void Add(double off, double allowed, const std::string& description) {
    if (off / allowed <= most) return;
    most = off / allowed;
    worst = description;
  }
};

struct Scored {
  Worst latency, rate;
  uint32_t missing = 0;  // links of the truth that the result has not
};

Scored Score(const Topology& truth, const Topology& measured, const v1::ProbeTopologyReply& reply) {
  const std::map<Side, Link> expected = LinksOf(truth), found = LinksOf(measured);
  const std::set<Side> bottlenecks = Bottlenecks(truth, expected);
  std::set<std::string> doubtful;
  for (const v1::ProbedLinkRow& row : reply.links()) {
    if (row.latency_doubt() != "measured") doubtful.insert(row.from());
  }
  Scored scored;
  for (const auto& [side, link] : expected) {
    const auto it = found.find(side);
    if (it == found.end()) {
      ++scored.missing;
      continue;
    }
    if (doubtful.count(it->second.name) == 0) {
      scored.latency.Add(std::abs(it->second.latency_ns - link.latency_ns),
                         std::max(kLatencyShare * link.latency_ns, kLatencyNs),
                         absl::StrFormat("worst: %s %.0f us, told %.0f us", link.name, it->second.latency_ns / 1e3,
                                         link.latency_ns / 1e3));
    }
    if (bottlenecks.count(side) != 0) {
      scored.rate.Add(std::abs(it->second.bandwidth_bytes_per_s - link.bandwidth_bytes_per_s),
                      kRateShare * link.bandwidth_bytes_per_s,
                      absl::StrFormat("worst: %s %.0f Mbit/s, told %.0f Mbit/s", link.name,
                                      it->second.bandwidth_bytes_per_s / 125e3, link.bandwidth_bytes_per_s / 125e3));
    }
  }
  return scored;
}

struct Case {
  std::string name;
  Topology truth;
  uint64_t seed = 0;
};

// One network, probed with the tree known and without.
absl::Status RunCase(const Options& options, const Case& what, const Reporter& report) {
  const auto nodes = static_cast<uint32_t>(what.truth.nodes().size());
  const auto row_of = [&](const std::string& tree) {
    return Row{.bench = "probe",
               .what = absl::StrCat(what.name, ", tree ", tree),
               .system = "copse",
               .nodes = nodes,
               .ppn = 1,
               .seed = what.seed};
  };
  const bool wants_known = Wanted(options, row_of("known")), wants_found = Wanted(options, row_of("found"));
  if (!wants_known && !wants_found) return absl::OkStatus();
  ASSIGN_OR_RETURN(const TemporaryFile fabric,
                   TemporaryFile::Write(topology::FormatTopologyYaml(what.truth), options.folder));
  // The planner is told the tree, and nothing of its figures.
  ASSIGN_OR_RETURN(const TemporaryFile bare,
                   TemporaryFile::Write(topology::FormatTopologyYaml(WithoutFigures(what.truth)), options.folder));
  ASSIGN_OR_RETURN(
      const auto testbed,
      Testbed::Open(
          {.nodes = nodes, .parent = options.folder, .fabric = fabric.path(), .fabric_known_as = bare.path()}));
  procs::ProcessCluster& cluster = *testbed->cluster();
  for (const bool known : {true, false}) {
    if (!(known ? wants_known : wants_found)) continue;
    const std::string tree = known ? "known" : "found";
    v1::ProbeTopologyRequest request;
    request.set_tree(known ? "known" : "find");
    request.set_seconds(kSeconds);
    const auto reply = cluster.admin().ProbeTopology(request, absl::Seconds(kSeconds) + kGrace);
    if (!reply.ok()) {
      cluster.DumpLogs(stderr);
      return reply.status();
    }
    ASSIGN_OR_RETURN(const Topology measured, topology::ParseTopologyYaml(reply->topology(), "probe"));
    const Scored scored = Score(what.truth, measured, *reply);
    Row row = row_of(tree);
    row.note = absl::StrCat("allowed 15 % or 60 us; the worst link; ", scored.latency.worst);
    report(Figure(row, "latency", "of allowed", {scored.latency.most}));
    row.note = absl::StrCat("allowed 25 %; the worst bottleneck; ", scored.rate.worst);
    report(Figure(row, "rate", "of allowed", {scored.rate.most}));
    row.note = measure::SameTree(measured, what.truth) ? "the tree is the same" : "another tree";
    report(Figure(row, "links missed", "links", {static_cast<double>(scored.missing)}));
  }
  return cluster.Stop(kGrace);
}

}  // namespace

absl::Status RunProbe(const Options& options, const Contest&, const Reporter& report) {
  RETURN_IF_ERROR(netns::CheckNamespaces(true));
  RETURN_IF_ERROR(RunCase(options, {"3 sites", ThreeSites()}, report));
  for (const uint64_t seed : {1, 2, 3}) {
    if (options.quick && seed > 1) break;
    RETURN_IF_ERROR(RunCase(options, {absl::StrCat("random sites ", seed), RandomSites(seed), seed}, report));
  }
  return absl::OkStatus();
}

}  // namespace copse::bench
