// SPDX-License-Identifier: Apache-2.0
#include "planner/topology/slurm_topology.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/hostlist.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "yaml-cpp/yaml.h"

namespace copse::topology {
namespace {

constexpr char kBlocksRoot[] = "core";

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kNameBytesMax && std::all_of(text.begin(), text.end(), IsNameCharacter);
}

// A SlurmLine is a switch or a block with the fields of its line.
struct SlurmLine {
  int number = 0;  // from 1
  std::string name;
  uint32_t link_speed = 1;
  std::string switches;
  std::string nodes;
};

class SlurmParser {
 public:
  SlurmParser(std::string_view filename, const SlurmFigures& figures, const ParseOptions& options)
      : filename_(filename), figures_(figures), options_(options) {}

  absl::StatusOr<Topology> Parse(std::string_view text);

 private:
  using Fields = std::map<std::string, std::string>;  // by key, in lower case

  template <typename... Parts>
  absl::Status Error(int line, const Parts&... parts) const {
    return ErrorAt(filename_, line, absl::StrCat(parts...));
  }

  absl::Status ReadLines(std::string_view text);
  // Reads `text`, which has no comment and may be joined from several lines; the first one is `number`.
  absl::Status ReadLine(int number, std::string_view text);
  absl::StatusOr<Fields> ReadFields(int number, std::string_view text) const;
  absl::Status ReadEntry(int number, const Fields& fields, const std::string& kind);
  absl::StatusOr<uint32_t> ReadNumber(int number, const std::string& what, const std::string& text) const;
  absl::StatusOr<std::vector<std::string>> Expand(const SlurmLine& line, const char* key, const std::string& list,
                                                  uint64_t hosts_max);

  absl::Status ReadYaml(std::string_view text);
  absl::Status ReadYamlEntry(const YAML::Node& entry, bool is_block);

  absl::Status ConnectSwitches();
  void AddRoot();
  absl::Status FindLevels();
  absl::Status ConnectNodes();
  bool IsBelow(uint32_t below, uint32_t above) const;

