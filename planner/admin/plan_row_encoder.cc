// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/plan_row_encoder.h"

#include <algorithm>

#include "planner/admin/admin_rows.h"
#include "planner/structure.h"
#include "proto/copse/v1/admin.pb.h"
#include "rpc/text.h"

namespace copse::planner {
namespace {

// The wire type of strings and messages.
constexpr int kLengthDelimited = 2;
constexpr size_t kNumberBytesMax = 11;  // a tag of one byte, and the longest number

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

void AppendTag(int field, std::string* out) { AppendVarint(static_cast<uint32_t>(field) << 3 | kLengthDelimited, out); }

void AppendNumber(int field, uint64_t value, std::string* out) {
  AppendVarint(static_cast<uint32_t>(field) << 3, out);
  AppendVarint(value, out);
}

// Returns the row of a plan that has no ids.
std::string CommonRow(const schedule::Plan& plan) {
  const schedule::TeamLayout nobody;
  v1::PlanRow row;
  FillPlan({.layout = &nobody}, plan, {}, &row);
  return row.SerializeAsString();
}

// Returns the nodes' names as encoded fields `field`.
std::vector<std::string> EncodedNames(const std::vector<schedule::TeamNode>& nodes, int field) {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const schedule::TeamNode& node : nodes) {
    const std::string name = rpc::ToUtf8(node.name);
    std::string& out = names.emplace_back();
    AppendTag(field, &out);
    AppendVarint(static_cast<uint32_t>(name.size()), &out);
    out += name;
  }
  return names;
}

size_t LongestOf(const std::vector<std::string>& texts) {
  size_t longest = 0;
  for (const std::string& text : texts) longest = std::max(longest, text.size());
  return longest;
}

}  // namespace

const PlanShape* PlanRowEncoder::ShapeOf(const std::string& encoded) {
  if (encoded.size() < schedule::kEncodedIdEnd) return nullptr;
  const std::string_view content = std::string_view(encoded).substr(schedule::kEncodedIdEnd);
  if (const auto known = shapes_.find(content); known != shapes_.end()) return &known->second;
  absl::StatusOr<schedule::Plan> plan = schedule::DecodePlan(encoded);
  if (!plan.ok()) return nullptr;
  if (kept_bytes_ + content.size() > kKeptBytesMax) {
    shapes_.clear();
    kept_bytes_ = 0;
  }
  kept_bytes_ += content.size();
  PlanShape shape{.edges = PlanEdges(*plan)};
  shape.plan = *std::move(plan);
  shape.row = CommonRow(shape.plan);
  return &shapes_.emplace(content, std::move(shape)).first->second;
}

std::string PlanRowEncoder::RowOf(const coordinator::ListedPlan& listed, const PlanShape& shape) {
  std::string row;
  row.reserve(shape.row.size() + 3 * kNumberBytesMax);
  AppendNumber(v1::PlanRow::kIdFieldNumber, listed.id.value(), &row);
  AppendNumber(v1::PlanRow::kTeamFieldNumber, ShownTeam(*listed.layout).value(), &row);
  AppendNumber(v1::PlanRow::kEpochFieldNumber, listed.epoch.value(), &row);
  return row += shape.row;
}

// A message for each edge would cost more than all the rest of a list.
void PlanRowEncoder::AppendEdges(const schedule::TeamLayout& layout, const PlanShape& shape, std::string* row) {
  if (names_.team != layout.id) {
    names_ = {.team = layout.id,
              .from = EncodedNames(layout.nodes, v1::PlanEdge::kFromFieldNumber),
              .to = EncodedNames(layout.nodes, v1::PlanEdge::kToFieldNumber)};
    names_.edge_bytes_max = kNumberBytesMax + LongestOf(names_.from) + LongestOf(names_.to);
  }
  row->reserve(row->size() + shape.edges.size() * names_.edge_bytes_max);
  for (const auto& [a, b] : shape.edges) {
    const std::string &from = names_.from[a], &to = names_.to[b];
    AppendTag(v1::PlanRow::kEdgesFieldNumber, row);
    AppendVarint(static_cast<uint32_t>(from.size() + to.size()), row);
    row->append(from).append(to);
  }
}

}  // namespace copse::planner
