// SPDX-License-Identifier: Apache-2.0
#include "planner/topology/topology_yaml.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/hostlist.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "base/units.h"
#include "planner/topology/cost_parameters.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/yaml.h"

namespace copse::topology {
namespace {

// Returns an upper bound of the length of the names in a host list, which need not be well-formed.
size_t LongestName(std::string_view hostlist) {
  size_t longest = 0, name = 0, number = 0, number_longest = 0;
  bool inside = false;
  for (const char c : hostlist) {
    if (inside && (c == ']' || c == ',' || c == '-')) {
      number_longest = std::max(number_longest, number);
      number = 0;
      if (c == ']') {
        inside = false;
        name += number_longest;
        number_longest = 0;
      }
    } else if (inside) {
      ++number;
    } else if (c == '[') {
      inside = true;
    } else if (c == ',') {
      longest = std::max(longest, name);
      name = 0;
    } else {
      ++name;
    }
  }
  return std::max({longest, name, number});
}

class TopologyParser {
 public:
  TopologyParser(std::string_view filename, const ParseOptions& options) : filename_(filename), options_(options) {}

  absl::StatusOr<Topology> Parse(const YAML::Node& document);

 private:
  using Fields = std::map<std::string, YAML::Node>;

  static int LineOf(const YAML::Node& node) { return std::max(node.Mark().line, 0) + 1; }
  template <typename... Parts>
  absl::Status Error(const YAML::Node& node, const Parts&... parts) const {
    return ErrorAt(filename_, LineOf(node), absl::StrCat(parts...));
  }

  // Returns the entries of a map, or an error for a key that is not in `known` or appears twice.
  absl::StatusOr<Fields> ReadFields(const YAML::Node& node, const std::string& what,
                                    const std::vector<std::string>& known) const;
  absl::StatusOr<std::string> ReadText(const YAML::Node& node, const std::string& what) const;
  absl::StatusOr<std::string> ReadName(const YAML::Node& node, const std::string& what) const;
  absl::StatusOr<int64_t> ReadTime(const YAML::Node& node, const std::string& what) const;
  absl::StatusOr<int64_t> ReadBandwidth(const YAML::Node& node, const std::string& what) const;
  absl::Status ReadCosts(const YAML::Node& node);
  absl::StatusOr<uint32_t> ReadCount(const YAML::Node& node, const std::string& what, uint32_t limit) const;
  // Sets the figures of `node` that are in `fields`.
  absl::Status ReadFigures(const Fields& fields, const std::string& what, Node& node) const;

  absl::Status ReadVersion(const Fields& fields, const YAML::Node& document) const;
  absl::Status ReadSwitches(const YAML::Node& list);
  absl::Status ReadSwitch(const YAML::Node& entry);
  absl::Status ReadNodes(const YAML::Node& list);
  absl::Status ReadNodeEntry(const YAML::Node& entry);

