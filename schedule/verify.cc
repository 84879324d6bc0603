// SPDX-License-Identifier: Apache-2.0
#include "schedule/verify.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "schedule/blocks.h"
#include "schedule/expand.h"

namespace copse::schedule {
namespace {

template <typename... Parts>
absl::Status Bad(const Plan& plan, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("plan ", plan.id.value(), " (",
                                                 AbslView(CollectiveName(plan.collective)), ", ", plan.algorithm,
                                                 "): ", parts...));
}

absl::Status CheckSizes(const Plan& plan, const TeamShape& shape, const VerifyLimits& limits) {
  if (plan.node_count == 0 || plan.node_count > kNodeCountMax) {
    return Bad(plan, "nodes (nodes=", plan.node_count, ", limit=1-", kNodeCountMax, ")");
  }
  if (plan.node_count != shape.node_count) {
    return Bad(plan, "made for another team (nodes=", plan.node_count, ", team's nodes=", shape.node_count, ")");
  }
  if (plan.bytes_min > plan.bytes_max || plan.bytes_max > kCallBytesMax) {
    return Bad(plan, "size class (bytes=", plan.bytes_min, "-", plan.bytes_max, ", limit=", kCallBytesMax, ")");
  }
  const uint32_t longest = SegmentBytesMax(plan.collective);
  if (plan.segment_bytes % kSegmentUnitBytes != 0 || plan.segment_bytes > longest) {
    return Bad(plan, "segment size (bytes=", plan.segment_bytes, ", limit=", longest, ", a multiple of ",
               kSegmentUnitBytes, ")");
  }
  if (plan.segment_bytes == 0 && plan.bytes_max > longest) {
    return Bad(plan, "unsegmented message (bytes=", plan.bytes_max, ", limit=", longest, ")");
  }
  if (const uint32_t count = SegmentCount(plan, ChunkBytesMax(plan)); count > limits.segments_max) {
    return Bad(plan, "segments (segments=", count, ", limit=", limits.segments_max, ")");
  }
  if (plan.root_node.value() >= plan.node_count) {
    return Bad(plan, "root out of range (node=", plan.root_node.value(), ", limit=", plan.node_count, ")");
  }
  if (!std::isfinite(plan.predicted_us) || plan.predicted_us < 0)
    return Bad(plan, "predicted time is not a time (predicted_us=", plan.predicted_us, ")");
  return absl::OkStatus();
}

bool TreeCarries(Collective collective) { return collective != Collective::kAlltoall; }

absl::Status CheckTreeLists(const Plan& plan) {
  const uint32_t n = plan.node_count;
  if (!plan.steps.empty()) return Bad(plan, "a tree with exchange steps (nodes=", plan.steps.size(), ")");
  if (plan.neighbors.size() != n) return Bad(plan, "neighbor lists (lists=", plan.neighbors.size(), ", nodes=", n, ")");
  return absl::OkStatus();
}

absl::Status CheckTree(const Plan& plan, const VerifyLimits& limits) {
  if (!TreeCarries(plan.collective)) return Bad(plan, "a tree cannot carry it");
  RETURN_IF_ERROR(CheckTreeLists(plan));
  const uint32_t n = plan.node_count;
  uint64_t links = 0;
  std::vector<std::vector<uint32_t>> sorted = plan.neighbors;
  for (uint32_t v = 0; v < n; ++v) {
    std::vector<uint32_t>& list = sorted[v];
    std::sort(list.begin(), list.end());
    if (list.size() > limits.neighbors_max) {
      return Bad(plan, "fan-out of node ", v, " (neighbors=", list.size(), ", limit=", limits.neighbors_max, ")");
    }
    if (const auto twice = std::adjacent_find(list.begin(), list.end()); twice != list.end()) {
      return Bad(plan, "node ", v, " has a neighbor twice (neighbor=", *twice, ")");
    }
    if (!list.empty() && list.back() >= n) {
      return Bad(plan, "node ", v, " has an unknown neighbor (node=", list.back(), ", limit=", n, ")");
    }
    if (std::binary_search(list.begin(), list.end(), v)) return Bad(plan, "node ", v, " is its own neighbor");
    links += list.size();
  }
  for (uint32_t v = 0; v < n; ++v) {
    for (const uint32_t u : sorted[v]) {
      if (!std::binary_search(sorted[u].begin(), sorted[u].end(), v)) {
        return Bad(plan, "node ", v, " knows node ", u, ", but not the other way round");
      }
    }
  }
  if (links != 2 * uint64_t{n - 1}) {
    return Bad(plan, "not a tree: ", links / 2, " links for ", n, " nodes (limit=", n - 1, ")");
  }
  std::vector<bool> reached(n, false);
  std::vector<uint32_t> work = {plan.root_node.value()};
  reached[plan.root_node.value()] = true;
  uint32_t count = 0;
  while (!work.empty()) {
    const uint32_t v = work.back();
    work.pop_back();
    ++count;
    for (const uint32_t u : sorted[v]) {
      if (reached[u]) continue;
      reached[u] = true;
      work.push_back(u);
    }
  }
  if (count != n) {
    const auto missing = std::find(reached.begin(), reached.end(), false) - reached.begin();
    return Bad(plan, "node ", missing, " is not connected (reached=", count, ", nodes=", n, ")");
  }
  return absl::OkStatus();
}

// Returns whether circulant plans of the collective may have these distances.
bool CarriesBy(Collective collective, absl::Span<const uint32_t> distances, uint32_t n) {
  const bool ring = n == 1 ? distances.empty() : distances.size() == 1 && distances[0] == 1;
  bool everybody = distances.size() == n - 1;
  bool doubling = true;
  uint32_t next = 1;
  for (size_t i = 0; i < distances.size(); ++i) {
    everybody &= distances[i] == i + 1;
    doubling &= distances[i] == next;
    next *= 2;
  }
  doubling &= next >= n;
  switch (collective) {
    case Collective::kBcast:
    case Collective::kReduce:
      return ring;
    case Collective::kAllreduce:
    case Collective::kReduceScatter:
    case Collective::kAllgather:
    case Collective::kScan:
    case Collective::kExscan:
      return ring || doubling;
    case Collective::kAlltoall:
      return everybody || doubling;
    default:
      return false;
  }
}

absl::Status CheckCirculant(const Plan& plan, const VerifyLimits& limits) {
  const uint32_t n = plan.node_count;
  if (!plan.steps.empty()) return Bad(plan, "a cycle with exchange steps (nodes=", plan.steps.size(), ")");
  if (plan.neighbors.size() != 2) {
    return Bad(plan, "a cycle and its distances (lists=", plan.neighbors.size(), ", needed=2)");
  }
  const absl::Span<const uint32_t> cycle = CycleOf(plan);
  if (cycle.size() != n) return Bad(plan, "the cycle is not all nodes (cycle=", cycle.size(), ", nodes=", n, ")");
  std::vector<bool> seen(n, false);
  for (const uint32_t v : cycle) {
    if (v >= n) return Bad(plan, "unknown node in the cycle (node=", v, ", limit=", n, ")");
    if (seen[v]) return Bad(plan, "node ", v, " is in the cycle twice");
    seen[v] = true;
  }
  const absl::Span<const uint32_t> distances = DistancesOf(plan);
  if (2 * distances.size() > limits.neighbors_max) {
    return Bad(plan, "fan-out (neighbors=", 2 * distances.size(), ", limit=", limits.neighbors_max, ")");
  }
  for (size_t i = 0; i < distances.size(); ++i) {
    if (distances[i] == 0 || distances[i] >= n || (i > 0 && distances[i] <= distances[i - 1])) {
      return Bad(plan, "distances must ascend from 1 (distance=", distances[i], ", limit=", n - 1, ")");
    }
  }
  if (!CarriesBy(plan.collective, distances, n)) {
    return Bad(plan, "the distances do not carry it (distances=", distances.size(), ", nodes=", n, ")");
  }
  if (PassesOn(plan) && (n > kPassingNodesMax || plan.bytes_max >= kMessageBytesMax)) {
    return Bad(plan, "blocks are passed on in small teams and of small blocks only (nodes=", n,
               ", limit=", kPassingNodesMax, ", bytes=", plan.bytes_max, ", limit=", kMessageBytesMax - 1, ")");
  }
  if (PassesOn(plan) && BlockSegmentBytes(plan) < PassedOnMax(n)) {
    return Bad(plan,
               "segments are shorter than the blocks that are passed on together (bytes=", BlockSegmentBytes(plan),
               ", needed=", PassedOnMax(n), ")");
  }
  return absl::OkStatus();
}

// A RoundShape counts the sends and receives of a node in one round.
struct RoundShape {
  uint32_t number = 0;
  uint32_t sends = 0;
  uint32_t receives = 0;
  bool replaces = false;
};

absl::Status CheckExchange(const Plan& plan, const VerifyLimits& limits) {
  const uint32_t n = plan.node_count;
  if (plan.collective != Collective::kBarrier && plan.collective != Collective::kAllreduce) {
    return Bad(plan, "an exchange cannot carry it");
  }
  if (n > kExchangeNodesMax) return Bad(plan, "exchange too large (nodes=", n, ", limit=", kExchangeNodesMax, ")");
  if (!plan.neighbors.empty()) return Bad(plan, "an exchange with tree links (lists=", plan.neighbors.size(), ")");
  if (plan.steps.size() != n) return Bad(plan, "step lists (lists=", plan.steps.size(), ", nodes=", n, ")");
  for (uint32_t v = 0; v < n; ++v) {
    // A valid plan has each partner at most once in each direction, so more steps need not be examined.
    if (plan.steps[v].size() > 2 * size_t{n}) {
      return Bad(plan, "node ", v, ": too many steps (steps=", plan.steps[v].size(), ", limit=", 2 * size_t{n}, ")");
    }
    RoundShape round;
    for (const ExchangeStep& step : plan.steps[v]) {
      if (step.round == 0 || step.round < round.number) {
        return Bad(plan, "node ", v, ": rounds must ascend from 1 (round=", step.round, ")");
      }
      if (step.round > round.number) round = {.number = step.round};
      round.sends += step.send_to != kNobody;
      round.receives += step.receive_from != kNobody;
      round.replaces |= step.receive_from != kNobody && !step.combine;
      if (round.replaces && round.receives > 1) {
        return Bad(plan, "node ", v, ": round ", step.round, " replaces what others bring");
      }
      if (round.sends > 0 && round.receives > kRoundPartnersMax) {
        return Bad(plan, "node ", v, ": too many partners in round ", step.round, " (limit=", kRoundPartnersMax, ")");
      }
      if (step.round >= limits.phases_max) {
        return Bad(plan, "node ", v, ": too many rounds (round=", step.round, ", limit=", limits.phases_max - 1, ")");
      }
      for (const uint32_t peer : {step.send_to, step.receive_from}) {
        if (peer != kNobody && (peer >= n || peer == v))
          return Bad(plan, "node ", v, ": bad partner (node=", peer, ")");
      }
    }
  }
  return absl::OkStatus();
}

// Up to this many nodes, plans of all kinds are executed with exact sets of contributions.
constexpr uint32_t kExactNodesMax = 256;

// A Contributions is the symbolic content of a buffer: a multiset hash of nodes' contributions (their number, and the
// sum of one random number per node) and, in an exact run, the set of these nodes.
class Contributions {
 public:
  static Contributions Of(uint32_t node, uint32_t node_count, bool exact) {
    Contributions c;
    c.count_ = 1;
    c.sum_ = Mix64(node + 1);
    if (exact) {
      c.set_.assign((node_count + 63) / 64, 0);
      c.set_[node / 64] |= uint64_t{1} << (node % 64);
    }
    return c;
  }
  void Add(const Contributions& other) {
    count_ += other.count_;
    sum_ += other.sum_;
    if (set_.size() < other.set_.size()) set_.resize(other.set_.size(), 0);
    for (size_t i = 0; i < other.set_.size(); ++i) set_[i] |= other.set_[i];
  }
  uint64_t Distinct() const {
    uint64_t distinct = 0;
    for (const uint64_t word : set_) distinct += static_cast<uint64_t>(__builtin_popcountll(word));
    return distinct;
  }
  friend bool operator==(const Contributions&, const Contributions&) = default;

