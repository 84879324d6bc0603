// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/golden_vector.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "planner/algorithms/lower_bound.h"
#include "planner/algorithms/trees/broadcast_algorithms.h"

namespace copse::planner {
namespace {

using Json = nlohmann::json;

constexpr char kReferenceOfBest[] = "MGO_localsearch_reference_only";
constexpr char kLowerBound[] = "lower_bound_ns";

absl::Status Wrong(const std::string& what, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", why));
}

// Returns the member, or a JSON null if there is none or `json` is no object.
const Json& Member(const Json& json, const char* key) {
  static const Json& none = *new Json;
  if (!json.is_object()) return none;
  const auto it = json.find(key);
  return it == json.end() ? none : *it;
}

absl::StatusOr<int64_t> ToInteger(const Json& json, const std::string& what, int64_t least, int64_t limit) {
  if (!json.is_number_integer()) return Wrong(what, "not an integer (value=" + json.dump().substr(0, 40) + ")");
  // get<int64_t> would make an unsigned number beyond int64_t negative.
  const bool beyond = json.is_number_unsigned() && json.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()};
  const int64_t value = beyond ? std::numeric_limits<int64_t>::max() : json.get<int64_t>();
  if (value < least || value > limit) {
    return Wrong(what, absl::StrCat("out of range (value=", value, ", least=", least, ", limit=", limit, ")"));
  }
  return value;
}

absl::StatusOr<std::vector<int64_t>> ToIntegers(const Json& json, const std::string& what, int64_t least) {
  if (!json.is_array()) return Wrong(what, "not an array of integers (value=" + json.dump().substr(0, 40) + ")");
  std::vector<int64_t> values;
  values.reserve(json.size());
  for (const Json& item : json) {
    ASSIGN_OR_RETURN(const int64_t value, ToInteger(item, what, least, std::numeric_limits<int64_t>::max()));
    values.push_back(value);
  }
  return values;
}

absl::StatusOr<BroadcastCosts> ParseCosts(const Json& json, uint64_t bytes) {
  const Json& tree_json = Member(json, "tree");
  CostTree tree;
  ASSIGN_OR_RETURN(const std::vector<int64_t> parents, ToIntegers(Member(tree_json, "parent"), "tree.parent", -1));
  for (const int64_t parent : parents) {
    tree.parent.push_back(parent < 0 ? topology::kNoParent
                                     : static_cast<uint32_t>(std::min<int64_t>(parent, topology::kNoParent - 1)));
  }
  ASSIGN_OR_RETURN(tree.latency_ns, ToIntegers(Member(tree_json, "link_latency_ns"), "tree.link_latency_ns", 0));
  ASSIGN_OR_RETURN(tree.bandwidth_bytes_per_s,
                   ToIntegers(Member(tree_json, "link_bandwidth_Bps"), "tree.link_bandwidth_Bps", 0));
  ASSIGN_OR_RETURN(const std::vector<int64_t> overheads, ToIntegers(Member(json, "o_ns"), "o_ns", 0));
  ASSIGN_OR_RETURN(BroadcastCosts costs, BroadcastCosts::FromTree(tree, overheads, overheads, bytes));
  costs.FillMatrix();
  return costs;
}

absl::StatusOr<GoldenResult> ParseResult(const std::string& algorithm, const Json& json, uint32_t node_count) {
  GoldenResult result;
  result.algorithm = algorithm;
  const int64_t limit = std::numeric_limits<int64_t>::max();
  ASSIGN_OR_RETURN(result.done_ns, ToInteger(Member(json, "done_ns"), algorithm + ".done_ns", 0, limit));
  const Json& edges = Member(json, "edges");
  if (!edges.is_array()) return Wrong(algorithm + ".edges", "not an array (value=" + edges.dump().substr(0, 40) + ")");
  for (const Json& edge : edges) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> ends, ToIntegers(edge, algorithm + ".edges", 0));
    if (ends.size() != 2 || std::max(ends[0], ends[1]) >= node_count) {
      return Wrong(algorithm + ".edges", absl::StrCat("not [sender, receiver] (edge=", edge.dump().substr(0, 40),
                                                      ", nodes=", node_count, ")"));
    }
    result.edges.push_back({static_cast<uint32_t>(ends[0]), static_cast<uint32_t>(ends[1])});
  }
  if (json.contains("phase1_edges")) {
    ASSIGN_OR_RETURN(const int64_t count, ToInteger(json["phase1_edges"], algorithm + ".phase1_edges", 0, node_count));
    result.phase1_edges = static_cast<uint32_t>(count);
  }
  if (json.contains("arrival_ns")) {
    ASSIGN_OR_RETURN(result.arrival_ns, ToIntegers(json["arrival_ns"], algorithm + ".arrival_ns", 0));
  }
  return result;
}

// Returns each sender's receivers, in the order of its sends.
std::vector<std::vector<uint32_t>> BySender(const std::vector<BroadcastEdge>& edges, uint32_t node_count) {
  std::vector<std::vector<uint32_t>> receivers(node_count);
  for (const BroadcastEdge& edge : edges) receivers[edge.from].push_back(edge.to);
  return receivers;
}

