// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/plan_file.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "nlohmann/json.hpp"
#include "planner/structure.h"

namespace copse::simcli {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kNone = 0xffffffff;

class PlanFileParser {
 public:
  PlanFileParser(std::string_view text, std::string_view filename) : text_(text), filename_(filename) {}

  absl::StatusOr<NamedPlan> Parse() {
    if (text_.size() > kPlanFileBytesMax) {
      return Error(absl::StrCat("too long (bytes=", text_.size(), ", limit=", kPlanFileBytesMax, ")"));
    }
    json_ = Json::parse(text_, nullptr, /*allow_exceptions=*/false);
    if (!json_.is_object()) return Error("not a JSON object");
    RETURN_IF_ERROR(ReadFields());
    RETURN_IF_ERROR(ReadEdges());
    RETURN_IF_ERROR(CheckTree());
    Number();
    return std::move(result_);
  }

 private:
  absl::Status Error(std::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(AbslView(filename_), ": ", AbslView(what)));
  }

  absl::Status ReadNumber(const char* key, uint64_t limit, uint64_t* value) const {
    const auto it = json_.find(key);
    if (it == json_.end()) return absl::OkStatus();
    if (!it->is_number_unsigned()) return Error(absl::StrCat(key, ": not a number from 0 on"));
    *value = it->get<uint64_t>();
    if (*value <= limit) return absl::OkStatus();
    return Error(absl::StrCat(key, ": too large (value=", *value, ", limit=", limit, ")"));
  }

  absl::Status ReadText(const char* key, std::string* value) const {
    const auto it = json_.find(key);
    if (it == json_.end()) return absl::OkStatus();
    if (!it->is_string()) return Error(absl::StrCat(key, ": not a text"));
    *value = it->get<std::string>();
    return absl::OkStatus();
  }

