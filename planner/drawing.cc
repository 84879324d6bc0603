// SPDX-License-Identifier: Apache-2.0
#include "planner/drawing.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/string_view.h"
#include "planner/algorithms/tree.h"
#include "planner/structure.h"

namespace copse::planner {
namespace {

std::string Quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

}  // namespace

std::string FormatMicroseconds(int64_t ns) { return absl::StrFormat("%d.%03d us", ns / 1000, ns % 1000); }

Drawing::Drawing(const schedule::Plan& plan, const schedule::TeamShape& shape, const TeamCosts& costs,
                 const CallArguments& arguments, const Prediction& prediction)
    : plan_(plan),
      shape_(shape),
      costs_(costs),
      arguments_(arguments),
      prediction_(prediction),
      root_(plan.root_node.value()) {
  if (HasRoot(arguments.collective)) root_ = shape_.NodeOf(Rank(arguments.root)).value();
  for (const PathStep& step : prediction.critical_path) {
    critical_nodes_.insert(step.node.value());
    if (step.what == "transfer") critical_edges_.emplace(step.node.value(), step.peer->value());
  }
}

std::string Drawing::NodeLabel(uint32_t node) const {
  const auto ranks = shape_.RanksOf(NodeIndex(node));
  std::string text = costs_.NameOf(node);
  if (ranks.size() > kDrawnRanksMax) {
    int64_t first = prediction_.completion_ns[ranks[0].value()], last = first;
    for (const Rank rank : ranks) {
      first = std::min(first, prediction_.completion_ns[rank.value()]);
      last = std::max(last, prediction_.completion_ns[rank.value()]);
    }
    absl::StrAppend(&text, "  ", ranks.size(), " ranks, ", ranks.front().value(), " to ", ranks.back().value(), ": ",
                    FormatMicroseconds(first), " to ", FormatMicroseconds(last));
    return text;
  }
  for (size_t i = 0; i < ranks.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "  rank " : ", rank ", ranks[i].value(), ": ",
                    FormatMicroseconds(prediction_.completion_ns[ranks[i].value()]));
  }
  return text;
}

template <typename Visit>
void Drawing::ForSubtree(uint32_t node, const std::vector<uint32_t>& parent, Visit visit) const {
  std::vector<uint32_t> stack = {node};
  while (!stack.empty()) {
    const uint32_t next = stack.back();
    stack.pop_back();
    visit(next);
    for (const uint32_t neighbor : plan_.neighbors[next]) {
      if (neighbor != parent[next]) stack.push_back(neighbor);
    }
  }
}

bool Drawing::IsCriticalBelow(uint32_t node, const std::vector<uint32_t>& parent) const {
  bool is_critical = false;
  ForSubtree(node, parent, [&](uint32_t below) { is_critical |= critical_nodes_.count(below) > 0; });
  return is_critical;
}

std::string Drawing::FoldedLabel(const std::vector<uint32_t>& subtrees, const std::vector<uint32_t>& parent) const {
  uint32_t nodes = 0, last = 0;
  int64_t first_ns = prediction_.total_ns, last_ns = 0;
  for (const uint32_t subtree : subtrees) {
    ForSubtree(subtree, parent, [&](uint32_t node) {
      ++nodes;
      last = node;
      for (const Rank rank : shape_.RanksOf(NodeIndex(node))) {
        first_ns = std::min(first_ns, prediction_.completion_ns[rank.value()]);
        last_ns = std::max(last_ns, prediction_.completion_ns[rank.value()]);
      }
    });
  }
  return absl::StrCat(costs_.NameOf(subtrees.front()), " … ", costs_.NameOf(last), "  ", nodes, " nodes in ",
                      subtrees.size(),
                      subtrees.size() == 1 ? " subtree: " : " subtrees: ", FormatMicroseconds(first_ns), " to ",
                      FormatMicroseconds(last_ns));
}

std::vector<Drawing::TreeLine> Drawing::LinesBelow(uint32_t node, const std::vector<uint32_t>& parent) const {
  std::vector<TreeLine> lines;
  for (const uint32_t child : plan_.neighbors[node]) {
    if (child == parent[node]) continue;
    const bool is_folded = plan_.node_count > kUnfoldedNodesMax && !IsCriticalBelow(child, parent);
    if (is_folded && !lines.empty() && lines.back().is_folded) {
      lines.back().nodes.push_back(child);
    } else {
      lines.push_back({.nodes = {child}, .prefix = "", .is_last = false, .is_folded = is_folded});
    }
  }
  if (!lines.empty()) lines.back().is_last = true;
  for (TreeLine& line : lines) {
    // A leaf alone needs no fold.
    if (line.nodes.size() == 1 && plan_.neighbors[line.nodes[0]].size() == 1) line.is_folded = false;
  }
  return lines;
}

