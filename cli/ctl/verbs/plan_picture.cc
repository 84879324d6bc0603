// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/plan_picture.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/svg.h"
#include "cli/client/style.h"
#include "cli/ctl/verbs/plan_size.h"

namespace copse::ctl {
namespace {

constexpr double kRow = 20;
constexpr double kIndent = 18;
constexpr double kTop = 64;
constexpr double kTimeWidth = 560;
constexpr double kCharacter = 7.2;  // approximate width of the font
constexpr const char* kEdge = "#8c959f";
constexpr const char* kBar = "#b6d4f0";
constexpr const char* kCritical = "#cf222e";

// A Step is an interval of the critical path in which one node is busy, or a message is in transit.
struct Step {
  std::string node, what;
  double start_us = 0, end_us = 0;
};

struct Row {
  std::string node;
  uint32_t depth = 0;
  size_t parent = 0;  // index of a row; its own index: none
  size_t hidden = 0;  // children that are left out
};

double NumberOr(const Json& object, const char* key, double fallback) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number() ? it->get<double>() : fallback;
}
std::string TextOr(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

class Picture {
 public:
  Picture(const v1::ExplainPlanReply& explanation, const v1::TeamRow& team) : plan_(explanation.plan()) {
    ReadTimes(explanation.json(), team);
    FindRows(team);
    for (size_t i = 0; i < rows_.size(); ++i) row_of_[rows_[i].node] = i;
  }

  std::string Draw() {
    const double width = TimeLeft() + kTimeWidth + 100;
    const double height = kTop + kRow * static_cast<double>(rows_.size()) + 30;
    Svg svg(width, height, Title());
    DrawAxis(&svg, height);
    DrawBars(&svg);
    DrawTree(&svg);
    DrawPath(&svg);
    return std::move(svg).Finish();
  }

 private:
  void ReadTimes(const std::string& text, const v1::TeamRow& team) {
    const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) return;
    std::map<double, std::string> node_of_rank;  // by rank, as JSON's numbers, which may be none
    for (const v1::TeamMember& member : team.members()) node_of_rank[member.rank()] = member.node();
    if (const auto ranks = json.find("ranks"); ranks != json.end() && ranks->is_array()) {
      for (const Json& rank : *ranks) {
        if (!rank.is_object()) continue;
        const auto node = node_of_rank.find(NumberOr(rank, "rank", -1));
        if (node == node_of_rank.end()) continue;
        double& done = done_us_[node->second];
        done = std::max(done, NumberOr(rank, "us", 0));
      }
    }
    if (const auto path = json.find("critical_path"); path != json.end() && path->is_array()) {
      for (const Json& step : *path) {
        if (!step.is_object()) continue;
        path_.push_back(
            {TextOr(step, "node"), TextOr(step, "what"), NumberOr(step, "start_us", 0), NumberOr(step, "end_us", 0)});
      }
    }
    for (const auto& [node, us] : done_us_) last_us_ = std::max(last_us_, us);
    for (const Step& step : path_) last_us_ = std::max(last_us_, step.end_us);
    last_us_ = std::max(last_us_, plan_.predicted_us());
  }

  // Makes one row for each node up to kPictureNodesMax: depth first from the root if the edges form a tree, otherwise
  // sorted by name.
  void FindRows(const v1::TeamRow& team) {
    std::map<std::string, std::vector<std::string>> children;
    std::set<std::string> nodes, receivers;
    bool is_tree = true;
    for (const v1::PlanEdge& edge : plan_.edges()) {
      children[edge.from()].push_back(edge.to());
      is_tree &= receivers.insert(edge.to()).second;
      nodes.insert({edge.from(), edge.to()});
    }
    for (const v1::TeamMember& member : team.members()) nodes.insert(member.node());
    std::string root;
    size_t roots = 0;
    for (const std::string& node : nodes) {
      if (receivers.count(node) > 0) continue;
      root = node;
      ++roots;
    }
    if (!is_tree || roots != 1) {
      for (const std::string& node : nodes) {
        if (rows_.size() == kPictureNodesMax) {
          left_out_ = nodes.size() - rows_.size();
          break;
        }
        rows_.push_back({.node = node, .parent = rows_.size()});
      }
      return;
    }
    // A breadth-first walk selects the rows, a depth-first one orders them.
    std::set<std::string> shown = {root};
    std::vector<std::string> queue = {root};
    for (size_t i = 0; i < queue.size() && queue.size() < kPictureNodesMax; ++i) {
      const auto it = children.find(queue[i]);
      if (it == children.end()) continue;
      for (const std::string& child : it->second) {
        if (queue.size() == kPictureNodesMax) break;
        if (shown.insert(child).second) queue.push_back(child);
      }
    }
    left_out_ = nodes.size() - shown.size();
    struct Pending {
      std::string node;
      uint32_t depth;
      size_t parent;
    };
    for (std::vector<Pending> stack = {{root, 0, 0}}; !stack.empty();) {
      const Pending next = std::move(stack.back());
      stack.pop_back();
      const size_t row = rows_.size();
      rows_.push_back({.node = next.node, .depth = next.depth, .parent = next.depth == 0 ? row : next.parent});
      const auto it = children.find(next.node);
      if (it == children.end()) continue;
      for (auto child = it->second.rbegin(); child != it->second.rend(); ++child) {
        if (shown.count(*child) == 0) {
          ++rows_[row].hidden;
        } else {
          stack.push_back({*child, next.depth + 1, row});
        }
      }
    }
  }

  std::string Title() const {
    std::string title =
        absl::StrFormat("plan %d: %s, %s, %s bytes, %.1f us", plan_.id(), plan_.collective(), plan_.algorithm(),
                        SizeClassOf(plan_.bytes_min(), plan_.bytes_max()), plan_.predicted_us());
    if (left_out_ > 0) absl::StrAppend(&title, "; ", left_out_, " nodes are left out");
    return title;
  }

  double YOf(size_t row) const { return kTop + kRow * (static_cast<double>(row) + 0.5); }
  double XOfNode(size_t row) const { return 24 + kIndent * rows_[row].depth; }
  double TimeLeft() const {
    double left = 120;
    for (size_t i = 0; i < rows_.size(); ++i) {
      left = std::max(left, XOfNode(i) + 12 + kCharacter * static_cast<double>(Label(rows_[i]).size()));
    }
    return left + 16;
  }
  double XOfTime(double us) const { return TimeLeft() + (last_us_ > 0 ? us / last_us_ : 0) * kTimeWidth; }
  static std::string Label(const Row& row) {
    return row.hidden == 0 ? row.node : absl::StrCat(row.node, " (and ", row.hidden, " more below)");
  }

  void DrawAxis(Svg* svg, double height) const {
    if (!(last_us_ > 0)) return;
    // The distance of marks is 1, 2 or 5 times a power of ten, which gives five to ten intervals.
    double step = std::pow(10, std::floor(std::log10(last_us_)));
    if (last_us_ / step < 2) {
      step /= 5;
    } else if (last_us_ / step < 5) {
      step /= 2;
    }
    for (int i = 0; i * step <= last_us_; ++i) {
      const double x = XOfTime(i * step);
      svg->Line({x, kTop - 6}, {x, height - 24});
      svg->Text(x, kTop - 12, absl::StrFormat("%g us", i * step),
                {.anchor = Svg::Anchor::kMiddle, .color = kSvgGray, .size = 11});
    }
    svg->Text(TimeLeft(), height - 8, "bar: until the node's slowest rank is done; red: the critical path",
              {.color = kSvgGray, .size = 11});
  }

  void DrawBars(Svg* svg) const {
    for (size_t i = 0; i < rows_.size(); ++i) {
      const auto done = done_us_.find(rows_[i].node);
      if (done == done_us_.end()) continue;
      const double end = XOfTime(done->second);
      svg->Rect({TimeLeft(), YOf(i) - 6}, end - TimeLeft(), 12, kBar);
      svg->Text(XOfTime(last_us_) + 8, YOf(i) + 4, absl::StrFormat("%.1f us", done->second),
                {.color = kSvgInk, .size = 11});
    }
  }

  void DrawTree(Svg* svg) const {
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].parent != i) {
        const double x = XOfNode(rows_[i].parent);
        svg->Polyline({{x, YOf(rows_[i].parent)}, {x, YOf(i)}, {XOfNode(i), YOf(i)}}, kEdge, 1);
      }
    }
    const std::set<std::string> critical = CriticalNodes();
    for (size_t i = 0; i < rows_.size(); ++i) {
      const bool is_critical = critical.count(rows_[i].node) > 0;
      svg->Circle({XOfNode(i), YOf(i)}, 4, is_critical ? kCritical : kSvgInk);
      svg->Text(XOfNode(i) + 9, YOf(i) + 4, Label(rows_[i]), {.color = is_critical ? kCritical : kSvgInk});
    }
  }

  std::set<std::string> CriticalNodes() const {
    std::set<std::string> nodes;
    for (const Step& step : path_) nodes.insert(step.node);
    return nodes;
  }

  // Draws each step in its node's row, transfers thinner, and a line where the path moves to another node.
  void DrawPath(Svg* svg) const {
    const Step* last = nullptr;
    for (const Step& step : path_) {
      const auto row = row_of_.find(step.node);
      if (row == row_of_.end()) continue;
      const double y = YOf(row->second);
      if (last != nullptr && last->node != step.node) {
        svg->Line({XOfTime(last->end_us), YOf(row_of_.at(last->node))}, {XOfTime(step.start_us), y}, kCritical, 1);
      }
      svg->Line({XOfTime(step.start_us), y}, {XOfTime(step.end_us), y}, kCritical, step.what == "transfer" ? 1.5 : 4);
      last = &step;
    }
  }

  const v1::PlanRow& plan_;
  std::map<std::string, double> done_us_;  // by node
  std::vector<Step> path_;
  double last_us_ = 0;
  std::vector<Row> rows_;
  std::map<std::string, size_t> row_of_;
  size_t left_out_ = 0;
};

}  // namespace

std::string DrawPlan(const v1::ExplainPlanReply& explanation, const v1::TeamRow& team) {
  return Picture(explanation, team).Draw();
}

}  // namespace copse::ctl