 private:
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  std::vector<uint64_t> set_;
};

// A SymbolicRun executes all nodes' sequences in some order that their dependencies allow.
class SymbolicRun {
 public:
  SymbolicRun(const Plan& plan, const TeamShape& shape, const CallArguments& arguments, uint32_t rotation)
      : plan_(plan),
        shape_(shape),
        arguments_(arguments),
        rotation_(rotation),
        index_(plan),
        cycle_(plan.kind == PlanKind::kCirculant),
        exact_(plan.kind == PlanKind::kExchange || plan.node_count <= kExactNodesMax) {}

  absl::Status Run() {
    const uint32_t n = plan_.node_count;
    wanted_ = Wanted();
    nodes_.resize(n);
    for (uint32_t v = 0; v < n; ++v) {
      const NodeView view = ViewOf(shape_, plan_, NodeIndex(v), arguments_, rotation_);
      ASSIGN_OR_RETURN(nodes_[v].sequence, Expand(plan_, index_, view, arguments_));
      runnable_.push_back(v);
    }
    while (!runnable_.empty()) {
      const uint32_t v = runnable_.front();
      runnable_.pop_front();
      RETURN_IF_ERROR(Advance(v));
    }
    // Unexpected packets and deadlocks are reported first, since wrong content may be their effect.
    for (uint32_t v = 0; v < n; ++v) RETURN_IF_ERROR(CheckEnded(v));
    for (uint32_t v = 0; v < n; ++v) RETURN_IF_ERROR(CheckContent(v));
    return absl::OkStatus();
  }

