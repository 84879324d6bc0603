// SPDX-License-Identifier: Apache-2.0
#include "bench/wide_area.h"

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/prng.h"

namespace copse::bench {
namespace {

using topology::Node;
using topology::Switch;

constexpr int64_t kMbit = 125'000;  // bytes a second

Node MakeNode(size_t index, size_t parent, int64_t latency_ns, int64_t mbit) {
  return {.name = absl::StrCat("n", index),
          .parent = static_cast<uint32_t>(parent),
          .overhead_ns = topology::FlatCosts().overhead_ns,
          .latency_ns = latency_ns,
          .bandwidth_bytes_per_s = mbit * kMbit,
          .cores = static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN)),
          .host = "here"};
}

Switch MakeSwitch(const std::string& name, size_t parent, int64_t latency_ns, int64_t mbit) {
  return {.name = name,
          .parent = static_cast<uint32_t>(parent),
          .latency_ns = latency_ns,
          .bandwidth_bytes_per_s = mbit * kMbit};
}

// In which site node n is, and in which rack of it: from 0.
topology::Topology ThreeSitesOf(size_t (*site_of)(size_t), size_t (*rack_of)(size_t)) {
  std::vector<Switch> switches = {{.name = "wan"}};
  std::vector<Node> nodes;
  for (int s = 0; s < 3; ++s) {
    const size_t site = switches.size();
    switches.push_back(MakeSwitch(absl::StrCat("site", s), 0, 4'500'000, 100));
    for (int r = 0; r < 2; ++r) switches.push_back(MakeSwitch(absl::StrCat("rack", s, r), site, 400'000, 1'000));
  }
  for (size_t n = 0; n < 12; ++n) {
    const size_t rack = 1 + 3 * site_of(n) + 1 + rack_of(n);  // a site and its racks stand together
    nodes.push_back(MakeNode(n, rack, 100'000, 1'000));
  }
  return *topology::Topology::Create(std::move(switches), std::move(nodes));
}

}  // namespace

topology::Topology ThreeSites() {
  return ThreeSitesOf([](size_t n) { return n / 4; }, [](size_t n) { return n / 2 % 2; });
}

topology::Topology ThreeSitesAcross() {
  return ThreeSitesOf([](size_t n) { return n % 3; }, [](size_t n) { return n / 3 % 2; });
}

topology::Topology RandomSites(uint64_t seed) {
  Prng prng(seed);
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(prng.Below(static_cast<uint64_t>(high - low + 1)));
  };
  const auto trunk = [&](const std::string& name, size_t parent) {
    constexpr int64_t kRates[] = {50, 100, 200, 500};
    const int64_t latency_ns = between(200, 10'000) * 1'000;
    return MakeSwitch(name, parent, latency_ns, kRates[prng.Below(4)]);
  };
  std::vector<Switch> switches = {{.name = "wan"}};
  std::vector<Node> nodes;
  const auto add_nodes = [&](size_t parent, int64_t count) {
    constexpr int64_t kRates[] = {200, 500, 1'000};
    for (int64_t i = 0; i < count; ++i) {
      const int64_t latency_ns = between(20, 200) * 1'000;
      nodes.push_back(MakeNode(nodes.size(), parent, latency_ns, kRates[prng.Below(3)]));
    }
  };
  const int64_t sites = between(3, 4);
  for (int64_t s = 0; s < sites; ++s) {
    const size_t site = switches.size();
    switches.push_back(trunk(absl::StrCat("site", s), 0));
    if (nodes.size() > 8 || prng.Chance(0.4)) {
      add_nodes(site, between(2, 3));
      continue;
    }
    for (int r = 0; r < 2; ++r) {
      const size_t rack = switches.size();
      switches.push_back(trunk(absl::StrCat("rack", s, r), site));
      add_nodes(rack, 2);
    }
  }
  return *topology::Topology::Create(std::move(switches), std::move(nodes));
}

topology::Topology WithoutFigures(const topology::Topology& topology) {
  std::vector<Switch> switches = topology.switches();
  std::vector<Node> nodes = topology.nodes();
  for (Switch& s : switches) s.latency_ns = 1'000, s.bandwidth_bytes_per_s = 10'000 * kMbit;
  for (Node& n : nodes) n.latency_ns = 1'000, n.bandwidth_bytes_per_s = 10'000 * kMbit;
  return *topology::Topology::Create(std::move(switches), std::move(nodes), topology.costs());
}

}  // namespace copse::bench
