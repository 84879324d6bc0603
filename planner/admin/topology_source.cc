// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/topology_source.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/hostlist.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "base/units.h"
#include "planner/topology/topology_yaml.h"
#include "rpc/text.h"

namespace copse::planner {
namespace {

// A request may give latencies for at most this many levels.
constexpr size_t kLatenciesMax = topology::kDepthMax + 1;

absl::StatusOr<int64_t> ReadRate(const char* what, const std::string& text) {
  const absl::StatusOr<double> rate = ParseBandwidth(text);
  if (!rate.ok()) return absl::InvalidArgumentError(absl::StrCat(what, ": ", rate.status().message()));
  // The comparison is written such that NaN fails, too.
  if (!(*rate >= 1 && *rate <= static_cast<double>(topology::kBandwidthBytesPerSecondMax))) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": out of range (", what, "=", rpc::ToUtf8(text, 64),
                                                   ", limit=1-", topology::kBandwidthBytesPerSecondMax, "B/s)"));
  }
  return std::llround(*rate);
}

absl::StatusOr<int64_t> ReadTime(const char* what, const std::string& text) {
  const absl::StatusOr<absl::Duration> time = ParseDuration(text);
  if (!time.ok()) return absl::InvalidArgumentError(absl::StrCat(what, ": ", time.status().message()));
  const int64_t ns = absl::ToInt64Nanoseconds(*time);
  if (ns < 1 || ns > topology::kTimeNsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": out of range (", what, "=", rpc::ToUtf8(text, 64), ", limit=1ns-1000s)"));
  }
  return ns;
}

absl::StatusOr<TopologyFormat> ReadFormat(const std::string& name, std::string_view text) {
  if (name.empty()) return FormatOf(text);
  if (name == "yaml") return TopologyFormat::kYaml;
  if (name == "slurm") return TopologyFormat::kSlurm;
  return absl::InvalidArgumentError(
      absl::StrCat("format: not known (format=", rpc::ToUtf8(name, 64), ", known=yaml slurm)"));
}

// Returns the topology in force with the cores of some nodes replaced by `hardware`.
absl::StatusOr<SourcedTopology> WithHardware(const v1::NodeHardware& hardware, const std::string& file,
                                             const TopologyHistory& history) {
  const std::optional<topology::Topology>& in_force = history.in_force();
  if (!in_force.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        file, ": there is no topology that has nodes: import one first (nodes=", rpc::ToUtf8(hardware.nodes(), 64),
        ")"));
  }
  if (hardware.cores() == 0 || hardware.cores() > topology::kCoreCountMax) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": cores: out of range (cores=", hardware.cores(),
                                                   ", limit=1-", topology::kCoreCountMax, ")"));
  }
  const absl::StatusOr<std::vector<std::string>> names = ExpandHostlist(hardware.nodes(), topology::kNodeCountMax);
  if (!names.ok()) return absl::InvalidArgumentError(absl::StrCat("node: ", names.status().message()));
  if (names->empty()) return absl::InvalidArgumentError("node: names none (nodes=)");
  std::vector<topology::Node> nodes = in_force->nodes();
  for (const std::string& name : *names) {
    const std::optional<uint32_t> node = in_force->FindNode(name);
    if (!node.has_value()) {
      return absl::NotFoundError(
          absl::StrCat("node ", name, ": not in the topology (nodes=", rpc::ToUtf8(hardware.nodes(), 64), ")"));
    }
    nodes[*node].cores = hardware.cores();
  }
  SourcedTopology result;
  ASSIGN_OR_RETURN(result.topology,
                   topology::Topology::Create(in_force->switches(), std::move(nodes), in_force->costs()));
  result.source = absl::StrCat("import hwloc ", file, " for ", rpc::ToUtf8(hardware.nodes(), 255));
  result.notes.push_back(absl::StrCat(file, ": packages ", hardware.packages(), ", NUMA domains ",
                                      hardware.numa_nodes(), ", cores ", hardware.cores(), ", threads ",
                                      hardware.threads()));
  return result;
}

}  // namespace

TopologyFormat FormatOf(std::string_view text) {
  if (topology::IsSlurmYaml(text)) return TopologyFormat::kSlurm;
  for (const absl::string_view whole : absl::StrSplit(AbslView(text), '\n')) {
    const absl::string_view line = absl::StripAsciiWhitespace(whole);
    if (line.empty() || line[0] == '#') continue;
    for (const char* word : {"SwitchName=", "BlockName=", "BlockSizes=", "AggregatedBlock="}) {
      if (absl::StartsWithIgnoreCase(line, word)) return TopologyFormat::kSlurm;
    }
    return TopologyFormat::kYaml;
  }
  return TopologyFormat::kYaml;
}

absl::StatusOr<topology::SlurmFigures> ReadSlurmFigures(const v1::SlurmFigures& from) {
  topology::SlurmFigures figures;
  if (!from.link_speed().empty()) {
    ASSIGN_OR_RETURN(figures.link_speed_bytes_per_s, ReadRate("link-speed", from.link_speed()));
  }
  if (!from.node_bandwidth().empty()) {
    ASSIGN_OR_RETURN(figures.node_bandwidth_bytes_per_s, ReadRate("node-bandwidth", from.node_bandwidth()));
  }
  if (!from.overhead().empty()) {
    ASSIGN_OR_RETURN(figures.overhead_ns, ReadTime("overhead", from.overhead()));
  }
  if (!from.latency().empty()) {
    figures.latency_ns.clear();
    for (const absl::string_view text : absl::StrSplit(from.latency(), ',')) {
      if (figures.latency_ns.size() == kLatenciesMax) {
        return absl::InvalidArgumentError(absl::StrCat("latency: too many levels (limit=", kLatenciesMax, ")"));
      }
      ASSIGN_OR_RETURN(const int64_t ns, ReadTime("latency", std::string(absl::StripAsciiWhitespace(text))));
      figures.latency_ns.push_back(ns);
    }
  }
  figures.root = from.root();
  return figures;
}

absl::StatusOr<SourcedTopology> ReadSource(const v1::TopologySource& source, const TopologyHistory& history) {
  SourcedTopology result;
  if (source.version() != 0) {
    if (!source.file().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("topology: a file and a version exclude each other (version=", source.version(), ")"));
    }
    ASSIGN_OR_RETURN(result.topology, history.Version(source.version()));
    result.source = absl::StrCat("version ", source.version());
    return result;
  }
  if (source.file().empty()) {
    result.topology = history.in_force();
    result.source = "in force";
    return result;
  }
  const std::string file = rpc::ToUtf8(source.file(), 255);
  if (source.has_hardware()) return WithHardware(source.hardware(), file, history);
  ASSIGN_OR_RETURN(const TopologyFormat format, ReadFormat(source.format(), source.text()));
  if (format == TopologyFormat::kYaml) {
    ASSIGN_OR_RETURN(result.topology, topology::ParseTopologyYaml(source.text(), file));
    result.source = absl::StrCat("import yaml ", file);
    return result;
  }
  ASSIGN_OR_RETURN(const topology::SlurmFigures figures, ReadSlurmFigures(source.slurm()));
  ASSIGN_OR_RETURN(result.topology, topology::ParseSlurmTopology(source.text(), file, figures));
  result.source = absl::StrCat("import slurm ", file);
  return result;
}

}  // namespace copse::planner
