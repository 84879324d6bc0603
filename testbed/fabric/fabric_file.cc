// SPDX-License-Identifier: Apache-2.0
#include "testbed/fabric/fabric_file.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/hostlist.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "planner/topology/topology_yaml.h"
#include "yaml-cpp/yaml.h"

namespace copse::fabric {
namespace {

class SectionParser {
 public:
  SectionParser(std::string_view filename, FabricFile* file) : filename_(filename), file_(file) {}

  absl::Status Parse(const YAML::Node& section) {
    if (!section.IsMap()) return Error(section, "fabric: must be a map of keys and values");
    // Defaults are read first, whatever their position.
    if (const YAML::Node defaults = section["defaults"]; defaults.IsDefined()) RETURN_IF_ERROR(ReadDefaults(defaults));
    for (const auto& entry : section) {
      ASSIGN_OR_RETURN(const std::string key, ReadText(entry.first, "fabric: a key"));
      if (key == "defaults") continue;
      const std::string what = absl::StrCat("fabric: ", key);
      if (key == "seed") {
        ASSIGN_OR_RETURN(const std::string text, ReadText(entry.second, what));
        if (!absl::SimpleAtoi(text, &file_->seed)) {
          return Error(entry.second, what, ": must be a number (value=", text, ")");
        }
      } else if (key == "mtu") {
        ASSIGN_OR_RETURN(const std::string text, ReadText(entry.second, what));
        if (!absl::SimpleAtoi(text, &file_->mtu) || file_->mtu < kMtuMin || file_->mtu > kMtuMax) {
          return Error(entry.second, what, ": must be a number of bytes (value=", text, ", limit=", kMtuMin, "..",
                       kMtuMax, ")");
        }
      } else if (key == "offload") {
        ASSIGN_OR_RETURN(const std::string text, ReadText(entry.second, what));
        if (text != "true" && text != "false") {
          return Error(entry.second, what, ": must be true or false (value=", text, ")");
        }
        file_->offload = text == "true";
      } else if (key == "links") {
        RETURN_IF_ERROR(ReadLinks(entry.second));
      } else {
        return Error(entry.first, "fabric: unknown key (key=", key, ", known=seed mtu offload defaults links)");
      }
    }
    return absl::OkStatus();
  }

 private:
  template <typename... Parts>
  absl::Status Error(const YAML::Node& node, const Parts&... parts) const {
    std::string text = absl::StrCat(parts...);
    for (char& c : text) {
      if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = '?';
    }
    return absl::InvalidArgumentError(
        absl::StrCat(AbslView(filename_), ":", std::max(node.Mark().line, 0) + 1, ": ", text));
  }

  absl::StatusOr<std::string> ReadText(const YAML::Node& node, const std::string& what) const {
    if (!node.IsScalar()) return Error(node, what, ": must be a single value");
    return node.Scalar();
  }

  absl::Status ReadSettings(const YAML::Node& map, const std::string& what, LinkSettings* settings) const {
    if (!map.IsMap()) return Error(map, what, ": must be a map of keys and values");
    for (const auto& entry : map) {
      ASSIGN_OR_RETURN(const std::string key, ReadText(entry.first, what + ": a key"));
      ASSIGN_OR_RETURN(const std::string value, ReadText(entry.second, absl::StrCat(what, ": ", key)));
      const absl::Status status = SetLinkSetting(key, value, settings);
      if (!status.ok()) return Error(entry.second, what, ": ", status.message());
    }
    return absl::OkStatus();
  }

  absl::Status ReadDefaults(const YAML::Node& map) {
    for (std::vector<LinkSettings>* links : {&file_->switch_links, &file_->node_links}) {
      for (LinkSettings& link : *links) RETURN_IF_ERROR(ReadSettings(map, "fabric: defaults", &link));
    }
    return absl::OkStatus();
  }