 private:
  struct Delivery {
    uint16_t phase = 0;
    bool awaited = false;
    Contributions data;
  };
  struct NodeRun {
    NodeSequence sequence;
    size_t next = 0;
    std::vector<std::pair<uint32_t, uint16_t>> awaited;  // peer and phase of each kRecvFrom since the last kWait
    std::map<uint32_t, Delivery> arrived;                // by sender: the last message
    std::set<uint32_t> received;                         // peers of kRecvFrom so far
    Contributions scratch;
    uint32_t ranks_done = 0;
  };

  absl::StatusOr<Contributions> Read(NodeRun& node, const Buffer& buffer) {
    const uint32_t v = node.sequence.node.value();
    switch (buffer.place) {
      case Place::kNone:
        // A barrier's messages have no data; here they carry the set of nodes that are known to have arrived.
        return node.scratch;
      case Place::kScratch:
        return node.scratch;
      // Ranks of a node count as one contribution: local index 0 stands for the node, the others add nothing, except
      // in a broadcast, where the root rank counts.
      case Place::kRankSend:
        if (buffer.index != 0 && arguments_.collective != Collective::kBcast) return Contributions();
        return Contributions::Of(v, plan_.node_count, exact_);
      case Place::kRankRecv:
      case Place::kNotes:
        return Bad(plan_, "node ", v, " reads a receive buffer");
      case Place::kCell: {
        const auto it = node.arrived.find(buffer.index);
        if (it == node.arrived.end() || !it->second.awaited) {
          return Bad(plan_, "node ", v, " reads what node ", buffer.index, " has not sent");
        }
        return it->second.data;
      }
    }
    return Bad(plan_, "unknown buffer");
  }

