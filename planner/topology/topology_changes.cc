// SPDX-License-Identifier: Apache-2.0
#include "planner/topology/topology_changes.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/hostlist.h"

namespace copse::topology {
namespace {

constexpr char kNone[] = "none";

using Figures = std::vector<std::pair<const char*, std::string>>;

std::string Time(int64_t ns) { return absl::StrCat(ns, "ns"); }
std::string Rate(int64_t bytes_per_s) { return absl::StrCat(bytes_per_s, "B/s"); }

Figures FiguresOf(const Topology* topology, const Switch& item) {
  if (item.parent == kNoParent) return {{"parent", kNone}};
  return {{"parent", topology->switches()[item.parent].name},
          {"latency", Time(item.latency_ns)},
          {"bandwidth", Rate(item.bandwidth_bytes_per_s)}};
}

Figures FiguresOf(const Topology* topology, const Node& item) {
  Figures figures = {{"switch", topology->switches()[item.parent].name},
                     {"overhead", Time(item.overhead_ns)},
                     {"latency", Time(item.latency_ns)},
                     {"bandwidth", Rate(item.bandwidth_bytes_per_s)}};
  if (item.receive_overhead_ns > 0) figures.push_back({"receive_overhead", Time(item.receive_overhead_ns)});
  if (item.cores > 0) figures.push_back({"cores", absl::StrCat(item.cores)});
  if (!item.host.empty()) figures.push_back({"host", item.host});
  return figures;
}

std::string Text(const Figures& figures) {
  std::string text;
  for (const auto& [key, value] : figures) absl::StrAppend(&text, text.empty() ? "" : ", ", key, ": ", value);
  return text;
}

std::string ValueOf(const Figures& figures, std::string_view wanted) {
  for (const auto& [key, value] : figures) {
    if (key == wanted) return value;
  }
  return kNone;
}

// MergedChanges collects changes; a change that equals one of the last few except for the name is merged with that one.
class MergedChanges {
 public:
  void Add(const char* kind, const char* thing, const std::string& name, const std::string& key,
           const std::string& before, const std::string& after) {
    TopologyChange change{.kind = kind, .thing = thing, .names = {}, .key = key, .before = before, .after = after};
    // Several figures of each node may change, so that equal changes are not adjacent: the last few are compared.
    constexpr size_t kLookBack = 8;
    for (size_t i = changes_.size(); i-- > 0 && i + kLookBack >= changes_.size();) {
      if (changes_[i] != change) continue;
      names_[i].push_back(name);
      return;
    }
    changes_.push_back(std::move(change));
    names_.push_back({name});
  }

  std::vector<TopologyChange> Take() {
    for (size_t i = 0; i < changes_.size(); ++i) changes_[i].names = CompressHostlist(names_[i]);
    return std::move(changes_);
  }

 private:
  std::vector<TopologyChange> changes_;
  std::vector<std::vector<std::string>> names_;
};

template <typename Item>
void Compare(const Topology* before, const Topology* after, const std::vector<Item>& (Topology::*items)() const,
             const char* thing, MergedChanges& changes) {
  static const std::vector<Item>& kNothing = *new std::vector<Item>;
  const std::vector<Item>& old_items = before == nullptr ? kNothing : (before->*items)();
  const std::vector<Item>& new_items = after == nullptr ? kNothing : (after->*items)();
  absl::flat_hash_map<std::string, const Item*> old_by_name, new_by_name;
  for (const Item& item : old_items) old_by_name.emplace(item.name, &item);
  for (const Item& item : new_items) new_by_name.emplace(item.name, &item);
  for (const Item& item : old_items) {
    if (!new_by_name.contains(item.name)) {
      changes.Add("removed", thing, item.name, "", Text(FiguresOf(before, item)), "");
    }
  }
  for (const Item& item : new_items) {
    if (!old_by_name.contains(item.name)) {
      changes.Add("added", thing, item.name, "", "", Text(FiguresOf(after, item)));
    }
  }
  for (const Item& item : new_items) {
    const auto old_item = old_by_name.find(item.name);
    if (old_item == old_by_name.end()) continue;
    const Figures was = FiguresOf(before, *old_item->second), is = FiguresOf(after, item);
    if (was == is) continue;
    for (const auto& [key, value] : is) {
      if (const std::string old_value = ValueOf(was, key); old_value != value) {
        changes.Add("changed", thing, item.name, key, old_value, value);
      }
    }
    for (const auto& [key, value] : was) {
      const std::string_view name = key;
      const bool gone = std::none_of(is.begin(), is.end(), [&](const auto& figure) { return figure.first == name; });
      if (gone) changes.Add("changed", thing, item.name, key, value, kNone);
    }
  }
}

}  // namespace

std::vector<TopologyChange> CompareTopologies(const Topology* before, const Topology* after) {
  MergedChanges changes;
  Compare(before, after, &Topology::switches, "switch", changes);
  Compare(before, after, &Topology::nodes, "node", changes);
  std::vector<TopologyChange> all = changes.Take();
  for (const CostParameterField& field : CostParameterFields()) {
    const CostParameters defaults;
    const int64_t was = (before == nullptr ? defaults : before->costs()).*field.member;
    const int64_t is = (after == nullptr ? defaults : after->costs()).*field.member;
    if (was == is) continue;
    all.push_back({.kind = "changed",
                   .thing = "costs",
                   .names = {},
                   .key = field.name,
                   .before = absl::StrCat(was),
                   .after = absl::StrCat(is)});
  }
  return all;
}

bool ChangesBetween(const Topology& before, const Topology& after, absl::Span<const std::string> names) {
  if (before.costs() != after.costs()) return true;
  const auto common_switch = [&](const Topology& topology) {
    uint32_t common = topology.nodes()[*topology.FindNode(names[0])].parent;
    for (const std::string& name : names) {
      common = topology.CommonSwitch(common, topology.nodes()[*topology.FindNode(name)].parent);
    }
    return common;
  };
  if (names.empty()) return false;
  const uint32_t old_top = common_switch(before), new_top = common_switch(after);
  for (const std::string& name : names) {
    Node was = before.nodes()[*before.FindNode(name)], is = after.nodes()[*after.FindNode(name)];
    uint32_t a = was.parent, b = is.parent;
    was.parent = is.parent = 0;
    if (was != is) return true;
    while (a != old_top && b != new_top) {
      Switch old_switch = before.switches()[a], new_switch = after.switches()[b];
      a = old_switch.parent;
      b = new_switch.parent;
      old_switch.parent = new_switch.parent = 0;
      if (old_switch != new_switch) return true;
    }
    if (a != old_top || b != new_top) return true;
  }
  return false;
}

}  // namespace copse::topology
