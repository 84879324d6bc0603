// SPDX-License-Identifier: Apache-2.0
#include "planner/measure/sampling.h"

#include <algorithm>
#include <optional>
#include <set>

#include "planner/measure/link_paths.h"

namespace copse::measure {
namespace {

// A Standing is the node that represents a branch; nullopt: the branch has no participating node.
using Standing = std::optional<uint32_t>;

// Adds the pairs around each switch; with `backwards`, the last of its nodes and branches come first.
void AddPairs(const topology::Topology& tree, const std::vector<bool>& nodes, bool backwards,
              std::set<NodePair>* chosen) {
  const std::vector<topology::Switch>& switches = tree.switches();
  const size_t count = switches.size();
  std::vector<uint32_t> order(count);  // switches by depth, the root first
  for (uint32_t s = 0; s < count; ++s) order[s] = s;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return tree.DepthOf(a) < tree.DepthOf(b); });

  // branches[s] has the nodes of switch s and the representative of each child; below[s] is the node that represents
  // all of these.
  std::vector<std::vector<uint32_t>> branches(count);
  std::vector<Standing> below(count);
  for (uint32_t n = 0; n < tree.nodes().size(); ++n) {
    if (nodes[n]) branches[tree.nodes()[n].parent].push_back(n);
  }
  for (size_t i = count; i-- > 0;) {
    const uint32_t s = order[i];
    if (branches[s].empty()) continue;
    if (backwards) std::reverse(branches[s].begin(), branches[s].end());
    below[s] = branches[s].front();
    if (s != tree.root_switch()) branches[switches[s].parent].push_back(*below[s]);
  }
  // Downward pass: a sibling branch represents the rest of the tree or, if there is none, the node that represents the
  // rest above the parent.
  std::vector<Standing> above(count);
  for (const uint32_t s : order) {
    if (s == tree.root_switch() || !below[s]) continue;
    const uint32_t parent = switches[s].parent;
    above[s] = above[parent];
    for (const uint32_t node : branches[parent]) {
      if (node == *below[s]) continue;
      above[s] = node;
      break;
    }
  }

  const auto choose = [&](uint32_t a, uint32_t b) { chosen->insert({std::min(a, b), std::max(a, b)}); };
  for (uint32_t s = 0; s < count; ++s) {
    std::vector<uint32_t> around = branches[s];
    if (above[s]) around.push_back(*above[s]);
    for (size_t i = 1; i < around.size(); ++i) choose(around[0], around[i]);
    if (around.size() > 2) choose(around[1], around[2]);
  }
}

}  // namespace

std::vector<NodePair> SampleTree(const topology::Topology& tree, const std::vector<bool>& nodes) {
  std::set<NodePair> chosen;
  for (const bool backwards : {false, true}) AddPairs(tree, nodes, backwards, &chosen);

  // Pairs that cover new links come first, so that measurements which end early have covered most links.
  const LinkPaths paths(&tree);
  std::vector<bool> covered(paths.link_count());
  std::vector<NodePair> first, later;
  std::vector<uint32_t> links;
  for (const NodePair& pair : chosen) {
    paths.Between(pair, &links);
    bool is_new = false;
    for (const uint32_t link : links) {
      is_new = is_new || !covered[link];
      covered[link] = true;
    }
    (is_new ? first : later).push_back(pair);
  }
  first.insert(first.end(), later.begin(), later.end());
  return first;
}

std::vector<NodePair> AllPairs(const std::vector<uint32_t>& nodes) {
  std::vector<std::optional<uint32_t>> ring(nodes.begin(), nodes.end());
  if (ring.size() % 2 != 0) ring.push_back(std::nullopt);  // the node paired with it has no pair in the round
  std::vector<NodePair> pairs;
  for (size_t round = 0; round + 1 < ring.size(); ++round) {
    for (size_t i = 0; i < ring.size() / 2; ++i) {
      const auto& a = ring[i];
      const auto& b = ring[ring.size() - 1 - i];
      if (a && b) pairs.push_back({std::min(*a, *b), std::max(*a, *b)});
    }
    std::rotate(ring.begin() + 1, ring.end() - 1, ring.end());
  }
  return pairs;
}

}  // namespace copse::measure