  absl::Status Advance(uint32_t v) {
    NodeRun& node = nodes_[v];
    const bool barrier = arguments_.collective == Collective::kBarrier;
    while (node.next < node.sequence.primitives.size()) {
      const Primitive& p = node.sequence.primitives[node.next];
      switch (p.step) {
        case Step::kStart:
          if (barrier) node.scratch = Contributions::Of(v, plan_.node_count, exact_);
          break;
        case Step::kEnd:
        case Step::kRecvLocal:
          break;
        case Step::kRecvFrom:
          if (!node.received.insert(p.peer).second && !cycle_) {
            return Bad(plan_, "node ", v, " awaits node ", p.peer, " twice in one call");
          }
          node.awaited.emplace_back(p.peer, p.phase);
          break;
        case Step::kWait: {
          for (const auto& [peer, phase] : node.awaited) {
            const auto it = node.arrived.find(peer);
            // This step is executed again when a message arrives.
            if (it == node.arrived.end() || it->second.awaited) return absl::OkStatus();
            if (it->second.phase != phase) {
              return Bad(plan_, "node ", v, " awaits node ", peer, " in phase ", phase, ", it sends in phase ",
                         it->second.phase);
            }
          }
          for (const auto& [peer, phase] : node.awaited) {
            Delivery& message = node.arrived[peer];
            message.awaited = true;
            if (barrier) node.scratch.Add(message.data);
          }
          node.awaited.clear();
          break;
        }
        case Step::kReduce: {
          Contributions sum;
          for (const Buffer& operand : p.operands) {
            ASSIGN_OR_RETURN(const Contributions part, Read(node, operand));
            sum.Add(part);
          }
          node.scratch = sum;
          break;
        }
        case Step::kCopyRuns:
          return Bad(plan_, "node ", v, " copies blocks");
        case Step::kCopy: {
          ASSIGN_OR_RETURN(node.scratch, Read(node, p.operands[0]));
          break;
        }
        case Step::kSendTo: {
          ASSIGN_OR_RETURN(Contributions data, Read(node, p.operands[0]));
          const auto [it, is_new] = nodes_[p.peer].arrived.try_emplace(v);
          // On a cycle, sums and results use the same directed edge: the earlier message must have been awaited.
          if (!is_new && !(cycle_ && it->second.awaited)) {
            return Bad(plan_, "node ", v, " sends to node ", p.peer, " twice in one call");
          }
          it->second = {p.phase, false, std::move(data)};
          runnable_.push_back(p.peer);
          break;
        }
        case Step::kDeliver: {
          ASSIGN_OR_RETURN(const Contributions data, Read(node, p.operands[0]));
          if (data != wanted_)
            return Bad(plan_, "node ", v, " delivers a wrong result: not every contribution exactly once");
          ++node.ranks_done;
          break;
        }
        case Step::kRelease:
          ++node.ranks_done;
          break;
      }
      ++node.next;
    }
    return absl::OkStatus();
  }