  absl::Status ReadFields() {
    schedule::Plan& plan = result_.plan;
    std::string collective = "bcast";
    RETURN_IF_ERROR(ReadText("collective", &collective));
    const std::optional<Collective> known = CollectiveFromName(collective);
    if (!known.has_value()) return Error(absl::StrCat("collective: unknown (name=", collective, ")"));
    plan.collective = *known;
    const bool has_bytes = plan.collective != Collective::kBarrier;
    uint64_t id = 1;
    plan.bytes_max = has_bytes ? schedule::kMessageBytesMax : 0;
    RETURN_IF_ERROR(ReadNumber("id", std::numeric_limits<uint64_t>::max(), &id));
    RETURN_IF_ERROR(ReadNumber("bytes_max", plan.bytes_max, &plan.bytes_max));
    RETURN_IF_ERROR(ReadNumber("bytes_min", plan.bytes_max, &plan.bytes_min));
    uint64_t segment_bytes = plan.bytes_max > schedule::kSegmentBytesUsual ? schedule::kSegmentBytesUsual : 0;
    RETURN_IF_ERROR(ReadNumber("segment_bytes", schedule::kSegmentBytesMax, &segment_bytes));
    plan.id = PlanId(id);
    plan.segment_bytes = static_cast<uint32_t>(segment_bytes);
    plan.algorithm = "file";
    RETURN_IF_ERROR(ReadText("algorithm", &plan.algorithm));
    if (plan.algorithm == "dissemination" || plan.algorithm == "recursive-doubling" ||
        plan.algorithm == "hierarchical") {
      return Error(absl::StrCat("an exchange, whose rounds a file does not tell (algorithm=", plan.algorithm, ")"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadNode(const Json& json, const char* where, uint32_t* node) {
    if (!json.is_string() || json.get_ref<const std::string&>().empty()) {
      return Error(absl::StrCat(where, ": not a node's name"));
    }
    const std::string& name = json.get_ref<const std::string&>();
    const auto [it, is_new] = number_.try_emplace(name, static_cast<uint32_t>(names_.size()));
    *node = it->second;
    if (!is_new) return absl::OkStatus();
    if (names_.size() == schedule::kNodeCountMax) {
      return Error(absl::StrCat("too many nodes (limit=", schedule::kNodeCountMax, ")"));
    }
    names_.push_back(name);
    parent_.push_back(kNone);
    children_.emplace_back();
    return absl::OkStatus();
  }

  absl::Status ReadEdges() {
    const auto edges = json_.find("edges");
    if (edges == json_.end() || !edges->is_array()) return Error("edges: not a list");
    for (const Json& edge : *edges) {
      if (!edge.is_array() || edge.size() != 2) return Error("edges: not pairs [from, to]");
      uint32_t from = 0, to = 0;
      RETURN_IF_ERROR(ReadNode(edge[0], "edges", &from));
      RETURN_IF_ERROR(ReadNode(edge[1], "edges", &to));
      if (from == to) return Error(absl::StrCat("node ", names_[from], ": an edge to itself"));
      if (parent_[to] == from) return Error(absl::StrCat("node ", names_[to], ": twice below node ", names_[from]));
      if (parent_[to] != kNone) {
        return Error(absl::StrCat("node ", names_[to], ": two parents (first=", names_[parent_[to]],
                                  ", second=", names_[from], ")"));
      }
      parent_[to] = from;
      children_[from].push_back(to);
    }
    const auto nodes = json_.find("nodes");
    if (!edges->empty() || nodes == json_.end()) return absl::OkStatus();
    if (!nodes->is_array() || nodes->size() != 1) return Error("nodes: not the one node of a plan without edges");
    uint32_t node = 0;
    return ReadNode((*nodes)[0], "nodes", &node);
  }

  absl::Status CheckTree() {
    if (names_.empty()) return Error("no nodes (nodes=0, least=1)");
    for (uint32_t v = 0; v < names_.size(); ++v) {
      if (parent_[v] != kNone) continue;
      if (root_ != kNone) {
        return Error(absl::StrCat("several roots: an orphan (first=", names_[root_], ", second=", names_[v], ")"));
      }
      root_ = v;
    }
    if (root_ == kNone) return Error(absl::StrCat("a cycle: every node has a parent (nodes=", names_.size(), ")"));
    for (std::vector<uint32_t> stack = {root_}; !stack.empty();) {
      const uint32_t v = stack.back();
      stack.pop_back();
      order_.push_back(v);
      stack.insert(stack.end(), children_[v].rbegin(), children_[v].rend());
    }
    if (order_.size() == names_.size()) return absl::OkStatus();
    std::vector<bool> reached(names_.size(), false);
    for (const uint32_t v : order_) reached[v] = true;
    const auto lost = static_cast<size_t>(std::find(reached.begin(), reached.end(), false) - reached.begin());
    return Error(absl::StrCat("a cycle that the root does not reach (node=", names_[lost], ")"));
  }

  // Makes the plan's nodes, numbered from the root in depth-first order.
  void Number() {
    const auto count = static_cast<uint32_t>(names_.size());
    std::vector<uint32_t> number(count);
    for (uint32_t i = 0; i < count; ++i) number[order_[i]] = i;
    result_.plan.node_count = count;
    result_.plan.root_node = NodeIndex(0);
    result_.plan.neighbors.resize(count);
    result_.node_names.resize(count);
    for (uint32_t v = 0; v < count; ++v) {
      std::vector<uint32_t>& neighbors = result_.plan.neighbors[number[v]];
      if (parent_[v] != kNone) neighbors.push_back(number[parent_[v]]);
      for (const uint32_t child : children_[v]) neighbors.push_back(number[child]);
      result_.node_names[number[v]] = std::move(names_[v]);
    }
  }

  const std::string_view text_;
  const std::string_view filename_;
  Json json_;
  NamedPlan result_;
  absl::flat_hash_map<std::string, uint32_t> number_;
  std::vector<std::string> names_;
  std::vector<uint32_t> parent_;
  std::vector<std::vector<uint32_t>> children_;
  uint32_t root_ = kNone;
  std::vector<uint32_t> order_;  // nodes in depth-first order
};

}  // namespace

absl::StatusOr<NamedPlan> ParsePlanFile(std::string_view text, std::string_view filename) {
  return PlanFileParser(text, filename).Parse();
}

std::string FormatPlanFile(const schedule::Plan& plan, absl::Span<const std::string> node_names) {
  Json edges = Json::array();
  for (const auto& [from, to] : planner::PlanEdges(plan)) edges.push_back({node_names[from], node_names[to]});
  Json json = {{"id", plan.id.value()},
               {"collective", std::string(CollectiveName(plan.collective))},
               {"bytes_min", plan.bytes_min},
               {"bytes_max", plan.bytes_max},
               {"algorithm", plan.algorithm},
               {"predicted_us", plan.predicted_us},
               {"segment_bytes", plan.segment_bytes},
               {"edges", std::move(edges)}};
  if (plan.node_count == 1) json["nodes"] = Json::array({node_names[0]});
  return json.dump(1) + "\n";
}

}  // namespace copse::simcli
