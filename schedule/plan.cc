// SPDX-License-Identifier: Apache-2.0
#include "schedule/plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/string_view.h"

namespace copse::schedule {

absl::Status CheckShape(const TeamShape& shape) {
  if (shape.node_of_rank.empty()) return absl::InvalidArgumentError("team: no ranks (size=0, limit=at least 1)");
  std::vector<uint32_t> ranks(shape.node_count, 0);
  for (size_t r = 0; r < shape.node_of_rank.size(); ++r) {
    const uint32_t node = shape.node_of_rank[r].value();
    if (node >= shape.node_count) {
      return absl::InvalidArgumentError(
          absl::StrCat("team: rank ", r, " is on an unknown node (node=", node, ", limit=", shape.node_count, ")"));
    }
    if (++ranks[node] > kLocalRanksMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("team: too many ranks on one node (node=", node, ", limit=", kLocalRanksMax, ")"));
    }
  }
  for (size_t n = 0; n < ranks.size(); ++n) {
    if (ranks[n] == 0) return absl::InvalidArgumentError(absl::StrCat("team: a node without ranks (node=", n, ")"));
  }
  return absl::OkStatus();
}

ShapeIndex::ShapeIndex(const TeamShape& shape)
    : node_of_rank_(shape.node_of_rank), local_index_(shape.size()), first_(shape.node_count + 1, 0) {
  CHECK(CheckShape(shape).ok());
  for (const NodeIndex node : node_of_rank_) ++first_[node.value() + 1];
  for (size_t n = 1; n < first_.size(); ++n) first_[n] += first_[n - 1];
  by_node_.resize(shape.size());
  std::vector<uint32_t> filled(shape.node_count, 0);
  for (uint32_t r = 0; r < shape.size(); ++r) {
    const uint32_t node = node_of_rank_[r].value();
    local_index_[r] = filled[node]++;
    by_node_[first_[node] + local_index_[r]] = Rank(r);
  }
}

absl::Span<const Rank> ShapeIndex::RanksOf(NodeIndex node) const {
  const uint32_t begin = first_[node.value()];
  return absl::MakeConstSpan(by_node_).subspan(begin, first_[node.value() + 1] - begin);
}

uint64_t ChunkBytesMax(const Plan& plan) {
  const uint64_t most = std::min(plan.bytes_max, kMessageBytesMax);
  const bool has_one_message = plan.bytes_max <= kMessageBytesMax && !HasBlocks(plan.collective);
  if (has_one_message || plan.segment_bytes == 0 || plan.segment_bytes > most) return most;
  return most / plan.segment_bytes * plan.segment_bytes;
}

uint32_t SegmentCount(const Plan& plan, uint64_t bytes) {
  if (plan.segment_bytes == 0 || bytes <= plan.segment_bytes) return 1;
  return static_cast<uint32_t>((bytes + plan.segment_bytes - 1) / plan.segment_bytes);
}

uint32_t RotationsOf(const Plan& plan) {
  const bool rotates = plan.kind == PlanKind::kCirculant && plan.collective == Collective::kAllreduce;
  return rotates ? plan.node_count : 1;
}

uint32_t PhaseCount(const Plan& plan) {
  if (plan.kind == PlanKind::kTree) return 2;
  if (plan.kind == PlanKind::kCirculant) {
    // In a direct alltoall each node receives from all others in one phase; the other is the local ranks' arrival.
    if (plan.collective == Collective::kAlltoall && !PassesOn(plan)) return 2;
    return std::max<uint32_t>(2, static_cast<uint32_t>(DistancesOf(plan).size()) + 1);
  }
  uint32_t phases = 1;  // phase 0 is the local ranks' arrival
  for (const auto& steps : plan.steps) {
    for (const ExchangeStep& step : steps) phases = std::max(phases, uint32_t{step.round} + 1);
  }
  return phases;
}

std::vector<NodeIndex> NeighborsOf(const Plan& plan, NodeIndex node) {
  std::vector<uint32_t> all;
  if (plan.kind == PlanKind::kTree) {
    all = plan.neighbors[node.value()];
  } else if (plan.kind == PlanKind::kCirculant) {
    const absl::Span<const uint32_t> cycle = CycleOf(plan);
    const auto n = static_cast<uint32_t>(cycle.size());
    const auto at = static_cast<uint32_t>(std::find(cycle.begin(), cycle.end(), node.value()) - cycle.begin());
    for (const uint32_t d : DistancesOf(plan)) {
      all.push_back(cycle[(at + d) % n]);
      all.push_back(cycle[(at + n - d) % n]);
    }
  } else {
    for (const ExchangeStep& step : plan.steps[node.value()]) {
      if (step.send_to != kNobody) all.push_back(step.send_to);
      if (step.receive_from != kNobody) all.push_back(step.receive_from);
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<NodeIndex> result;
  for (const uint32_t v : all) result.push_back(NodeIndex(v));
  return result;
}

std::vector<std::vector<uint32_t>> NeighborsByNode(absl::Span<const Plan> plans, uint32_t node_count) {
  std::vector<std::vector<uint32_t>> all(node_count);
  const auto link = [&all](uint32_t a, uint32_t b) {
    all[a].push_back(b);
    all[b].push_back(a);
  };
  for (const Plan& plan : plans) {
    if (plan.kind == PlanKind::kCirculant) {
      const absl::Span<const uint32_t> cycle = CycleOf(plan);
      for (size_t at = 0; at < cycle.size(); ++at) {
        for (const uint32_t d : DistancesOf(plan)) link(cycle[at], cycle[(at + d) % cycle.size()]);
      }
      continue;
    }
    for (uint32_t node = 0; node < node_count; ++node) {
      for (const NodeIndex neighbor : NeighborsOf(plan, NodeIndex(node))) all[node].push_back(neighbor.value());
    }
  }
  for (std::vector<uint32_t>& of_node : all) {
    std::sort(of_node.begin(), of_node.end());
    of_node.erase(std::unique(of_node.begin(), of_node.end()), of_node.end());
  }
  return all;
}

bool HaveSameTree(const Plan& a, const Plan& b) {
  return a.kind == PlanKind::kTree && b.kind == PlanKind::kTree && a.root_node == b.root_node &&
         a.neighbors == b.neighbors;
}

const Plan* SelectPlan(absl::Span<const Plan> plans, Collective collective, uint64_t bytes) {
  for (const Plan& plan : plans) {
    if (plan.collective == collective && plan.bytes_min <= bytes && bytes <= plan.bytes_max) return &plan;
  }
  return nullptr;
}

uint64_t PlanHash(std::string_view encoded) { return Fnv1a64(encoded); }

}  // namespace copse::schedule