  Contributions Wanted() const {
    if (arguments_.collective == Collective::kBcast) {
      return Contributions::Of(shape_.NodeOf(Rank(arguments_.root)).value(), plan_.node_count, exact_);
    }
    Contributions all;
    for (uint32_t v = 0; v < plan_.node_count; ++v) all.Add(Contributions::Of(v, plan_.node_count, exact_));
    return all;
  }

  absl::Status CheckEnded(uint32_t v) {
    const NodeRun& node = nodes_[v];
    if (node.next != node.sequence.primitives.size()) {
      return Bad(plan_, "deadlock: node ", v, " waits for ever at '",
                 DescribePrimitive(node.sequence.primitives[node.next]), "'");
    }
    for (const auto& [peer, message] : node.arrived) {
      if (!message.awaited) return Bad(plan_, "node ", peer, " sends to node ", v, ", which does not await it");
    }
    return absl::OkStatus();
  }

  absl::Status CheckContent(uint32_t v) {
    const NodeRun& node = nodes_[v];
    if (node.ranks_done != shape_.RanksOf(NodeIndex(v)).size()) return Bad(plan_, "node ", v, " leaves a rank behind");
    if (arguments_.collective == Collective::kBarrier && exact_ && node.scratch.Distinct() != plan_.node_count) {
      return Bad(plan_, "node ", v, " leaves the barrier before all have entered (heard of=", node.scratch.Distinct(),
                 ", nodes=", plan_.node_count, ")");
    }
    return absl::OkStatus();
  }