// Returns a description of the first difference, or an empty string if there is none.
std::string Difference(const GoldenVector& vector, const GoldenResult& wanted) {
  const uint32_t n = vector.costs.node_count();
  const bool is_reference = wanted.algorithm == kReferenceOfBest;
  const auto tree = BuildBroadcast(is_reference ? "best" : wanted.algorithm, vector.costs, vector.root);
  if (!tree.ok()) return std::string(tree.status().message());
  if (const absl::Status status = CheckBroadcastTree(*tree, n); !status.ok()) return std::string(status.message());
  const std::vector<int64_t> arrival = Arrivals(vector.costs, tree->edges);
  const int64_t replayed = *std::max_element(arrival.begin(), arrival.end());
  if (replayed != tree->completion_ns) {
    return absl::StrCat("its edges take another time than it says (ns=", tree->completion_ns, ", edges=", replayed,
                        ")");
  }
  if (vector.lower_bound_ns.has_value() && replayed < *vector.lower_bound_ns) {
    return absl::StrCat("faster than possible (ns=", replayed, ", least=", *vector.lower_bound_ns, ")");
  }
  if (is_reference) {
    // Dividing before multiplying avoids an overflow.
    const int64_t limit = wanted.done_ns / 100 * kGoldenBestPercentMax;
    return replayed <= std::max(limit, wanted.done_ns)
               ? ""
               : absl::StrCat("best is too slow (ns=", replayed, ", reference=", wanted.done_ns, ")");
  }
  if (replayed != wanted.done_ns) {
    return absl::StrCat("another completion time (ns=", replayed, ", wanted=", wanted.done_ns, ")");
  }
  if (wanted.algorithm == "OPTIMAL") return "";
  const auto ours = BySender(tree->edges, n), theirs = BySender(wanted.edges, n);
  for (uint32_t v = 0; v < n; ++v) {
    if (ours[v] != theirs[v]) return absl::StrCat("other edges (first sender that differs=", v, ")");
  }
  if (wanted.phase1_edges.has_value() && tree->phase1_edges != *wanted.phase1_edges) {
    return absl::StrCat("another first phase (edges=", tree->phase1_edges, ", wanted=", *wanted.phase1_edges, ")");
  }
  if (!wanted.arrival_ns.empty() && arrival != wanted.arrival_ns) return "other arrival times";
  return "";
}

}  // namespace

absl::StatusOr<GoldenVector> ParseGoldenVector(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat("golden vector: not a JSON object (bytes=", text.size(), ")"));
  }
  const int64_t limit = std::numeric_limits<int64_t>::max();
  ASSIGN_OR_RETURN(const int64_t bytes, ToInteger(Member(json, "m"), "m", 0, limit));
  ASSIGN_OR_RETURN(BroadcastCosts costs, ParseCosts(json, static_cast<uint64_t>(bytes)));
  const uint32_t n = costs.node_count();
  RETURN_IF_ERROR(ToInteger(Member(json, "P"), "P", n, n).status());
  ASSIGN_OR_RETURN(const int64_t root, ToInteger(Member(json, "root"), "root", 0, int64_t{n} - 1));
  GoldenVector vector{.name = json.contains("name") && json["name"].is_string() ? json["name"].get<std::string>() : "",
                      .root = static_cast<uint32_t>(root),
                      .bytes = static_cast<uint64_t>(bytes),
                      .costs = std::move(costs),
                      .results = {},
                      .lower_bound_ns = std::nullopt};
  const Json& results = Member(json, "result");
  if (!results.is_object()) return absl::InvalidArgumentError("result: not an object");
  for (const auto& [name, value] : results.items()) {
    if (name == kLowerBound) {
      ASSIGN_OR_RETURN(vector.lower_bound_ns, ToInteger(value, kLowerBound, 0, limit));
      continue;
    }
    ASSIGN_OR_RETURN(GoldenResult result, ParseResult(name, value, n));
    vector.results.push_back(std::move(result));
  }
  return vector;
}

GoldenComparison CompareWithGolden(const GoldenVector& vector) {
  GoldenComparison comparison;
  for (const GoldenResult& result : vector.results) {
    const std::string difference = Difference(vector, result);
    if (difference.empty()) {
      ++comparison.passed;
    } else {
      comparison.failed.push_back(absl::StrCat(result.algorithm, ": ", difference));
    }
  }
  if (vector.lower_bound_ns.has_value()) {
    // Our bound may be lower or higher than that of the file, but must not exceed the completion time of any result.
    const int64_t ours = LowerBoundNs(vector.costs, vector.root);
    int64_t fastest = std::numeric_limits<int64_t>::max();
    for (const GoldenResult& result : vector.results) fastest = std::min(fastest, result.done_ns);
    if (ours <= fastest) {
      ++comparison.passed;
    } else {
      comparison.failed.push_back(absl::StrCat("lower bound: not one (ns=", ours, ", reached=", fastest, ")"));
    }
  }
  return comparison;
}

}  // namespace copse::planner