  const std::string_view filename_;
  const SlurmFigures& figures_;
  const ParseOptions options_;
  std::optional<bool> blocks_;
  std::vector<SlurmLine> lines_;  // by switch
  std::vector<Switch> switches_;
  std::vector<uint32_t> level_;
  std::vector<Node> nodes_;
  uint64_t names_ = 0;  // names in the nodes' host lists so far
};

absl::StatusOr<SlurmParser::Fields> SlurmParser::ReadFields(int number, std::string_view text) const {
  Fields fields;
  size_t at = 0;
  while (true) {
    while (at < text.size() && IsBlank(text[at])) ++at;
    if (at == text.size()) return fields;
    const size_t begin = at;
    while (at < text.size() && text[at] != '=' && !IsBlank(text[at])) ++at;
    const std::string_view key = text.substr(begin, at - begin);
    if (at == text.size() || text[at] != '=' || key.empty()) {
      return Error(number, "not KEY=VALUE (text=", Shown(text.substr(begin)), ")");
    }
    ++at;
    std::string_view value;
    if (at < text.size() && text[at] == '"') {
      const size_t end = text.find('"', at + 1);
      if (end == std::string_view::npos) return Error(number, AbslView(key), ": a quote is never closed");
      value = text.substr(at + 1, end - at - 1);
      at = end + 1;
    } else {
      const size_t first = at;
      while (at < text.size() && !IsBlank(text[at])) ++at;
      value = text.substr(first, at - first);
    }
    if (value.empty()) return Error(number, Shown(key), ": has no value");
    if (!fields.emplace(absl::AsciiStrToLower(AbslView(key)), value).second) {
      return Error(number, Shown(key), ": appears twice in this line");
    }
  }
}

absl::StatusOr<uint32_t> SlurmParser::ReadNumber(int number, const std::string& what, const std::string& text) const {
  uint32_t value = 0;
  if (!absl::SimpleAtoi(text, &value)) {
    return Error(number, what, ": not a whole number (value=", Shown(text),
                 ", limit=", std::numeric_limits<uint32_t>::max(), ")");
  }
  return value;
}

absl::Status SlurmParser::ReadEntry(int number, const Fields& fields, const std::string& kind) {
  const bool is_block = kind == "blockname";
  if (blocks_.has_value() && *blocks_ != is_block) {
    return Error(number, is_block ? "BlockName: among lines of SwitchName" : "SwitchName: among lines of BlockName");
  }
  blocks_ = is_block;
  SlurmLine line{.number = number, .name = fields.at(kind)};
  if (!IsName(line.name)) {
    return Error(number, is_block ? "BlockName" : "SwitchName",
                 ": only letters, digits, '-', '_' and '.' (name=", Shown(line.name), ", length=", line.name.size(),
                 ", limit=", kNameBytesMax, ")");
  }
  const std::string what = absl::StrCat(is_block ? "block " : "switch ", line.name);
  for (const auto& [key, value] : fields) {
    if (key == kind) continue;
    if (key == "nodes") {
      line.nodes = value;
    } else if (key == "switches" && !is_block) {
      line.switches = value;
    } else if (key == "linkspeed") {
      ASSIGN_OR_RETURN(line.link_speed, ReadNumber(number, what + ": LinkSpeed", value));
      if (line.link_speed == 0) return Error(number, what, ": LinkSpeed: must be positive (value=0, least=1)");
    } else if (is_block ? key == "blockindex" || key == "blocksize" : key == "level") {
      RETURN_IF_ERROR(ReadNumber(number, absl::StrCat(what, ": ", key), value).status());
    } else {
      return Error(
          number, what, ": unknown key (key=", Shown(key), ", known=",
          is_block ? "BlockName BlockIndex BlockSize LinkSpeed Nodes" : "SwitchName Level LinkSpeed Nodes Switches",
          ")");
    }
  }
  if (is_block && line.nodes.empty()) return Error(number, what, ": has no nodes (key=Nodes)");
  if (lines_.size() == kSwitchCountMax) return Error(number, "switches: too many (limit=", kSwitchCountMax, ")");
  lines_.push_back(std::move(line));
  return absl::OkStatus();
}

absl::Status SlurmParser::ReadLine(int number, std::string_view text) {
  ASSIGN_OR_RETURN(const Fields fields, ReadFields(number, text));
  if (fields.empty()) return absl::OkStatus();
  for (const char* kind : {"switchname", "blockname"}) {
    if (fields.contains(kind)) return ReadEntry(number, fields, kind);
  }
  // These lines give the sizes of jobs' blocks, and blocks that are sums of others; they do not describe the network.
  if (fields.contains("blocksizes") || fields.contains("aggregatedblock")) return absl::OkStatus();
  return Error(number, "neither a switch nor a block (key=", Shown(fields.begin()->first),
               ", known=SwitchName BlockName BlockSizes AggregatedBlock)");
}

absl::Status SlurmParser::ReadLines(std::string_view text) {
  int number = 0;
  std::string going_on;  // joined lines that end in a backslash
  int first = 0;
  for (const absl::string_view whole : absl::StrSplit(AbslView(text), '\n')) {
    ++number;
    std::string_view line = StdView(whole.substr(0, whole.find('#')));
    while (!line.empty() && IsBlank(line.back())) line.remove_suffix(1);
    if (going_on.empty()) first = number;
    if (!line.empty() && line.back() == '\\') {
      line.remove_suffix(1);
      absl::StrAppend(&going_on, AbslView(line), " ");
      continue;
    }
    if (going_on.empty()) {
      RETURN_IF_ERROR(ReadLine(first, line));
      continue;
    }
    absl::StrAppend(&going_on, AbslView(line));
    RETURN_IF_ERROR(ReadLine(first, going_on));
    going_on.clear();
  }
  return going_on.empty() ? absl::OkStatus() : ReadLine(first, going_on);
}

int LineOf(const YAML::Node& node) { return std::max(node.Mark().line, 0) + 1; }

absl::Status SlurmParser::ReadYamlEntry(const YAML::Node& entry, bool is_block) {
  const std::string kind = is_block ? "block" : "switch";
  if (!entry.IsMap()) return Error(LineOf(entry), kind, ": must be a map of keys and values");
  // `names` maps keys of topology.yaml to those of topology.conf with the same meaning, in lower case.
  const std::map<std::string, std::string> names = {
      {"switch", "switchname"}, {"children", "switches"}, {"nodes", "nodes"}, {"block", "blockname"}};
  Fields fields;
  for (const auto& pair : entry) {
    if (!pair.first.IsScalar() || !pair.second.IsScalar()) {
      return Error(LineOf(pair.first), kind, ": keys and values must be texts");
    }
    const auto name = names.find(pair.first.Scalar());
    if (name == names.end())
      return Error(LineOf(pair.first), kind, ": unknown key (key=", Shown(pair.first.Scalar()), ")");
    if (!fields.emplace(name->second, pair.second.Scalar()).second) {
      return Error(LineOf(pair.first), kind, ": key appears twice (key=", name->first, ")");
    }
  }
  const std::string key = is_block ? "blockname" : "switchname";
  if (!fields.contains(key)) return Error(LineOf(entry), kind, ": has no name (key=", kind, ")");
  return ReadEntry(LineOf(entry), fields, key);
}

absl::Status SlurmParser::ReadYaml(std::string_view text) {
  const YAML::Node document = YAML::Load(std::string(text));
  if (!document.IsSequence()) return Error(LineOf(document), "topologies: must be a list");
  YAML::Node chosen;
  for (const YAML::Node& item : document) {
    if (!item.IsMap()) return Error(LineOf(item), "topology: must be a map of keys and values");
    const YAML::Node is_default = item["cluster_default"];
    const bool preferred = is_default.IsDefined() && is_default.IsScalar() && is_default.Scalar() == "true";
    if (chosen.IsNull() || preferred) chosen.reset(item);
    if (preferred) break;
  }
  if (chosen.IsNull()) return Error(LineOf(document), "topologies: there are none (count=0, least=1)");
  const YAML::Node& topology = chosen;  // looking up a key in a constant node adds nothing
  const bool is_block = topology["block"].IsDefined();
  const YAML::Node kind = topology[is_block ? "block" : "tree"];
  if (!kind.IsDefined() || !kind.IsMap()) {
    return Error(LineOf(chosen), "topology: is neither a tree nor blocks (keys=tree block)");
  }
  const YAML::Node list = kind[is_block ? "blocks" : "switches"];
  if (!list.IsDefined() || !list.IsSequence()) {
    return Error(LineOf(kind), "topology: has no list of ", is_block ? "blocks" : "switches");
  }
  for (const YAML::Node& entry : list) RETURN_IF_ERROR(ReadYamlEntry(entry, is_block));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> SlurmParser::Expand(const SlurmLine& line, const char* key,
                                                             const std::string& list, uint64_t hosts_max) {
  const std::string what = absl::StrCat("switch ", line.name, ": ", key);
  absl::StatusOr<std::vector<std::string>> names = ExpandHostlist(list, hosts_max);
  if (absl::IsResourceExhausted(names.status())) {
    return Error(line.number, what, ": too many names (list=", Shown(list), ", limit=", hosts_max, ")");
  }
  if (!names.ok()) return Error(line.number, what, ": ", names.status().message());
  return names;
}

absl::Status SlurmParser::ConnectSwitches() {
  absl::flat_hash_map<std::string, uint32_t> by_name;
  for (uint32_t s = 0; s < lines_.size(); ++s) {
    const SlurmLine& line = lines_[s];
    const auto [before, is_new] = by_name.emplace(line.name, s);
    if (!is_new) {
      return Error(line.number, "switch ", line.name, ": appears twice (before=line ", lines_[before->second].number,
                   ")");
    }
    // LinkSpeed has 32 bits and the unit rate 50: their product is checked before it is computed.
    if (line.link_speed > kBandwidthBytesPerSecondMax / figures_.link_speed_bytes_per_s) {
      return Error(line.number, "switch ", line.name, ": LinkSpeed: too large (value=", line.link_speed,
                   ", limit=", kBandwidthBytesPerSecondMax / figures_.link_speed_bytes_per_s, ")");
    }
    switches_.push_back(
        {.name = line.name, .bandwidth_bytes_per_s = line.link_speed * figures_.link_speed_bytes_per_s});
  }
  for (uint32_t s = 0; s < lines_.size(); ++s) {
    const SlurmLine& line = lines_[s];
    if (line.switches.empty()) continue;
    ASSIGN_OR_RETURN(const std::vector<std::string> children, Expand(line, "Switches", line.switches, kSwitchCountMax));
    for (const std::string& child : children) {
      const auto found = by_name.find(child);
      if (found == by_name.end()) {
        return Error(line.number, "switch ", line.name, ": Switches: no line describes it (switch=", child, ")");
      }
      uint32_t& parent = switches_[found->second].parent;
      if (parent != kNoParent) {
        return Error(line.number, "switch ", child, ": hangs on two switches (parents=", switches_[parent].name, " ",
                     line.name, ")");
      }
      parent = s;
    }
  }
  return absl::OkStatus();
}

// Adds a root above blocks, and above several switches without a parent if the figures name a root.
void SlurmParser::AddRoot() {
  const auto is_root = [](const Switch& item) { return item.parent == kNoParent; };
  const bool blocks = blocks_.value_or(false);
  if (!blocks && (figures_.root.empty() || std::count_if(switches_.begin(), switches_.end(), is_root) < 2)) return;
  const uint32_t root = static_cast<uint32_t>(switches_.size());
  for (Switch& item : switches_) {
    if (is_root(item)) item.parent = root;
  }
  switches_.push_back({.name = figures_.root.empty() ? kBlocksRoot : figures_.root});
  lines_.push_back({.number = 1, .name = switches_.back().name});
}

// Finds the levels as defined by Slurm, and by them the latencies. A switch is visited after all switches below it, so
// those that are never visited are on cycles.
absl::Status SlurmParser::FindLevels() {
  level_.assign(switches_.size(), 0);
  std::vector<uint32_t> children(switches_.size(), 0), ready;
  for (const Switch& item : switches_) {
    if (item.parent != kNoParent) ++children[item.parent];
  }
  for (uint32_t s = 0; s < switches_.size(); ++s) {
    if (children[s] == 0) ready.push_back(s);
  }
  size_t done = 0;
  for (; done < ready.size(); ++done) {
    const uint32_t parent = switches_[ready[done]].parent;
    if (parent == kNoParent) continue;
    level_[parent] = std::max(level_[parent], level_[ready[done]] + 1);
    if (--children[parent] == 0) ready.push_back(parent);
  }
  if (done < switches_.size()) {
    const auto stuck = std::find_if(children.begin(), children.end(), [](uint32_t count) { return count > 0; });
    // Following parents as often as there are switches ends inside the cycle; the error names its first line.
    uint32_t s = static_cast<uint32_t>(stuck - children.begin());
    for (size_t i = 0; i < switches_.size(); ++i) s = switches_[s].parent;
    for (uint32_t at = switches_[s].parent, end = s; at != end; at = switches_[at].parent) s = std::min(s, at);
    return Error(lines_[s].number, "switch ", switches_[s].name,
                 ": is its own ancestor (parent=", switches_[switches_[s].parent].name, ")");
  }
  for (uint32_t s = 0; s < switches_.size(); ++s) {
    Switch& item = switches_[s];
    const size_t place = std::min<size_t>(level_[s] + 1, figures_.latency_ns.size() - 1);
    item.latency_ns = item.parent == kNoParent ? 0 : figures_.latency_ns[place];
    if (item.parent == kNoParent) item.bandwidth_bytes_per_s = 0;
  }
  return absl::OkStatus();
}

bool SlurmParser::IsBelow(uint32_t below, uint32_t above) const {
  uint32_t s = below;
  while (s != kNoParent && s != above) s = switches_[s].parent;
  return s == above;
}

absl::Status SlurmParser::ConnectNodes() {
  // Switches are visited by ascending level, so that a node which a higher switch names again stays at the lowest one.
  std::vector<uint32_t> order(switches_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return level_[a] < level_[b]; });
  absl::flat_hash_map<std::string, uint32_t> switch_of;
  std::vector<std::vector<std::string>> own(switches_.size());
  for (const uint32_t s : order) {
    const SlurmLine& line = lines_[s];
    if (line.nodes.empty()) continue;
    ASSIGN_OR_RETURN(std::vector<std::string> names, Expand(line, "Nodes", line.nodes, options_.nodes_max));
    names_ += names.size();
    if (names_ > uint64_t{kSlurmListingsMax} * options_.nodes_max) {
      return Error(line.number, "nodes: named too often in all (count=", names_,
                   ", limit=", uint64_t{kSlurmListingsMax} * options_.nodes_max, ")");
    }
    for (std::string& name : names) {
      const auto [found, is_new] = switch_of.emplace(name, s);
      if (is_new) {
        own[s].push_back(std::move(name));
      } else if (found->second == s || !IsBelow(found->second, s)) {
        return Error(line.number, "node ", name, ": appears twice (switches=", switches_[found->second].name, " ",
                     switches_[s].name, ", before=line ", lines_[found->second].number, ")");
      }
    }
    if (switch_of.size() > options_.nodes_max) {
      return Error(line.number, "nodes: too many (count=", switch_of.size(), ", limit=", options_.nodes_max, ")");
    }
  }
  for (uint32_t s = 0; s < switches_.size(); ++s) {
    const int64_t by_switch = lines_[s].link_speed * figures_.link_speed_bytes_per_s;
    for (std::string& name : own[s]) {
      nodes_.push_back({.name = std::move(name),
                        .parent = s,
                        .overhead_ns = figures_.overhead_ns,
                        .latency_ns = figures_.latency_ns.front(),
                        .bandwidth_bytes_per_s =
                            figures_.node_bandwidth_bytes_per_s > 0 ? figures_.node_bandwidth_bytes_per_s : by_switch});
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Topology> SlurmParser::Parse(std::string_view text) {
  if (figures_.latency_ns.empty() || figures_.link_speed_bytes_per_s <= 0 || figures_.node_bandwidth_bytes_per_s < 0) {
    return Error(1, "figures: must be positive (latencies=", figures_.latency_ns.size(),
                 ", link_speed=", figures_.link_speed_bytes_per_s, ")");
  }
  if (text.size() > kTopologyBytesMax) {
    return Error(1, "topology: too large (bytes=", text.size(), ", limit=", kTopologyBytesMax, ")");
  }
  if (IsSlurmYaml(text)) {
    // yaml-cpp throws; no exception leaves this function.
    try {
      RETURN_IF_ERROR(ReadYaml(text));
    } catch (const YAML::Exception& e) {
      return Error(std::max(e.mark.line, 0) + 1, "topology: not YAML: ", Shown(e.msg));
    } catch (const std::exception& e) {
      return Error(1, "topology: not YAML: ", Shown(e.what()));
    }
  } else {
    RETURN_IF_ERROR(ReadLines(text));
  }
  if (lines_.empty()) return Error(1, "topology: no line describes a switch or a block");
  RETURN_IF_ERROR(ConnectSwitches());
  AddRoot();
  RETURN_IF_ERROR(FindLevels());
  RETURN_IF_ERROR(ConnectNodes());
  if (const auto defect = Topology::FindDefect(switches_, nodes_)) {
    const uint32_t s =
        defect->in_switch || defect->index >= nodes_.size() ? defect->index : nodes_[defect->index].parent;
    return Error(s < lines_.size() ? lines_[s].number : 1, defect->text);
  }
  return Topology::Create(std::move(switches_), std::move(nodes_));
}

}  // namespace

absl::StatusOr<Topology> ParseSlurmTopology(std::string_view text, std::string_view filename,
                                            const SlurmFigures& figures, const ParseOptions& options) {
  return SlurmParser(filename, figures, options).Parse(text);
}

bool IsSlurmYaml(std::string_view text) {
  for (const absl::string_view whole : absl::StrSplit(AbslView(text), '\n')) {
    const absl::string_view line = absl::StripAsciiWhitespace(whole);
    if (line.empty() || line[0] == '#' || line == "---") continue;
    return line[0] == '-';
  }
  return false;
}

std::string FormatSlurmTopology(const Topology& topology, int64_t link_speed_bytes_per_s) {
  const std::vector<Switch>& switches = topology.switches();
  std::vector<std::vector<std::string>> children(switches.size()), nodes(switches.size());
  std::vector<std::ptrdiff_t> children_before(switches.size(), 0);  // number of children whose lines are above
  absl::flat_hash_set<std::string> names;
  for (uint32_t s = 0; s < switches.size(); ++s) {
    const Switch& item = switches[s];
    names.insert(item.name);
    if (item.parent == kNoParent) continue;
    children[item.parent].push_back(item.name);
    if (s < item.parent) ++children_before[item.parent];
  }
  std::vector<int64_t> node_bandwidth(switches.size(), 0);
  for (const Node& node : topology.nodes()) {
    nodes[node.parent].push_back(node.name);
    node_bandwidth[node.parent] = std::max(node_bandwidth[node.parent], node.bandwidth_bytes_per_s);
  }
  std::string text;
  const auto add_line = [&](const std::string& name, int64_t bandwidth, const char* key,
                            const std::vector<std::string>& below) {
    absl::StrAppend(&text, "SwitchName=", name);
    if (bandwidth > 0) {
      const int64_t speed = (bandwidth + link_speed_bytes_per_s / 2) / link_speed_bytes_per_s;
      absl::StrAppend(&text, " LinkSpeed=", std::clamp<int64_t>(speed, 1, std::numeric_limits<uint32_t>::max()));
    }
    if (!below.empty()) absl::StrAppend(&text, " ", key, "=", CompressHostlist(below));
    absl::StrAppend(&text, "\n");
  };
  for (uint32_t s = 0; s < switches.size(); ++s) {
    // Without a link upwards, LinkSpeed can only describe nodes' links.
    const bool is_root = switches[s].parent == kNoParent;
    const int64_t bandwidth = is_root ? 0 : switches[s].bandwidth_bytes_per_s;
    if (children[s].empty()) {
      add_line(switches[s].name, is_root ? node_bandwidth[s] : bandwidth, "Nodes", nodes[s]);
      continue;
    }
    if (!nodes[s].empty()) {
      std::string leaf = absl::StrCat(switches[s].name, "-nodes");
      while (!names.insert(leaf).second) leaf += "-nodes";
      add_line(leaf, node_bandwidth[s], "Nodes", nodes[s]);
      // Switches are listed in the order of their lines, so that the text stays as it is when it is read and written.
      children[s].insert(children[s].begin() + children_before[s], leaf);
    }
    add_line(switches[s].name, bandwidth, "Switches", children[s]);
  }
  return text;
}

}  // namespace copse::topology
