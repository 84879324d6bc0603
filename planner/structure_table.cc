// SPDX-License-Identifier: Apache-2.0
#include "planner/structure_table.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "planner/algorithms/center.h"
#include "planner/algorithms/exchanges/circulant.h"
#include "planner/algorithms/trees/optimal_tree.h"
#include "planner/candidates.h"
#include "planner/node_order.h"
#include "planner/pricing/message_costs.h"
#include "schedule/verify.h"

namespace copse::planner {
namespace {

// The trees of pipeline-K are candidates for teams of up to this many nodes.
constexpr uint32_t kPipelineNodesMax = 128;
// Above kThoroughNodesMax nodes, trees by cost are made for this message size, in bytes.
constexpr uint64_t kManyNodesBytes = schedule::kSegmentBytesUsual;

std::vector<std::string> NamesOfAll(uint32_t node_count) {
  if (node_count > kThoroughNodesMax) return {"ft", "bt", "fcef", "mgo", "mgo-jackson", "best"};
  std::vector<std::string> names = {"ft", "bt", "fnf", "fef-latency", "fef-cost", "fcef", "la", "mgo", "mgo-jackson"};
  if (node_count < kOptimalNodesMax) names.emplace_back("optimal");
  names.emplace_back("best");
  return names;
}

// Returns whether a tree is used towards its root and back in one call.
bool GoesBothWays(Collective collective) {
  return collective == Collective::kBarrier || collective == Collective::kAllreduce ||
         FamilyOf(collective) == Family::kSpread;
}

// These cycles are built by position.
constexpr const char* kCirculants[] = {"ring", "bruck", "doubling", "rotated-binomial", "pairwise"};

// Returns false for "bruck" if it must not carry an alltoall of the class: if blocks are too long, or nodes too many,
// to forward blocks, and for up to three nodes, where it equals "pairwise".
bool MayPassOn(const Structure& structure, const SizeClass& size_class) {
  const uint32_t n = structure.node_count;
  if (structure.algorithm != "bruck") return true;
  return n > 3 && n <= schedule::kPassingNodesMax && size_class.bytes_max < schedule::kMessageBytesMax;
}

// Returns whether they are the same tree, or the same symmetric schedule of one algorithm: costs of different sizes
// often lead to the same one.
bool IsLike(const Structure& a, const Structure& b) {
  if (a.kind != b.kind || a.root_node != b.root_node) return false;
  if (a.kind == schedule::PlanKind::kTree) return a.neighbors == b.neighbors;
  return a.algorithm == b.algorithm && a.steps == b.steps;
}

}  // namespace

StructureTable::StructureTable(const TeamCosts* costs, uint32_t first_node, bool all, bool ranks_in_order)
    : costs_(costs),
      first_node_(first_node),
      all_(all),
      ranks_in_order_(ranks_in_order),
      order_(OrderByTopology(*costs, first_node)) {}

std::vector<StructureTable::Purpose> StructureTable::PurposesOf(Collective collective,
                                                                const SizeClass& size_class) const {
  if (costs_->node_count() > kThoroughNodesMax) return {{Collective::kBcast, kManyNodesBytes}};
  const uint64_t typical = TypicalBytes(collective, size_class);
  std::vector<Purpose> purposes = {{collective, typical}};
  if (typical > schedule::kSegmentBytesUsual) purposes.push_back({collective, schedule::kSegmentBytesUsual});
  return purposes;
}

absl::Status StructureTable::Prepare(const Purpose& purpose) {
  if (prepared_.has_value() && *prepared_ == purpose) return absl::OkStatus();
  prepared_.reset();
  ASSIGN_OR_RETURN(message_costs_, MessageCosts(*costs_, purpose.collective, purpose.bytes));
  message_costs_->FillMatrix();
  center_ = GoesBothWays(purpose.collective) ? CenterOf(*message_costs_, first_node_) : first_node_;
  prepared_ = purpose;
  return absl::OkStatus();
}

std::vector<uint32_t> StructureTable::RootsFor(const Purpose& purpose) const {
  std::vector<uint32_t> roots = {first_node_};
  if (GoesBothWays(purpose.collective) && center_ != first_node_) roots.push_back(center_);
  return roots;
}

uint32_t StructureTable::FirstLike(uint32_t index) {
  for (uint32_t i = static_cast<uint32_t>(first_like_.size()); i <= index; ++i) {
    const Structure& structure = structures_[i];
    first_like_.push_back(i);
    if (structure.kind == schedule::PlanKind::kCirculant) continue;
    auto& alike = by_hash_[absl::HashOf(structure.root_node.value(), structure.neighbors)];
    for (const uint32_t other : alike) {
      if (IsLike(structures_[other], structure)) {
        first_like_[i] = other;
        break;
      }
    }
    if (first_like_[i] == i) alike.push_back(i);
  }
  return first_like_[index];
}

absl::StatusOr<uint32_t> StructureTable::ByPosition(std::string_view algorithm, Collective collective) {
  // A scan's cycle follows the order of the ranks.
  const bool scans = IsScan(collective) && CirculantDistances(algorithm, 1).has_value();
  const std::optional<Purpose> purpose = scans ? std::optional(Purpose{Collective::kScan, 0}) : std::nullopt;
  for (uint32_t i = 0; i < structures_.size(); ++i) {
    if (purposes_[i] == purpose && structures_[i].algorithm == algorithm) return i;
  }
  NodeOrder by_index(scans ? costs_->node_count() : 0);
  for (uint32_t v = 0; v < by_index.size(); ++v) by_index[v] = v;
  ASSIGN_OR_RETURN(Structure structure, BuildStructure(algorithm, scans ? by_index : order_));
  structures_.push_back(std::move(structure));
  purposes_.push_back(purpose);
  return static_cast<uint32_t>(structures_.size() - 1);
}

absl::StatusOr<uint32_t> StructureTable::ByCost(std::string_view algorithm, const Purpose& purpose, uint32_t root) {
  for (uint32_t i = 0; i < structures_.size(); ++i) {
    if (purposes_[i] == purpose && structures_[i].algorithm == algorithm && structures_[i].root_node.value() == root)
      return i;
  }
  RETURN_IF_ERROR(Prepare(purpose));
  ASSIGN_OR_RETURN(Structure structure, BuildByCost(algorithm, *message_costs_, root));
  structures_.push_back(std::move(structure));
  purposes_.push_back(purpose);
  return static_cast<uint32_t>(structures_.size() - 1);
}

absl::StatusOr<std::vector<uint32_t>> StructureTable::Candidates(Collective collective, const SizeClass& size_class) {
  const uint32_t n = costs_->node_count();
  const bool is_cut = TypicalBytes(collective, size_class) > schedule::kSegmentBytesUsual;
  std::vector<uint32_t> found;
  if (collective == Collective::kAlltoall && 2 * (uint64_t{n} - 1) > schedule::kNeighborsMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("alltoall: too many nodes, each of which is every other's neighbor (nodes=", n,
                     ", limit=", schedule::kNeighborsMax / 2 + 1, ")"));
  }
  const auto add = [&](uint32_t index) {
    if (MostNeighbors(structures_[index]) > schedule::kNeighborsMax) return;  // as "flat" has with many nodes
    const uint32_t first = FirstLike(index);
    if (std::find(found.begin(), found.end(), first) == found.end()) found.push_back(first);
  };
  for (const char* name : kCirculants) {
    if (!CheckAlgorithm(name, collective).ok() || (IsScan(collective) && !ranks_in_order_)) continue;
    const bool is_common = FamilyOf(collective) == Family::kCommon;
    if (is_common && (n < 3 || n > kLongNodesMax)) continue;
    // A ring of n nodes takes about n steps, so it pays off only if a message's tail takes longer than that.
    const bool is_short_way = std::string_view(name) == "rotated-binomial" && is_cut;
    if (is_common && !is_short_way && size_class.bytes_min <= schedule::kMessageBytesMax) continue;
    ASSIGN_OR_RETURN(const uint32_t index, ByPosition(name, collective));
    if (collective == Collective::kAlltoall && !MayPassOn(structures_[index], size_class)) continue;
    // For one or two nodes all cycles are rings, of which one suffices.
    if (is_common || structures_[index].neighbors[1].size() > 1 || found.empty()) add(index);
  }
  // Trees are the last resort for a scan, since they combine the contributions of all ranks at every node.
  if (!found.empty() && (IsScan(collective) || collective == Collective::kAlltoall)) return found;
  for (const std::string& name : CandidateAlgorithms(n)) {
    ASSIGN_OR_RETURN(const uint32_t index, ByPosition(name, collective));
    if (CanCarry(structures_[index], collective)) add(index);
  }
  if (n < 3) return found;
  if (is_cut && n <= kThoroughNodesMax) {
    ASSIGN_OR_RETURN(const uint32_t index, ByPosition("chain", collective));
    add(index);
  }
  for (const Purpose& purpose : PurposesOf(collective, size_class)) {
    // If costs exceed the range of the tree algorithms, only structures by position are candidates.
    if (!Prepare(purpose).ok()) continue;
    std::vector<std::string> names = {"mgo", "best"};
    if (all_) names = NamesOfAll(n);
    if (is_cut && purpose.bytes == schedule::kSegmentBytesUsual && n <= kPipelineNodesMax) {
      for (const char* name : {"pipeline-1", "pipeline-2", "pipeline-3"}) names.emplace_back(name);
    }
    for (const uint32_t root : RootsFor(purpose)) {
      for (const std::string& name : names) {
        ASSIGN_OR_RETURN(const uint32_t index, ByCost(name, purpose, root));
        add(index);
      }
    }
    if (FamilyOf(collective) == Family::kCommon && GoesBothWays(collective) && n <= schedule::kExchangeNodesMax) {
      // It fails in a cluster whose topology is like a chain, for which it would have too many rounds.
      if (const auto index = ByCost("hierarchical", purpose, first_node_); index.ok()) add(*index);
    }
  }
  return found;
}