void Drawing::AppendTree(std::string& text) const {
  const std::vector<uint32_t> parent = DirectFrom(plan_.neighbors, root_);
  std::vector<TreeLine> stack = {{.nodes = {root_}, .prefix = ""}};
  uint32_t drawn = 0;
  for (uint32_t lines = 0; !stack.empty(); ++lines) {
    if (lines == kDrawnLinesMax) {
      absl::StrAppend(&text, "… and ", plan_.node_count - drawn, " more nodes\n");
      return;
    }
    const TreeLine line = std::move(stack.back());
    stack.pop_back();
    const uint32_t node = line.nodes[0];
    const bool is_root = node == root_;
    absl::StrAppend(&text, line.prefix, is_root ? "" : line.is_last ? "└─ " : "├─ ");
    if (line.is_folded) {
      for (const uint32_t subtree : line.nodes) ForSubtree(subtree, parent, [&](uint32_t) { ++drawn; });
      absl::StrAppend(&text, FoldedLabel(line.nodes, parent), "\n");
      continue;
    }
    ++drawn;
    absl::StrAppend(&text, NodeLabel(node), critical_nodes_.count(node) > 0 ? " *\n" : "\n");
    const std::string prefix = is_root ? "" : line.prefix + (line.is_last ? "   " : "│  ");
    std::vector<TreeLine> below = LinesBelow(node, parent);
    for (auto child = below.rbegin(); child != below.rend(); ++child) {
      child->prefix = prefix;
      stack.push_back(std::move(*child));
    }
  }
}

void Drawing::AppendExchange(std::string& text) const {
  for (uint32_t v = 0; v < plan_.node_count; ++v) {
    if (v == kDrawnLinesMax) {
      absl::StrAppend(&text, "… and ", plan_.node_count - v, " more nodes\n");
      return;
    }
    absl::StrAppend(&text, NodeLabel(v), critical_nodes_.count(v) > 0 ? " *\n" : "\n");
    for (const schedule::ExchangeStep& step : plan_.steps[v]) {
      absl::StrAppend(&text, &step == &plan_.steps[v].back() ? "└─ " : "├─ ", "round ", step.round);
      if (step.send_to != schedule::kNobody) absl::StrAppend(&text, ", to ", costs_.NameOf(step.send_to));
      if (step.receive_from != schedule::kNobody) absl::StrAppend(&text, ", from ", costs_.NameOf(step.receive_from));
      absl::StrAppend(&text, "\n");
    }
  }
}

void Drawing::AppendCycle(std::string& text) const {
  const absl::Span<const uint32_t> distances = schedule::DistancesOf(plan_);
  absl::StrAppend(&text, "each node sends to those that follow it by ");
  if (distances.size() > kDrawnRanksMax) {
    absl::StrAppend(&text, distances.front(), " to ", distances.back());
  } else {
    absl::StrAppend(&text, distances.empty() ? "nothing" : absl::StrJoin(distances, ", "));
  }
  absl::StrAppend(&text, " in this cycle:\n");
  for (uint32_t p = 0; p < plan_.node_count; ++p) {
    if (p == kDrawnLinesMax) {
      absl::StrAppend(&text, "… and ", plan_.node_count - p, " more nodes\n");
      return;
    }
    const uint32_t v = schedule::CycleOf(plan_)[p];
    absl::StrAppend(&text, NodeLabel(v), critical_nodes_.count(v) > 0 ? " *\n" : "\n");
  }
}

void Drawing::AppendCriticalPath(std::string& text) const {
  const auto& path = prediction_.critical_path;
  if (path.empty()) return;
  absl::StrAppend(&text, "critical path:\n");
  for (size_t i = 0; i < path.size(); ++i) {
    if (i == kDrawnLinesMax) {
      absl::StrAppend(&text, "  … and ", path.size() - i, " more steps\n");
      return;
    }
    const PathStep& step = path[i];
    absl::StrAppend(&text, "  ", FormatMicroseconds(step.start_ns), " to ", FormatMicroseconds(step.end_ns), "  ",
                    costs_.NameOf(step.node.value()));
    if (step.rank.has_value()) absl::StrAppend(&text, " rank ", step.rank->value());
    absl::StrAppend(&text, ": ", step.what);
    if (step.peer.has_value()) {
      absl::StrAppend(&text, step.what == "receive" ? " from " : " to ", costs_.NameOf(step.peer->value()));
    }
    absl::StrAppend(&text, "\n");
  }
}

