// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/topo_verbs.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hostlist.h"
#include "base/status_macros.h"
#include "cli/ctl/table.h"

namespace copse::ctl {
namespace {

absl::Status Show(const Arguments&, VerbContext& context) {
  ASSIGN_OR_RETURN(const v1::ShowTopologyReply reply, context.client->ShowTopology({}));
  context.out = RenderTopology(reply, context.style);
  return absl::OkStatus();
}

Json ToJson(const v1::ShowTopologyReply& reply) {
  Json switches = Json::array(), nodes = Json::array(), links = Json::array();
  for (const v1::SwitchRow& row : reply.switches()) {
    switches.push_back({{"name", row.name()},
                        {"parent", row.parent()},
                        {"latency_ns", row.latency_ns()},
                        {"bandwidth_bps", row.bandwidth_bps()}});
  }
  for (const v1::TopologyNodeRow& row : reply.nodes()) {
    nodes.push_back({{"name", row.name()},
                     {"switch", row.switch_()},
                     {"latency_ns", row.latency_ns()},
                     {"bandwidth_bps", row.bandwidth_bps()},
                     {"overhead_ns", row.overhead_ns()},
                     {"registered", row.registered()}});
  }
  for (const v1::LinkRow& row : reply.links()) {
    links.push_back({{"from", row.from()},
                     {"to", row.to()},
                     {"latency_ns", row.latency_ns()},
                     {"bandwidth_bps", row.bandwidth_bps()}});
  }
  return {{"switches", std::move(switches)}, {"nodes", std::move(nodes)}, {"links", std::move(links)}};
}

std::string Link(double latency_ns, double bandwidth_bps) {
  return absl::StrCat(FormatNanoseconds(latency_ns), ", ", FormatBitsPerSecond(bandwidth_bps));
}

// The topology as lines of a tree. Nodes of one switch that stand next to each other and have the
// same figures share a line.
class Tree {
 public:
  explicit Tree(const v1::ShowTopologyReply& reply) {
    for (const v1::SwitchRow& row : reply.switches()) {
      children_[row.parent()].push_back({&row, {}});
      const bool is_root = row.parent().empty();
      children_[row.parent()].back().text =
          is_root ? row.name() : absl::StrCat(row.name(), "  ", Link(row.latency_ns(), row.bandwidth_bps()));
    }
    for (int first = 0; first < reply.nodes_size();) {
      int last = first;
      std::vector<std::string> names = {reply.nodes(first).name()};
      const std::string figures = Figures(reply.nodes(first));
      while (last + 1 < reply.nodes_size() && reply.nodes(last + 1).switch_() == reply.nodes(first).switch_() &&
             Figures(reply.nodes(last + 1)) == figures) {
        names.push_back(reply.nodes(++last).name());
      }
      children_[reply.nodes(first).switch_()].push_back(
          {nullptr, absl::StrCat(CompressHostlist(names), "  ", figures)});
      first = last + 1;
    }
  }

  // Not recursive: the tree's depth is the server's to choose.
  std::string Draw() {
    struct Line {
      const Item* item;
      std::string prefix;
      bool is_root, is_last;
    };
    std::vector<Line> stack;
    const auto push_children = [&](const std::string& parent, const std::string& prefix) {
      const auto it = children_.find(parent);
      if (it == children_.end()) return;
      bool is_last = true;
      for (auto item = it->second.rbegin(); item != it->second.rend(); ++item) {
        stack.push_back({&*item, prefix, parent.empty(), is_last});
        is_last = false;
      }
    };
    push_children("", "");
    std::string out;
    while (!stack.empty()) {
      const Line line = std::move(stack.back());
      stack.pop_back();
      const char* branch = line.is_root ? "" : line.is_last ? "└─ " : "├─ ";
      absl::StrAppend(&out, line.prefix, branch, Printable(line.item->text), "\n");
      if (line.item->row == nullptr || line.item->drawn) continue;
      line.item->drawn = true;  // A topology with a cycle would never end.
      const char* bar = line.is_root ? "" : line.is_last ? "   " : "│  ";
      push_children(line.item->row->name(), absl::StrCat(line.prefix, bar));
    }
    return out;
  }

 private:
  struct Item {
    const v1::SwitchRow* row;  // null: nodes
    std::string text;
    mutable bool drawn = false;
  };

  static std::string Figures(const v1::TopologyNodeRow& row) {
    return absl::StrCat(Link(row.latency_ns(), row.bandwidth_bps()), ", overhead ",
                        FormatNanoseconds(row.overhead_ns()), row.registered() ? "" : ", not registered");
  }

  std::map<std::string, std::vector<Item>> children_;  // by the switch above; "": none
};

}  // namespace

std::string RenderTopology(const v1::ShowTopologyReply& reply, const Style& style) {
  if (style.format == Format::kJson) return DumpJson(ToJson(reply));
  return CutLines(Tree(reply).Draw(), style.width);
}

std::vector<Verb> TopoVerbs() {
  return {{.family = "topo",
           .name = "show",
           .help = "switches, nodes and links, with latencies and bandwidths",
           .run = Show}};
}

}  // namespace copse::ctl