  const std::string_view filename_;
  const ParseOptions options_;
  Node defaults_ = MakeNode("", 0);  // figures of nodes, and of links
  CostParameters costs_;
  std::vector<Switch> switches_;
  std::vector<std::pair<std::string, YAML::Node>> parents_;  // by switch: name of the parent (or empty), its place
  std::vector<int> switch_lines_;
  absl::flat_hash_map<std::string, uint32_t> switch_by_name_;
  std::vector<Node> nodes_;
  std::vector<int> node_lines_;
};

absl::StatusOr<TopologyParser::Fields> TopologyParser::ReadFields(const YAML::Node& node, const std::string& what,
                                                                  const std::vector<std::string>& known) const {
  if (!node.IsMap()) return Error(node, what, ": must be a map of keys and values");
  Fields fields;
  for (const auto& entry : node) {
    const YAML::Node& key = entry.first;
    if (!key.IsScalar()) return Error(key, what, ": a key must be a text");
    const std::string& name = key.Scalar();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      std::string list;
      for (const std::string& k : known) absl::StrAppend(&list, list.empty() ? "" : " ", k);
      return Error(key, what, ": unknown key (key=", Shown(name), ", known=", list, ")");
    }
    if (!fields.emplace(name, entry.second).second) {
      return Error(key, what, ": key appears twice (key=", name, ")");
    }
  }
  return fields;
}

absl::StatusOr<std::string> TopologyParser::ReadText(const YAML::Node& node, const std::string& what) const {
  if (!node.IsScalar()) return Error(node, what, ": must be a single value");
  return node.Scalar();
}

absl::StatusOr<std::string> TopologyParser::ReadName(const YAML::Node& node, const std::string& what) const {
  ASSIGN_OR_RETURN(std::string name, ReadText(node, what));
  if (name.empty()) return Error(node, what, ": is empty (length=0, least=1)");
  if (name.size() > kNameBytesMax) {
    return Error(node, what, ": too long (length=", name.size(), ", limit=", kNameBytesMax, ")");
  }
  if (!std::all_of(name.begin(), name.end(), IsNameCharacter)) {
    return Error(node, what, ": only letters, digits, '-', '_' and '.' (name=", Shown(name), ")");
  }
  return name;
}

absl::StatusOr<int64_t> TopologyParser::ReadTime(const YAML::Node& node, const std::string& what) const {
  ASSIGN_OR_RETURN(const std::string text, ReadText(node, what));
  const absl::StatusOr<absl::Duration> time = ParseDuration(text);
  if (!time.ok()) return Error(node, what, ": ", time.status().message(), " (value=", Shown(text), ")");
  const int64_t ns = absl::ToInt64Nanoseconds(*time);
  if (ns <= 0) return Error(node, what, ": must be at least 1 ns (value=", Shown(text), ", least=1ns)");
  if (ns > kTimeNsMax) {
    return Error(node, what, ": too large (value=", Shown(text), ", limit=", kTimeNsMax / 1'000'000'000, "s)");
  }
  return ns;
}

absl::StatusOr<int64_t> TopologyParser::ReadBandwidth(const YAML::Node& node, const std::string& what) const {
  ASSIGN_OR_RETURN(const std::string text, ReadText(node, what));
  const absl::StatusOr<double> rate = ParseBandwidth(text);
  if (!rate.ok()) return Error(node, what, ": ", rate.status().message(), " (value=", Shown(text), ")");
  if (*rate > static_cast<double>(kBandwidthBytesPerSecondMax)) {
    return Error(node, what, ": too large (value=", Shown(text), ", limit=", kBandwidthBytesPerSecondMax, "B/s)");
  }
  const int64_t rounded = std::llround(*rate);
  if (rounded <= 0) return Error(node, what, ": must be at least 1 B/s (value=", Shown(text), ", least=1B/s)");
  return rounded;
}

absl::Status TopologyParser::ReadCosts(const YAML::Node& node) {
  std::vector<std::string> known;
  for (const CostParameterField& field : CostParameterFields()) known.push_back(field.name);
  ASSIGN_OR_RETURN(const Fields fields, ReadFields(node, "costs", known));
  for (const CostParameterField& field : CostParameterFields()) {
    const auto found = fields.find(field.name);
    if (found == fields.end()) continue;
    const std::string what = absl::StrCat("costs: ", field.name);
    ASSIGN_OR_RETURN(const std::string text, ReadText(found->second, what));
    int64_t& value = costs_.*field.member;
    if (!absl::SimpleAtoi(text, &value) || value < 0 || value > kCostParameterMax) {
      return Error(found->second, what, ": must be a number from 0 (value=", Shown(text), ", limit=", kCostParameterMax,
                   ")");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> TopologyParser::ReadCount(const YAML::Node& node, const std::string& what,
                                                   uint32_t limit) const {
  ASSIGN_OR_RETURN(const std::string text, ReadText(node, what));
  uint32_t count = 0;
  if (!absl::SimpleAtoi(text, &count) || count == 0 || count > limit) {
    return Error(node, what, ": must be a number from 1 (value=", Shown(text), ", limit=", limit, ")");
  }
  return count;
}

absl::Status TopologyParser::ReadFigures(const Fields& fields, const std::string& what, Node& node) const {
  for (const auto& [key, value] : fields) {
    const std::string item = absl::StrCat(what, ": ", key);
    if (key == "overhead") {
      ASSIGN_OR_RETURN(node.overhead_ns, ReadTime(value, item));
    } else if (key == "receive_overhead") {
      ASSIGN_OR_RETURN(node.receive_overhead_ns, ReadTime(value, item));
    } else if (key == "latency") {
      ASSIGN_OR_RETURN(node.latency_ns, ReadTime(value, item));
    } else if (key == "bandwidth") {
      ASSIGN_OR_RETURN(node.bandwidth_bytes_per_s, ReadBandwidth(value, item));
    } else if (key == "cores") {
      ASSIGN_OR_RETURN(node.cores, ReadCount(value, item, kCoreCountMax));
    }
  }
  return absl::OkStatus();
}

absl::Status TopologyParser::ReadVersion(const Fields& fields, const YAML::Node& document) const {
  const auto version = fields.find("version");
  if (version == fields.end()) {
    return Error(document, "version: is missing (expected=", kTopologyFormatVersion, ")");
  }
  ASSIGN_OR_RETURN(const std::string text, ReadText(version->second, "version"));
  if (text != absl::StrCat(kTopologyFormatVersion)) {
    return Error(version->second, "version: not one that is known here (version=", Shown(text),
                 ", expected=", kTopologyFormatVersion, ")");
  }
  return absl::OkStatus();
}

absl::Status TopologyParser::ReadSwitch(const YAML::Node& entry) {
  ASSIGN_OR_RETURN(const Fields fields, ReadFields(entry, "switch", {"name", "parent", "latency", "bandwidth"}));
  const auto name = fields.find("name");
  if (name == fields.end()) return Error(entry, "switch: has no name (key=name)");
  Switch item;
  ASSIGN_OR_RETURN(item.name, ReadName(name->second, "switch: name"));
  const std::string what = absl::StrCat("switch ", item.name);
  const auto parent = fields.find("parent");
  std::string parent_name;
  if (parent != fields.end()) {
    ASSIGN_OR_RETURN(parent_name, ReadName(parent->second, what + ": parent"));
  }
  // A root has no link, so no defaults apply to it.
  Node link = parent != fields.end() ? defaults_ : Node{};
  RETURN_IF_ERROR(ReadFigures(fields, what, link));
  item.latency_ns = link.latency_ns;
  item.bandwidth_bytes_per_s = link.bandwidth_bytes_per_s;
  switch_by_name_.emplace(item.name, static_cast<uint32_t>(switches_.size()));  // FindDefect reports a duplicate
  switches_.push_back(std::move(item));
  parents_.emplace_back(std::move(parent_name), parent != fields.end() ? parent->second : entry);
  switch_lines_.push_back(LineOf(entry));
  return absl::OkStatus();
}

absl::Status TopologyParser::ReadSwitches(const YAML::Node& list) {
  if (!list.IsSequence()) return Error(list, "switches: must be a list");
  for (const YAML::Node& entry : list) RETURN_IF_ERROR(ReadSwitch(entry));
  if (switches_.empty()) return Error(list, "switches: there are none (count=0, least=1)");
  for (size_t s = 0; s < switches_.size(); ++s) {
    const auto& [name, at] = parents_[s];
    if (name.empty()) continue;
    const auto parent = switch_by_name_.find(name);
    if (parent == switch_by_name_.end()) {
      return Error(at, "switch ", switches_[s].name, ": parent is not a switch of this file (parent=", name, ")");
    }
    switches_[s].parent = parent->second;
  }
  return absl::OkStatus();
}

absl::Status TopologyParser::ReadNodeEntry(const YAML::Node& entry) {
  ASSIGN_OR_RETURN(const Fields fields, ReadFields(entry, "node",
                                                   {"name", "switch", "overhead", "receive_overhead", "latency",
                                                    "bandwidth", "cores", "host"}));
  const auto name = fields.find("name");
  if (name == fields.end()) return Error(entry, "node: has no name (key=name)");
  ASSIGN_OR_RETURN(const std::string list, ReadText(name->second, "node: name"));
  const std::string what = absl::StrCat("node ", Shown(list));
  if (LongestName(list) > kNameBytesMax) {
    return Error(name->second, what, ": name too long (length=", LongestName(list), ", limit=", kNameBytesMax, ")");
  }
  Node node = defaults_;
  const auto parent = fields.find("switch");
  if (parent == fields.end()) return Error(entry, what, ": is on no switch (key=switch)");
  ASSIGN_OR_RETURN(const std::string parent_name, ReadName(parent->second, what + ": switch"));
  const auto its_switch = switch_by_name_.find(parent_name);
  if (its_switch == switch_by_name_.end()) {
    return Error(parent->second, what, ": unknown switch (switch=", parent_name, ")");
  }
  node.parent = its_switch->second;
  if (const auto host = fields.find("host"); host != fields.end()) {
    ASSIGN_OR_RETURN(node.host, ReadName(host->second, what + ": host"));
  }
  RETURN_IF_ERROR(ReadFigures(fields, what, node));

  const uint64_t room = options_.nodes_max - nodes_.size();
  absl::StatusOr<std::vector<std::string>> names = ExpandHostlist(list, room);
  if (absl::IsResourceExhausted(names.status())) {
    return Error(name->second, what, ": too many nodes (before=", nodes_.size(), ", limit=", options_.nodes_max, ")");
  }
  if (!names.ok()) return Error(name->second, what, ": ", names.status().message(), " (name=", Shown(list), ")");
  if (names->empty()) return Error(name->second, "node: name is empty (length=0, least=1)");
  for (std::string& one : *names) {
    nodes_.push_back(node);
    nodes_.back().name = std::move(one);
    node_lines_.push_back(LineOf(entry));
  }
  return absl::OkStatus();
}

absl::Status TopologyParser::ReadNodes(const YAML::Node& list) {
  if (!list.IsSequence()) return Error(list, "nodes: must be a list");
  for (const YAML::Node& entry : list) RETURN_IF_ERROR(ReadNodeEntry(entry));
  if (nodes_.empty()) return Error(list, "nodes: there are none (count=0, least=1)");
  return absl::OkStatus();
}

absl::StatusOr<Topology> TopologyParser::Parse(const YAML::Node& document) {
  // `fabric` describes a test network that emulates this cluster, and nothing here depends on it.
  ASSIGN_OR_RETURN(const Fields fields,
                   ReadFields(document, "topology", {"version", "costs", "defaults", "switches", "nodes", "fabric"}));
  RETURN_IF_ERROR(ReadVersion(fields, document));
  if (const auto defaults = fields.find("defaults"); defaults != fields.end()) {
    ASSIGN_OR_RETURN(
        const Fields figures,
        ReadFields(defaults->second, "defaults", {"overhead", "receive_overhead", "latency", "bandwidth", "cores"}));
    RETURN_IF_ERROR(ReadFigures(figures, "defaults", defaults_));
  }
  if (const auto costs = fields.find("costs"); costs != fields.end()) RETURN_IF_ERROR(ReadCosts(costs->second));
  const auto switches = fields.find("switches");
  if (switches == fields.end()) return Error(document, "switches: are missing (key=switches)");
  RETURN_IF_ERROR(ReadSwitches(switches->second));
  const auto nodes = fields.find("nodes");
  if (nodes == fields.end()) return Error(document, "nodes: are missing (key=nodes)");
  RETURN_IF_ERROR(ReadNodes(nodes->second));

  if (const auto defect = Topology::FindDefect(switches_, nodes_)) {
    const std::vector<int>& lines = defect->in_switch ? switch_lines_ : node_lines_;
    return ErrorAt(filename_, defect->index < lines.size() ? lines[defect->index] : LineOf(document), defect->text);
  }
  return Topology::Create(std::move(switches_), std::move(nodes_), costs_);
}

// A DocumentSkipper ignores the events of a document.
class DocumentSkipper : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// Returns the number of documents: 0, 1, or 2 for more than one. YAML::LoadAll cannot be used: it never ends on
// "{a: 1}\n,".
int CountDocuments(std::string_view text) {
  std::istringstream stream{std::string(text)};
  YAML::Parser parser(stream);
  DocumentSkipper skipper;
  int count = 0;
  while (count < 2 && parser.HandleNextDocument(skipper)) ++count;
  return count;
}

std::string QuotedForYaml(const std::string& text) { return absl::StrCat("\"", absl::CEscape(text), "\""); }

struct FigureUnit {
  const char* name;
  int64_t size;
};
constexpr FigureUnit kTimeUnits[] = {{"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}};
constexpr FigureUnit kBitUnits[] = {
    {"Tbit", 1'000'000'000'000}, {"Gbit", 1'000'000'000}, {"Mbit", 1'000'000}, {"kbit", 1'000}, {"bit", 1}};

// Returns the value exactly, in the largest unit in which it needs at most three decimals: "1.25Gbit".
std::string Exactly(int64_t value, absl::Span<const FigureUnit> units) {
  constexpr int64_t kDecimals = 1000;
  for (const FigureUnit& unit : units) {
    const int64_t step = std::max<int64_t>(unit.size / kDecimals, 1);
    if (value < unit.size || value % step != 0) continue;
    const int64_t rest = value % unit.size / step;
    if (rest == 0) return absl::StrCat(value / unit.size, unit.name);
    std::string decimals = absl::StrCat(kDecimals + rest).substr(1);
    decimals.resize(decimals.find_last_not_of('0') + 1);
    return absl::StrCat(value / unit.size, ".", decimals, unit.name);
  }
  return absl::StrCat(value, units.back().name);
}

std::string TimeText(int64_t ns, FigureUnits units) {
  return units == FigureUnits::kPlain ? absl::StrCat(ns, "ns") : Exactly(ns, kTimeUnits);
}
std::string LinkText(int64_t latency_ns, int64_t bandwidth, FigureUnits units) {
  return absl::StrCat(
      ", latency: ", TimeText(latency_ns, units), ", bandwidth: ",
      units == FigureUnits::kPlain ? absl::StrCat(bandwidth, "B/s") : Exactly(8 * bandwidth, kBitUnits));
}

constexpr char kReadableHead[] =
    "# A link is the one above a switch or node, to its parent: latency, one way, and bandwidth, in bits a second.\n"
    "# overhead: what a message costs its sender's processor, and unless receive_overhead says otherwise its "
    "receiver's.\n";

}  // namespace

std::string Shown(std::string_view text) {
  constexpr size_t kShownMax = 64;
  return text.size() > kShownMax ? absl::StrCat(AbslView(text.substr(0, kShownMax)), "...") : std::string(text);
}

absl::Status ErrorAt(std::string_view filename, int line, std::string text) {
  for (char& c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = '?';
  }
  return absl::InvalidArgumentError(absl::StrCat(AbslView(filename), ":", line, ": ", text));
}

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
}

absl::StatusOr<Topology> ParseTopologyYaml(std::string_view text, std::string_view filename,
                                           const ParseOptions& options) {
  if (text.size() > kTopologyBytesMax) {
    return ErrorAt(filename, 1,
                   absl::StrCat("topology: too large (bytes=", text.size(), ", limit=", kTopologyBytesMax, ")"));
  }
  // yaml-cpp throws; no exception leaves this function.
  try {
    const int documents = CountDocuments(text);
    if (documents == 0) return ErrorAt(filename, 1, "topology: is empty (documents=0, expected=1)");
    if (documents > 1) return ErrorAt(filename, 1, "topology: more than one document (limit=1)");
    const YAML::Node document = YAML::Load(std::string(text));
    if (document.IsNull()) return ErrorAt(filename, 1, "topology: is empty (documents=1, keys=0)");
    return TopologyParser(filename, options).Parse(document);
  } catch (const YAML::Exception& e) {
    return ErrorAt(filename, std::max(e.mark.line, 0) + 1, absl::StrCat("topology: not YAML: ", Shown(e.msg)));
  } catch (const std::exception& e) {
    return ErrorAt(filename, 1, absl::StrCat("topology: not YAML: ", Shown(e.what())));
  }
}

std::string FormatTopologyYaml(const Topology& topology, FigureUnits units) {
  std::string text =
      absl::StrCat(units == FigureUnits::kReadable ? kReadableHead : "", "version: ", kTopologyFormatVersion, "\n");
  if (topology.costs() != CostParameters()) {
    std::string costs;
    for (const CostParameterField& field : CostParameterFields()) {
      absl::StrAppend(&costs, costs.empty() ? "" : ", ", field.name, ": ", topology.costs().*field.member);
    }
    absl::StrAppend(&text, "costs: {", costs, "}\n");
  }
  absl::StrAppend(&text, "switches:\n");
  for (const Switch& item : topology.switches()) {
    absl::StrAppend(&text, "  - {name: ", QuotedForYaml(item.name));
    if (item.parent != kNoParent) {
      absl::StrAppend(&text, ", parent: ", QuotedForYaml(topology.switches()[item.parent].name),
                      LinkText(item.latency_ns, item.bandwidth_bytes_per_s, units));
    }
    absl::StrAppend(&text, "}\n");
  }
  absl::StrAppend(&text, "nodes:\n");
  const std::vector<Node>& nodes = topology.nodes();
  for (size_t begin = 0, end = 0; begin < nodes.size(); begin = end) {
    // Consecutive nodes that differ only in their names share an entry.
    Node common = nodes[begin];
    std::vector<std::string> names;
    for (end = begin; end < nodes.size(); ++end) {
      common.name = nodes[end].name;
      if (nodes[end] != common) break;
      names.push_back(nodes[end].name);
    }
    absl::StrAppend(&text, "  - {name: ", QuotedForYaml(CompressHostlist(names)),
                    ", switch: ", QuotedForYaml(topology.switches()[common.parent].name),
                    ", overhead: ", TimeText(common.overhead_ns, units));
    if (common.receive_overhead_ns > 0) {
      absl::StrAppend(&text, ", receive_overhead: ", TimeText(common.receive_overhead_ns, units));
    }
    absl::StrAppend(&text, LinkText(common.latency_ns, common.bandwidth_bytes_per_s, units));
    if (common.cores > 0) absl::StrAppend(&text, ", cores: ", common.cores);
    if (!common.host.empty()) absl::StrAppend(&text, ", host: ", QuotedForYaml(common.host));
    absl::StrAppend(&text, "}\n");
  }
  return text;
}

}  // namespace copse::topology