absl::StatusOr<std::vector<uint32_t>> StructureTable::Named(std::string_view algorithm, Collective collective,
                                                            const SizeClass& size_class) {
  std::vector<uint32_t> found;
  const auto check = [&](uint32_t index) -> absl::Status {
    const uint32_t most = MostNeighbors(structures_[index]);
    if (most <= schedule::kNeighborsMax) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("algorithm ", AbslView(algorithm),
                                                   ": a node would have too many neighbors (neighbors=", most,
                                                   ", limit=", schedule::kNeighborsMax, ")"));
  };
  if (!IsByCost(algorithm)) {
    ASSIGN_OR_RETURN(const uint32_t index, ByPosition(algorithm, collective));
    const bool is_cycle = structures_[index].kind == schedule::PlanKind::kCirculant;
    // An alltoall sends long blocks directly between all pairs.
    if (collective == Collective::kAlltoall && is_cycle && algorithm == "bruck" &&
        !MayPassOn(structures_[index], size_class)) {
      return Named("pairwise", collective, size_class);
    }
    RETURN_IF_ERROR(CheckCarries(structures_[index], collective));
    if (is_cycle && IsScan(collective) && !ranks_in_order_) {
      return absl::InvalidArgumentError(absl::StrCat(
          "algorithm ", AbslView(algorithm), ": cannot carry it, since ranks' order is not the nodes' (collective=",
          AbslView(CollectiveName(collective)), ")"));
    }
    RETURN_IF_ERROR(check(index));
    return std::vector<uint32_t>{index};
  }
  for (const Purpose& purpose : PurposesOf(collective, size_class)) {
    RETURN_IF_ERROR(Prepare(purpose));
    for (const uint32_t root : RootsFor(purpose)) {
      ASSIGN_OR_RETURN(const uint32_t index, ByCost(algorithm, purpose, root));
      RETURN_IF_ERROR(CheckCarries(structures_[index], collective));
      RETURN_IF_ERROR(check(index));
      found.push_back(index);
      if (structures_[index].kind == schedule::PlanKind::kExchange) break;  // the same for every root
    }
  }
  return found;
}

}  // namespace copse::planner