std::string Drawing::Text() const {
  std::string text =
      absl::StrCat("plan ", plan_.id.value(), ": ", AbslView(CollectiveName(plan_.collective)), ", ", plan_.bytes_min);
  // The last class has no upper end but the limit of calls.
  if (plan_.bytes_max >= schedule::kCallBytesMax) {
    absl::StrAppend(&text, " B and more, ", plan_.algorithm);
  } else {
    absl::StrAppend(&text, " to ", plan_.bytes_max, " B, ", plan_.algorithm);
  }
  if (plan_.segment_bytes > 0) absl::StrAppend(&text, ", segments of ", plan_.segment_bytes, " B");
  absl::StrAppend(&text, "\ncall: ", DescribeArguments(arguments_), "; predicted ",
                  FormatMicroseconds(prediction_.total_ns), "\n");
  if (plan_.kind == schedule::PlanKind::kTree) {
    AppendTree(text);
  } else if (plan_.kind == schedule::PlanKind::kExchange) {
    AppendExchange(text);
  } else {
    AppendCycle(text);
  }
  AppendCriticalPath(text);
  return text;
}

std::vector<Rank> Drawing::TimelineRanks() const {
  std::vector<Rank> ranks;
  std::map<uint32_t, uint32_t> of_node;
  for (uint32_t r = 0; r < shape_.size() && ranks.size() < kDrawnLinesMax; ++r) {
    const uint32_t node = shape_.NodeOf(Rank(r)).value();
    const bool is_folded = shape_.size() > kUnfoldedNodesMax;
    if (is_folded && (critical_nodes_.count(node) == 0 || ++of_node[node] > kDrawnRanksMax)) continue;
    ranks.push_back(Rank(r));
  }
  return ranks;
}

std::string Drawing::Timeline() const {
  const int64_t total = std::max<int64_t>(prediction_.total_ns, 1);
  const std::vector<Rank> ranks = TimelineRanks();
  std::map<Rank, std::string> bars;
  for (const Rank rank : ranks) bars.emplace(rank, std::string(kTimelineColumns, '.'));
  const auto letter = [](const PathStep& step) {
    if (step.what == "receive" || step.what == "send" || step.what == "wake" || step.what == "post")
      return step.what[0];
    if (step.what == "reduce" || step.what == "copy") return '+';
    if (step.what == "pick up") return 'u';
    return step.what[0] == 'd' ? 'd' : 'a';
  };
  for (const PathStep& step : prediction_.timeline) {
    const auto column = [&](int64_t ns) {
      return static_cast<size_t>(static_cast<double>(ns) / static_cast<double>(total) * (kTimelineColumns - 1));
    };
    for (const Rank rank : shape_.RanksOf(step.node)) {
      const auto bar = bars.find(rank);
      if (bar == bars.end() || (step.rank.has_value() && *step.rank != rank)) continue;
      for (size_t c = column(step.start_ns); c <= std::min<size_t>(column(step.end_ns), kTimelineColumns - 1); ++c) {
        bar->second[c] = letter(step);
      }
    }
  }
  std::string text = "  p post, w wake, a take and arm, s send, r receive, + reduce and copy, d deliver, u pick up\n";
  for (const auto& [rank, bar] : bars) {
    absl::StrAppend(&text, "  |", bar, "| rank ", rank.value(), " on ", costs_.NameOf(shape_.NodeOf(rank).value()),
                    "\n");
  }
  if (ranks.size() < shape_.size()) absl::StrAppend(&text, "  … and ", shape_.size() - ranks.size(), " more ranks\n");
  return text;
}

std::string Drawing::Dot() const {
  std::string dot = absl::StrCat("digraph plan {\n  label=",
                                 Quoted(absl::StrCat(AbslView(CollectiveName(plan_.collective)), ", ", plan_.algorithm,
                                                     ", ", FormatMicroseconds(prediction_.total_ns))),
                                 ";\n  node [shape=box];\n");
  for (uint32_t v = 0; v < plan_.node_count; ++v) {
    absl::StrAppend(&dot, "  n", v, " [label=", Quoted(NodeLabel(v)),
                    critical_nodes_.count(v) > 0 ? ", color=red];\n" : "];\n");
  }
  schedule::Plan directed = plan_;
  directed.root_node = NodeIndex(root_);
  for (const auto& [from, to] : PlanEdges(directed)) {
    // A tree's edge is critical if the path uses it in either direction.
    const bool critical = critical_edges_.count({from, to}) > 0 ||
                          (plan_.kind == schedule::PlanKind::kTree && critical_edges_.count({to, from}) > 0);
    absl::StrAppend(&dot, "  n", from, " -> n", to, critical ? " [color=red];\n" : ";\n");
  }
  return dot + "}\n";
}

}  // namespace copse::planner
