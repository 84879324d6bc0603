// SPDX-License-Identifier: Apache-2.0
#include "planner/topology/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/prng.h"
#include "base/string_view.h"

namespace copse::topology {
namespace {

constexpr double kUs = 1e3, kMs = 1e6;  // in ns
constexpr double kGbit = 125e6;         // in B/s

class Generator {
 public:
  Generator(uint32_t nodes, uint64_t seed) : nodes_(nodes), prng_(seed) {}

  absl::StatusOr<Topology> Mgo() {
    const uint32_t lans = AtLeast(2, std::floor(1.29 * std::pow(nodes_, 0.322) + prng_.Unit()));
    const uint32_t sites = AtLeast(2, std::floor(0.3 * lans + prng_.Unit()));
    const auto per_kilobyte = [](double ms) { return 1000 / (ms * 1e-3); };
    for (uint32_t s = 0; s < sites; ++s) {
      AddSwitch("site", 0, kMs * U(4.92, 72.8), per_kilobyte(LogU(13.7, 24.2)));
    }
    for (uint32_t l = 0; l < lans; ++l) {
      AddSwitch("lan", Spread(l, sites, 1), kMs * U(7.61, 151.5), per_kilobyte(LogU(7.34, 18.7)));
    }
    AddNodes(1 + sites, lans, [&](Node* node) {
      node->overhead_ns = Whole(kMs * U(110.7, 286));
      node->latency_ns = Whole(kMs * U(0.171, 9.88));
      node->bandwidth_bytes_per_s = Whole(per_kilobyte(LogU(3.10, 3.31)));
    });
    return Finish();
  }

  absl::StatusOr<Topology> Racks() {
    const uint32_t racks = AtLeast(1, std::ceil(nodes_ / 16.0));
    const uint32_t rooms = AtLeast(1, std::ceil(racks / 8.0));
    for (uint32_t r = 0; r < rooms; ++r) AddSwitch("room", 0, kUs * U(5, 50), 100 * kGbit);
    AddRacks(racks, rooms);
    return Finish();
  }

  absl::StatusOr<Topology> Wan() {
    const uint32_t racks = AtLeast(1, std::ceil(nodes_ / 16.0));
    constexpr uint32_t kSites = 4;
    AddSwitch("site", 0, kMs * U(20, 60), kGbit / 100);
    for (uint32_t s = 1; s < kSites; ++s) AddSwitch("site", 0, kMs * U(0.2, 2), kGbit);
    AddRacks(AtLeast(kSites, racks), kSites);
    return Finish();
  }

 private:
  static uint32_t AtLeast(uint32_t least, double count) { return std::max(least, static_cast<uint32_t>(count)); }
  static int64_t Whole(double value) { return std::max<int64_t>(1, std::llround(value)); }
  double U(double low, double high) { return low + (high - low) * prng_.Unit(); }
  double LogU(double low, double high) { return std::exp(U(std::log(low), std::log(high))); }

  // Assigns item i to one of `count` switches from `first` on: the first items one each, so that few stay empty.
  uint32_t Spread(uint32_t i, uint32_t count, uint32_t first) {
    return first + (i < count ? i : static_cast<uint32_t>(prng_.Below(count)));
  }

  void AddSwitch(const char* what, uint32_t parent, double latency_ns, double bandwidth) {
    switches_.push_back({absl::StrCat(what, switches_.size()), parent, Whole(latency_ns), Whole(bandwidth)});
  }

  template <typename Fill>
  void AddNodes(uint32_t first_switch, uint32_t count, const Fill& fill) {
    std::vector<uint32_t> number(nodes_);
    std::iota(number.begin(), number.end(), 1);
    for (uint32_t i = nodes_; i > 1; --i) std::swap(number[i - 1], number[prng_.Below(i)]);
    std::vector<Node> placed(nodes_);
    for (uint32_t i = 0; i < nodes_; ++i) {
      Node& node = placed[number[i] - 1];
      node.name = absl::StrCat("n", number[i]);
      node.parent = Spread(i, count, first_switch);
      fill(&node);
    }
    all_nodes_ = std::move(placed);
  }

  void AddRacks(uint32_t racks, uint32_t above) {
    for (uint32_t r = 0; r < racks; ++r) AddSwitch("rack", Spread(r, above, 1), kUs * U(1, 10), 40 * kGbit);
    AddNodes(1 + above, racks, [&](Node* node) {
      node->overhead_ns = Whole(kUs * LogU(1, 20));
      node->latency_ns = Whole(kUs * U(0.5, 2));
      node->bandwidth_bytes_per_s = Whole((prng_.Below(2) == 0 ? 10 : 25) * kGbit);
    });
  }

  absl::StatusOr<Topology> Finish() { return Topology::Create(std::move(switches_), std::move(all_nodes_)); }

  const uint32_t nodes_;
  Prng prng_;
  std::vector<Switch> switches_ = {{.name = "core"}};
  std::vector<Node> all_nodes_;
};

}  // namespace

absl::StatusOr<Topology> GenerateTopology(std::string_view kind, uint32_t nodes, uint64_t seed) {
  if (nodes == 0 || nodes > kNodeCountMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("generate: number of nodes out of range (nodes=", nodes, ", limit=", kNodeCountMax, ")"));
  }
  Generator generator(nodes, seed);
  if (kind == "mgo") return generator.Mgo();
  if (kind == "racks") return generator.Racks();
  if (kind == "wan") return generator.Wan();
  return absl::InvalidArgumentError(absl::StrCat("generate: no such kind of cluster (name=", AbslView(kind),
                                                 ", known=", absl::StrJoin(GeneratedKinds(), " "), ")"));
}

std::vector<std::string> GeneratedKinds() { return {"mgo", "racks", "wan"}; }

}  // namespace copse::topology
