// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/plan_diff.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "cli/command_line/table.h"
#include "cli/ctl/verbs/plan_size.h"

namespace copse::ctl {
namespace {

using Edge = PlanDifference::Edge;

// A RowReader reads the fields of a plan's JSON object. A missing field is 0 or empty. status() is the first error.
class RowReader {
 public:
  RowReader(const Json& json, std::string_view filename) : json_(json), filename_(filename) {}

  absl::Status status() const { return status_; }

  std::string Text(const char* key) { return Value<std::string>(key, &Json::is_string, "not a text"); }
  uint64_t Number(const char* key) { return Value<uint64_t>(key, &Json::is_number_unsigned, "not a number from 0 on"); }
  double Real(const char* key) { return Value<double>(key, &Json::is_number, "not a number"); }
  void Edges(const char* key, google::protobuf::RepeatedPtrField<v1::PlanEdge>* edges) {
    const Json* const list = Find(key);
    if (list == nullptr || !list->is_array()) return Fail(key, "not a list");
    for (const Json& pair : *list) {
      if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
        return Fail(key, "not pairs [from, to] of nodes' names");
      }
      v1::PlanEdge* const edge = edges->Add();
      edge->set_from(pair[0].get<std::string>());
      edge->set_to(pair[1].get<std::string>());
    }
  }

 private:
  template <typename T>
  T Value(const char* key, bool (Json::*is_type)() const noexcept, const char* why) {
    const Json* const value = Find(key);
    if (value == nullptr) return T();
    if (!(value->*is_type)()) return Fail(key, why), T();
    return value->get<T>();
  }

  const Json* Find(const char* key) const {
    const auto it = json_.find(key);
    return it == json_.end() ? nullptr : &*it;
  }
  void Fail(const char* key, const char* why) {
    status_.Update(absl::InvalidArgumentError(absl::StrCat(AbslView(filename_), ": ", key, ": ", why)));
  }

  const Json& json_;
  const std::string_view filename_;
  absl::Status status_;
};

std::vector<Edge> EdgesOf(const v1::PlanRow& plan) {
  std::vector<Edge> edges;
  for (const v1::PlanEdge& edge : plan.edges()) edges.emplace_back(edge.from(), edge.to());
  return edges;
}

// Returns the edges of `list` that `other` lacks. Each edge of `other` cancels one equal edge of `list`, since a
// symmetric schedule may have an edge several times.
std::vector<Edge> Beyond(const std::vector<Edge>& list, const std::vector<Edge>& other) {
  std::map<Edge, size_t> left;
  for (const Edge& edge : other) ++left[edge];
  std::vector<Edge> beyond;
  for (const Edge& edge : list) {
    const auto it = left.find(edge);
    if (it == left.end() || it->second == 0) {
      beyond.push_back(edge);
    } else {
      --it->second;
    }
  }
  return beyond;
}

std::map<std::string, std::vector<std::string>> ServedBy(const std::vector<Edge>& edges) {
  std::map<std::string, std::vector<std::string>> served;
  for (const auto& [from, to] : edges) served[from].push_back(to);
  return served;
}

Json ToJson(const std::vector<Edge>& edges) {
  Json json = Json::array();
  for (const auto& [from, to] : edges) json.push_back(Json::array({from, to}));
  return json;
}

std::string Microseconds(double us) { return absl::StrFormat("%.3f us", us); }

}  // namespace

absl::StatusOr<v1::PlanRow> ParsePlanRow(std::string_view text, std::string_view filename) {
  if (text.size() > kPlanFileBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(AbslView(filename), ": too long (bytes=", text.size(), ", limit=", kPlanFileBytesMax, ")"));
  }
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(AbslView(filename), ": not a plan: not a JSON object"));
  }
  RowReader reader(json, filename);
  v1::PlanRow plan;
  plan.set_id(reader.Number("id"));
  plan.set_team(reader.Number("team"));
  plan.set_collective(reader.Text("collective"));
  plan.set_bytes_min(reader.Number("bytes_min"));
  plan.set_bytes_max(reader.Number("bytes_max"));
  plan.set_algorithm(reader.Text("algorithm"));
  plan.set_segment_bytes(static_cast<uint32_t>(std::min<uint64_t>(reader.Number("segment_bytes"), 0xffffffff)));
  plan.set_predicted_us(reader.Real("predicted_us"));
  reader.Edges("edges", plan.mutable_edges());
  RETURN_IF_ERROR(reader.status());
  return plan;
}

PlanDifference ComparePlans(const v1::PlanRow& before, const v1::PlanRow& after) {
  PlanDifference difference;
  const auto compare = [&](const char* key, const std::string& a, const std::string& b) {
    if (a != b) difference.fields.push_back({key, a, b});
  };
  compare("collective", before.collective(), after.collective());
  compare("bytes", SizeClassOf(before.bytes_min(), before.bytes_max()),
          SizeClassOf(after.bytes_min(), after.bytes_max()));
  compare("algorithm", before.algorithm(), after.algorithm());
  compare("segment", absl::StrCat(before.segment_bytes()), absl::StrCat(after.segment_bytes()));
  difference.predicted_us_before = before.predicted_us();
  difference.predicted_us_after = after.predicted_us();
  const std::vector<Edge> old_edges = EdgesOf(before), new_edges = EdgesOf(after);
  difference.removed = Beyond(old_edges, new_edges);
  difference.added = Beyond(new_edges, old_edges);
  const auto old_served = ServedBy(old_edges);
  for (const auto& [node, served] : ServedBy(new_edges)) {
    const auto it = old_served.find(node);
    if (it == old_served.end() || it->second == served) continue;
    std::vector<std::string> a = it->second, b = served;
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    if (a == b) difference.reordered.push_back(node);
  }
  return difference;
}

std::string RenderPlanDifference(const PlanDifference& difference, const Style& style) {
  if (style.format == Format::kJson) {
    Json fields = Json::array();
    for (const auto& field : difference.fields) {
      fields.push_back({{"key", field.key}, {"before", field.before}, {"after", field.after}});
    }
    return DumpJson({{"same", difference.fields.empty() && difference.removed.empty() && difference.added.empty() &&
                                  difference.reordered.empty()},
                     {"predicted_us_before", difference.predicted_us_before},
                     {"predicted_us_after", difference.predicted_us_after},
                     {"fields", std::move(fields)},
                     {"edges_removed", ToJson(difference.removed)},
                     {"edges_added", ToJson(difference.added)},
                     {"reordered", difference.reordered}});
  }
  std::string out;
  for (const auto& field : difference.fields) {
    absl::StrAppend(&out, "~ ", field.key, ": ", field.before, " -> ", field.after, "\n");
  }
  const double before = difference.predicted_us_before, after = difference.predicted_us_after;
  if (before != after) {
    absl::StrAppend(&out, "~ predicted: ", Microseconds(before), " -> ", Microseconds(after),
                    before > 0 ? absl::StrFormat(" (%+.1f %%)", (after / before - 1) * 100) : "", "\n");
  }
  for (const auto& [from, to] : difference.removed) absl::StrAppend(&out, "- ", from, " > ", to, "\n");
  for (const auto& [from, to] : difference.added) absl::StrAppend(&out, "+ ", from, " > ", to, "\n");
  for (const std::string& node : difference.reordered) {
    absl::StrAppend(&out, "~ ", node, ": serves the same nodes in another order\n");
  }
  if (out.empty()) out = "no difference\n";
  return cli::CutLines(cli::Printable(out, true), style.width);
}

}  // namespace copse::ctl