  const Plan& plan_;
  const ShapeIndex shape_;
  const CallArguments arguments_;
  const uint32_t rotation_;
  const TreeIndex index_;
  const bool cycle_;
  const bool exact_;
  Contributions wanted_;  // expected content at every rank that gets a result
  std::vector<NodeRun> nodes_;
  std::deque<uint32_t> runnable_;
};

}  // namespace

absl::Status VerifyExecution(const Plan& plan, const TeamShape& shape, const CallArguments& arguments,
                             uint32_t rotation) {
  return SymbolicRun(plan, shape, arguments, rotation).Run();
}

absl::Status VerifyPlan(const Plan& plan, const TeamShape& shape, const VerifyLimits& limits) {
  RETURN_IF_ERROR(CheckShape(shape));
  RETURN_IF_ERROR(CheckSizes(plan, shape, limits));
  if (plan.kind == PlanKind::kTree) return CheckTree(plan, limits);
  if (plan.kind == PlanKind::kCirculant) return CheckCirculant(plan, limits);
  RETURN_IF_ERROR(CheckExchange(plan, limits));
  CallArguments arguments{.collective = plan.collective, .count = std::max(plan.bytes_min, ChunkBytesMax(plan))};
  return VerifyExecution(plan, shape, arguments);
}

absl::Status VerifyPlans(absl::Span<const Plan> plans, const TeamShape& shape, const VerifyLimits& limits) {
  for (size_t i = 0; i < plans.size(); ++i) {
    const Plan& plan = plans[i];
    const auto proven = plans.begin() + static_cast<std::ptrdiff_t>(i);
    const bool is_known =
        std::any_of(plans.begin(), proven, [&](const Plan& before) { return HaveSameTree(before, plan); });
    if (!is_known || !TreeCarries(plan.collective)) {
      RETURN_IF_ERROR(VerifyPlan(plan, shape, limits));
      continue;
    }
    // The tree was proven with the earlier plan, for which all that depends on the tree was checked.
    RETURN_IF_ERROR(CheckSizes(plan, shape, limits));
    RETURN_IF_ERROR(CheckTreeLists(plan));
  }
  const Family family = plans.empty() ? Family::kCommon : FamilyOf(plans[0].collective);
  for (const Plan& plan : plans) {
    if (FamilyOf(plan.collective) != family) {
      return absl::InvalidArgumentError(absl::StrCat("plans: of several families (plan ", plan.id.value(), " is for ",
                                                     AbslView(CollectiveName(plan.collective)),
                                                     ", family=", AbslView(FamilyName(family)), ")"));
    }
  }
  for (const Collective collective : CollectivesOf(family)) {
    uint64_t bytes = 0;
    while (true) {
      const Plan* plan = SelectPlan(plans, collective, bytes);
      if (plan == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat("plans: none (collective=", AbslView(CollectiveName(collective)), ", bytes=", bytes, ")"));
      }
      if (collective == Collective::kBarrier || plan->bytes_max >= kMessageBytesMax) break;
      bytes = plan->bytes_max + 1;
    }
  }
  return absl::OkStatus();
}

}  // namespace copse::schedule