  absl::Status ReadLinks(const YAML::Node& map) {
    if (!map.IsMap()) return Error(map, "fabric: links: must be a map of names and settings");
    absl::flat_hash_map<std::string, uint32_t> switches;
    for (uint32_t s = 0; s < file_->topology.switches().size(); ++s) {
      switches.emplace(file_->topology.switches()[s].name, s);
    }
    for (const auto& entry : map) {
      ASSIGN_OR_RETURN(const std::string list, ReadText(entry.first, "fabric: links: a name"));
      const absl::StatusOr<std::vector<std::string>> names = ExpandHostlist(list);
      if (!names.ok()) return Error(entry.first, "fabric: links: ", names.status().message());
      for (const std::string& name : *names) {
        const auto at_switch = switches.find(name);
        const std::optional<uint32_t> node = file_->topology.FindNode(name);
        if (at_switch == switches.end() && !node) {
          return Error(entry.first, "fabric: links: no such switch or node (name=", name, ")");
        }
        if (at_switch != switches.end() && node) {
          return Error(entry.first, "fabric: links: both a switch and a node (name=", name, ")");
        }
        if (!node && at_switch->second == file_->topology.root_switch()) {
          return Error(entry.first, "fabric: links: the root switch has no link (name=", name, ")");
        }
        RETURN_IF_ERROR(ReadSettings(entry.second, absl::StrCat("fabric: links: ", list),
                                     node ? &file_->node_links[*node] : &file_->switch_links[at_switch->second]));
      }
    }
    return absl::OkStatus();
  }

  const std::string_view filename_;
  FabricFile* const file_;
};

}  // namespace

absl::StatusOr<FabricFile> ParseFabricFile(std::string_view text, std::string_view filename) {
  ASSIGN_OR_RETURN(topology::Topology topology, topology::ParseTopologyYaml(text, filename));
  FabricFile file = {.topology = std::move(topology)};
  for (const topology::Switch& item : file.topology.switches()) {
    file.switch_links.push_back({.latency_ns = item.latency_ns, .bytes_per_s = item.bandwidth_bytes_per_s});
  }
  for (const topology::Node& node : file.topology.nodes()) {
    file.node_links.push_back({.latency_ns = node.latency_ns, .bytes_per_s = node.bandwidth_bytes_per_s});
  }
  try {
    const YAML::Node section = YAML::Load(std::string(text))["fabric"];
    if (section.IsDefined() && !section.IsNull()) RETURN_IF_ERROR(SectionParser(filename, &file).Parse(section));
  } catch (const std::exception& e) {
    return absl::InvalidArgumentError(absl::StrCat(AbslView(filename), ":1: fabric: not YAML: ", e.what()));
  }
  return file;
}

absl::StatusOr<std::vector<uint32_t>> Wiring::FindLinks(std::string_view hostlist) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> wanted, ExpandHostlist(hostlist, names.size()));
  if (wanted.empty()) return absl::InvalidArgumentError("no link is named (count=0, least=1)");
  std::vector<uint32_t> found;
  for (const std::string& name : wanted) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) return absl::NotFoundError(absl::StrCat("no such link (link=", name, ")"));
    const auto vertex = static_cast<uint32_t>(at - names.begin());
    if (vertices[vertex].parent == kNone) {
      return absl::InvalidArgumentError(absl::StrCat("the root switch has no link (link=", name, ")"));
    }
    found.push_back(vertex);
  }
  return found;
}

absl::StatusOr<Wiring> Wire(const FabricFile& file, const std::vector<std::string>& nodes) {
  if (nodes.empty() || nodes.size() > kNodesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("nodes: must be from 1 (count=", nodes.size(), ", limit=", kNodesMax, ")"));
  }
  Wiring wiring;
  absl::flat_hash_set<std::string> seen;
  for (size_t s = 0; s < file.topology.switches().size(); ++s) {
    const topology::Switch& item = file.topology.switches()[s];
    wiring.vertices.push_back({item.parent == topology::kNoParent ? kNone : item.parent, file.switch_links[s]});
    wiring.names.push_back(item.name);
    seen.insert(item.name);
  }
  wiring.switch_count = static_cast<uint32_t>(wiring.vertices.size());
  for (const std::string& name : nodes) {
    const std::optional<uint32_t> node = file.topology.FindNode(name);
    if (!node) return absl::InvalidArgumentError(absl::StrCat("node: not in the topology file (node=", name, ")"));
    if (!seen.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("node: given twice, or also a switch (node=", name, ")"));
    }
    wiring.vertices.push_back({file.topology.nodes()[*node].parent, file.node_links[*node]});
    wiring.names.push_back(name);
  }
  return wiring;
}

}  // namespace copse::fabric
