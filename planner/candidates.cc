// SPDX-License-Identifier: Apache-2.0
#include "planner/candidates.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "planner/pricing/block_price.h"
#include "planner/size_class.h"

namespace copse::planner {
namespace {

// This segment size, in bytes, lies between the usual and the longest.
constexpr uint32_t kSegmentBytesLong = 32 * 1024;

}  // namespace

std::vector<std::string> CandidateAlgorithms(uint32_t node_count) {
  std::vector<std::string> names = {"flat"};
  if (node_count > 2) names.push_back("binomial");
  std::vector<uint32_t> fanouts = {2, 3, 4, 8, 16, 32};
  if (node_count > kThoroughNodesMax) fanouts = {2, 4, 16};
  for (const uint32_t k : fanouts) {
    if (k > 2 && k < node_count) names.push_back(absl::StrCat("knomial-", k));
  }
  for (const uint32_t k : fanouts) {
    if (k + 1 < node_count) names.push_back(absl::StrCat("kary-", k));
  }
  if (node_count > 1 && node_count <= schedule::kExchangeNodesMax) {
    names.push_back("dissemination");
    names.push_back("recursive-doubling");
  }
  return names;
}

std::vector<uint32_t> SegmentSizes(uint64_t bytes_max) {
  // The longest messages use only the longest segments: each segment costs the daemons processor time, and the first
  // segment's latency is a small share of the total.
  if (bytes_max > kLongMessages.bytes_max) return {schedule::kSegmentBytesMax};
  if (bytes_max > schedule::kMessageBytesMax) {
    return {kSegmentBytesLong, schedule::kSegmentBytesMax, 16384, schedule::kSegmentBytesUsual};
  }
  std::vector<uint32_t> sizes;
  if (bytes_max <= schedule::kSegmentBytesUsual) sizes.push_back(0);
  // The first size prices all structures: a pipelining structure shows its advantage only with several segments.
  for (const uint32_t size : {schedule::kSegmentBytesUsual, kSegmentBytesLong, 16384u, 4096u, 2048u}) {
    if (size < bytes_max && (bytes_max - 1) / size + 1 <= schedule::kSegmentsMax) sizes.push_back(size);
  }
  return sizes;
}

std::vector<uint32_t> BlockSegmentSizes(Collective collective, uint64_t bytes_max) {
  const uint32_t longest = schedule::SegmentBytesMax(collective);
  return {bytes_max > schedule::kMessageBytesMax ? longest : std::min(longest, kSegmentBytesLong)};
}

schedule::Plan PlanOf(Structure structure, Collective collective, uint64_t bytes_min, uint64_t bytes_max,
                      uint32_t segment_bytes) {
  structure.collective = collective;
  structure.bytes_min = bytes_min;
  structure.bytes_max = bytes_max;
  structure.segment_bytes = segment_bytes;
  return structure;
}

bool IsPricedByRunning(const schedule::Plan& plan, const schedule::TeamShape& shape, const CallArguments& arguments) {
  if (FamilyOf(arguments.collective) == Family::kCommon) return true;
  const uint64_t n = shape.node_count;
  const uint64_t ranks = shape.size();
  const bool cuts_finer = plan.segment_bytes > 0 && plan.segment_bytes < kSegmentBytesLong;
  const uint64_t segment_bytes = cuts_finer ? plan.segment_bytes : schedule::SegmentBytesMax(arguments.collective);
  // `segments` counts the segments of the call's data: at least one for each node, since a ring's segment never has
  // blocks of two nodes.
  uint64_t segments = n + ranks * arguments.bytes() / segment_bytes;
  if (FamilyOf(arguments.collective) == Family::kAlltoall) {
    // Every node sends at least one segment to every other; blocks are counted by the mean number of ranks per node.
    segments = n * (1 + (ranks / n) * (ranks / n) * arguments.bytes() / segment_bytes);
  } else if (IsScan(arguments.collective)) {
    // Unless ranks are in the order of the nodes, all ranks' contributions are combined at every node.
    const bool in_order = std::is_sorted(shape.node_of_rank.begin(), shape.node_of_rank.end());
    segments = 1 + arguments.bytes() / segment_bytes;
    if (!in_order) segments = ranks * (1 + ranks * arguments.bytes() / segment_bytes);
    if (!in_order && ranks > schedule::kScanSegmentBytesMax / schedule::kSegmentUnitBytes) return false;
  }
  return n * segments <= kRunSegmentsMax;
}

absl::StatusOr<int64_t> PredictedNs(const schedule::Plan& plan, const schedule::TeamShape& shape,
                                    const TeamCosts& costs, const CallArguments& arguments) {
  if (!IsPricedByRunning(plan, shape, arguments)) return BlockPriceNs(plan, shape, costs, arguments);
  PriceOptions options;
  options.critical_path = false;
  ASSIGN_OR_RETURN(const Prediction prediction, Price(plan, shape, costs, arguments, options));
  return prediction.total_ns;
}

absl::StatusOr<double> PredictedUsOfBytes(const schedule::Plan& plan, const schedule::TeamShape& shape,
                                          const TeamCosts& costs, uint64_t bytes) {
  const CallArguments arguments = CallOfBytes(plan, bytes);
  ASSIGN_OR_RETURN(const int64_t ns, PredictedNs(plan, shape, costs, arguments));
  const uint64_t priced = std::max<uint64_t>(arguments.bytes(), 1);
  return static_cast<double>(ns) / 1000 * static_cast<double>(std::max(bytes, priced)) / static_cast<double>(priced);
}

absl::StatusOr<std::vector<Candidate>> PriceCandidates(absl::Span<const Structure> structures,
                                                       absl::Span<const uint32_t> which, const PricedCall& call,
                                                       std::vector<Candidate>* every) {
  const std::vector<uint32_t>& sizes = call.segment_sizes;
  const auto price = [&](uint32_t structure, uint32_t segment_bytes) -> absl::StatusOr<Candidate> {
    const schedule::Plan plan =
        PlanOf(structures[structure], call.arguments.collective, 0, call.bytes_max, segment_bytes);
    ASSIGN_OR_RETURN(const int64_t total_ns, PredictedNs(plan, call.shape, call.costs, call.arguments));
    return Candidate{structure, segment_bytes, total_ns};
  };
  std::vector<Candidate> best;
  for (const uint32_t i : which) {
    ASSIGN_OR_RETURN(const Candidate candidate, price(i, sizes[0]));
    best.push_back(candidate);
  }
  if (every != nullptr) every->insert(every->end(), best.begin(), best.end());
  if (sizes.size() == 1 || call.shape.node_count > kThoroughNodesMax) return best;

  std::vector<uint32_t> by_price(best.size());
  for (uint32_t c = 0; c < best.size(); ++c) by_price[c] = c;
  std::stable_sort(by_price.begin(), by_price.end(),
                   [&](uint32_t a, uint32_t b) { return best[a].total_ns < best[b].total_ns; });
  by_price.resize(std::min(by_price.size(), kRefined));
  for (const uint32_t c : by_price) {
    for (size_t s = 1; s < sizes.size(); ++s) {
      ASSIGN_OR_RETURN(const Candidate candidate, price(best[c].structure, sizes[s]));
      if (every != nullptr) every->push_back(candidate);
      if (candidate.total_ns < best[c].total_ns) best[c] = candidate;
    }
  }
  return best;
}

std::vector<uint32_t> StillWorthPricing(absl::Span<const Structure> structures, absl::Span<const uint32_t> which,
                                        absl::Span<const Candidate> shorter) {
  std::vector<Candidate> by_price(shorter.begin(), shorter.end());
  std::stable_sort(by_price.begin(), by_price.end(),
                   [](const Candidate& a, const Candidate& b) { return a.total_ns < b.total_ns; });
  std::set<uint32_t> hopeless;
  uint32_t fewest = std::numeric_limits<uint32_t>::max();
  for (const Candidate& candidate : by_price) {
    const Structure& structure = structures[candidate.structure];
    const bool is_exchange = structure.kind == schedule::PlanKind::kExchange;
    const bool is_dear = candidate.total_ns / kHopeful > by_price[0].total_ns;
    if (is_dear && (is_exchange || MostNeighbors(structure) >= fewest)) hopeless.insert(candidate.structure);
    if (!is_exchange) fewest = std::min(fewest, MostNeighbors(structure));
  }
  std::vector<uint32_t> worth;
  std::copy_if(which.begin(), which.end(), std::back_inserter(worth),
               [&](uint32_t structure) { return !hopeless.contains(structure); });
  return worth;
}

}  // namespace copse::planner
