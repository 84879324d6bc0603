// SPDX-License-Identifier: Apache-2.0
#include "planner/topology/topology.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/string_view.h"

namespace copse::topology {
namespace {

std::optional<std::string> FigureDefect(std::string_view what, int64_t value, int64_t limit) {
  if (value > 0 && value <= limit) return std::nullopt;
  return absl::StrCat(AbslView(what), value <= 0 ? ": must be positive" : ": too large", " (value=", value,
                      ", limit=", limit, ")");
}

std::optional<std::string> LinkDefect(const std::string& who, int64_t latency_ns, int64_t bandwidth) {
  if (auto defect = FigureDefect(who + ": latency in ns", latency_ns, kTimeNsMax)) return defect;
  return FigureDefect(who + ": bandwidth in B/s", bandwidth, kBandwidthBytesPerSecondMax);
}

std::optional<std::string> NodeFigureDefect(const Node& node) {
  const std::string who = absl::StrCat("node ", node.name);
  if (auto defect = FigureDefect(who + ": overhead in ns", node.overhead_ns, kTimeNsMax)) return defect;
  if (node.receive_overhead_ns < 0 || node.receive_overhead_ns > kTimeNsMax) {
    return FigureDefect(who + ": receive_overhead in ns", node.receive_overhead_ns, kTimeNsMax);
  }
  if (node.cores > kCoreCountMax) return FigureDefect(who + ": cores", node.cores, kCoreCountMax);
  return LinkDefect(who, node.latency_ns, node.bandwidth_bytes_per_s);
}

// Computes the depth of every switch by following parents with memoization. Returns a defect for a cycle, and for a
// tree that is too deep.
std::optional<Defect> FindDepths(const std::vector<Switch>& switches, std::vector<uint32_t>& depth) {
  constexpr uint32_t kUnknown = 0xffffffff, kOnPath = 0xfffffffe;
  depth.assign(switches.size(), kUnknown);
  std::vector<uint32_t> path;
  for (uint32_t s = 0; s < switches.size(); ++s) {
    path.clear();
    uint32_t at = s;
    while (at != kNoParent && depth[at] == kUnknown) {
      depth[at] = kOnPath;
      path.push_back(at);
      at = switches[at].parent;
    }
    if (at != kNoParent && depth[at] == kOnPath) {
      return Defect{true, at,
                    absl::StrCat("switch ", switches[at].name,
                                 ": is its own ancestor (parent=", switches[switches[at].parent].name, ")")};
    }
    uint32_t next = at == kNoParent ? 0 : depth[at] + 1;
    for (size_t i = path.size(); i-- > 0;) {
      if (next >= kDepthMax) {
        return Defect{true, path[i],
                      absl::StrCat("switch ", switches[path[i]].name, ": too deep (depth=", next + 1,
                                   ", limit=", kDepthMax, ")")};
      }
      depth[path[i]] = next++;
    }
  }
  return std::nullopt;
}

std::optional<Defect> FindSwitchDefect(const std::vector<Switch>& switches) {
  if (switches.empty()) return Defect{true, 0, "switches: there are none (count=0, least=1)"};
  if (switches.size() > kSwitchCountMax) {
    return Defect{true, kSwitchCountMax,
                  absl::StrCat("switches: too many (count=", switches.size(), ", limit=", kSwitchCountMax, ")")};
  }
  absl::flat_hash_map<absl::string_view, uint32_t> by_name;
  by_name.reserve(switches.size());
  uint32_t root = kNoParent;
  for (uint32_t s = 0; s < switches.size(); ++s) {
    const Switch& item = switches[s];
    if (item.name.empty()) return Defect{true, s, absl::StrCat("switch: has no name (index=", s, ")")};
    if (!by_name.emplace(item.name, s).second) {
      return Defect{true, s, absl::StrCat("switch ", item.name, ": appears twice (name=", item.name, ")")};
    }
    if (item.parent == kNoParent) {
      if (root != kNoParent) {
        return Defect{true, s,
                      absl::StrCat("switch ", item.name, ": has no parent, and neither has ", switches[root].name,
                                   " (roots=2, limit=1)")};
      }
      root = s;
      continue;
    }
    if (item.parent >= switches.size()) {
      return Defect{true, s, absl::StrCat("switch ", item.name, ": parent does not exist (index=", item.parent, ")")};
    }
    if (auto text = LinkDefect(absl::StrCat("switch ", item.name), item.latency_ns, item.bandwidth_bytes_per_s)) {
      return Defect{true, s, *std::move(text)};
    }
  }
  return std::nullopt;  // no root means a cycle, which FindDepths reports
}

std::optional<Defect> FindNodeDefect(const std::vector<Switch>& switches, const std::vector<Node>& nodes) {
  if (nodes.empty()) return Defect{false, 0, "nodes: there are none (count=0, least=1)"};
  if (nodes.size() > kNodeCountMax) {
    return Defect{false, kNodeCountMax,
                  absl::StrCat("nodes: too many (count=", nodes.size(), ", limit=", kNodeCountMax, ")")};
  }
  absl::flat_hash_map<absl::string_view, uint32_t> by_name;
  by_name.reserve(nodes.size());
  absl::flat_hash_map<absl::string_view, uint32_t> host_cores;
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    const Node& item = nodes[n];
    if (item.name.empty()) return Defect{false, n, absl::StrCat("node: has no name (index=", n, ")")};
    if (!by_name.emplace(item.name, n).second) {
      return Defect{false, n, absl::StrCat("node ", item.name, ": appears twice (name=", item.name, ")")};
    }
    if (item.parent >= switches.size()) {
      return Defect{false, n, absl::StrCat("node ", item.name, ": switch does not exist (index=", item.parent, ")")};
    }
    if (auto text = NodeFigureDefect(item)) return Defect{false, n, *std::move(text)};
    if (item.host.empty()) continue;
    const auto [it, is_new] = host_cores.emplace(item.host, item.cores);
    if (!is_new && it->second != item.cores) {
      return Defect{false, n,
                    absl::StrCat("node ", item.name, ": other cores than the nodes before it on host ", item.host,
                                 " (cores=", item.cores, ", before=", it->second, ")")};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Defect> Topology::FindDefect(const std::vector<Switch>& switches, const std::vector<Node>& nodes) {
  if (auto defect = FindSwitchDefect(switches)) return defect;
  std::vector<uint32_t> depth;
  if (auto defect = FindDepths(switches, depth)) return defect;
  return FindNodeDefect(switches, nodes);
}

absl::StatusOr<Topology> Topology::Create(std::vector<Switch> switches, std::vector<Node> nodes,
                                          const CostParameters& costs) {
  if (auto defect = FindDefect(switches, nodes)) return absl::InvalidArgumentError(defect->text);
  if (absl::Status checked = CheckCostParameters(costs); !checked.ok()) return checked;
  Topology result;
  result.costs_ = costs;
  result.switches_ = std::move(switches);
  result.nodes_ = std::move(nodes);
  FindDepths(result.switches_, result.depth_);

  const uint32_t count = static_cast<uint32_t>(result.switches_.size());
  std::vector<std::vector<uint32_t>> children(count);
  for (uint32_t s = 0; s < count; ++s) {
    const uint32_t parent = result.switches_[s].parent;
    if (parent == kNoParent) {
      result.root_ = s;
    } else {
      children[parent].push_back(s);
    }
  }
  result.preorder_.assign(count, 0);
  result.latency_to_root_ns_.assign(count, 0);
  std::vector<uint32_t> stack = {result.root_};
  for (uint32_t place = 0; !stack.empty(); ++place) {
    const uint32_t s = stack.back();
    stack.pop_back();
    result.preorder_[s] = place;
    const Switch& item = result.switches_[s];
    if (item.parent != kNoParent) {
      result.latency_to_root_ns_[s] = result.latency_to_root_ns_[item.parent] + item.latency_ns;
    }
    stack.insert(stack.end(), children[s].rbegin(), children[s].rend());
  }
  result.node_by_name_.reserve(result.nodes_.size());
  for (uint32_t n = 0; n < result.nodes_.size(); ++n) result.node_by_name_.emplace(result.nodes_[n].name, n);
  return result;
}

std::optional<uint32_t> Topology::FindNode(std::string_view name) const {
  const auto it = node_by_name_.find(AbslView(name));
  if (it == node_by_name_.end()) return std::nullopt;
  return it->second;
}

uint32_t Topology::CommonSwitch(uint32_t switch_a, uint32_t switch_b) const {
  uint32_t a = switch_a, b = switch_b;
  while (depth_[a] > depth_[b]) a = switches_[a].parent;
  while (depth_[b] > depth_[a]) b = switches_[b].parent;
  while (a != b) {
    a = switches_[a].parent;
    b = switches_[b].parent;
  }
  return a;
}

Path Topology::PathBetween(uint32_t node_a, uint32_t node_b) const {
  const Node& a = nodes_[node_a];
  const Node& b = nodes_[node_b];
  const uint32_t common = CommonSwitch(a.parent, b.parent);
  Path path;
  path.latency_ns = a.latency_ns + b.latency_ns + latency_to_root_ns_[a.parent] + latency_to_root_ns_[b.parent] -
                    2 * latency_to_root_ns_[common];
  path.bandwidth_bytes_per_s = std::min(a.bandwidth_bytes_per_s, b.bandwidth_bytes_per_s);
  for (uint32_t from : {a.parent, b.parent}) {
    for (uint32_t s = from; s != common; s = switches_[s].parent) {
      path.bandwidth_bytes_per_s = std::min(path.bandwidth_bytes_per_s, switches_[s].bandwidth_bytes_per_s);
    }
  }
  return path;
}

Node MakeNode(std::string name, uint32_t parent, const FlatCosts& costs) {
  return {.name = std::move(name),
          .parent = parent,
          .overhead_ns = costs.overhead_ns,
          .receive_overhead_ns = costs.receive_overhead_ns,
          .latency_ns = costs.latency_ns,
          .bandwidth_bytes_per_s = costs.bandwidth_bytes_per_s,
          .cores = costs.cores,
          .host = costs.host};
}

absl::StatusOr<Topology> FlatTopology(absl::Span<const std::string> names, const FlatCosts& costs) {
  if (names.size() > kNodeCountMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("nodes: too many (count=", names.size(), ", limit=", kNodeCountMax, ")"));
  }
  std::vector<Node> nodes;
  nodes.reserve(names.size());
  for (const std::string& name : names) nodes.push_back(MakeNode(name, 0, costs));
  return Topology::Create({Switch{.name = "core"}}, std::move(nodes));
}

}  // namespace copse::topology
