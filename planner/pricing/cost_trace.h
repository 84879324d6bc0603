// SPDX-License-Identifier: Apache-2.0
//
// Records what nodes and ranks do in a call that the cost model runs. The critical path and the timeline are made from
// it.
#ifndef COPSE_PLANNER_PRICING_COST_TRACE_H_
#define COPSE_PLANNER_PRICING_COST_TRACE_H_

#include <cstdint>
#include <vector>

#include "planner/pricing/prediction.h"
#include "schedule/plan.h"

namespace copse::planner {

// Doing is the kind of a span. kDoings in cost_trace.cc has the names in this order.
enum class Doing : uint8_t {
  kPost,
  kPickUp,
  kWake,
  kTakeRank,
  kArm,
  kReceive,
  kReduce,
  kCopy,
  kSend,
  kDeliver,
  kTransfer
};

inline constexpr uint32_t kNoSpan = 0xffffffff;

// A CostTrace keeps spans, numbered in the order in which they are added: intervals in which an actor was busy, and
// transfers. Actors are the nodes' daemons, then the ranks. If it is off, it keeps nothing and every number is kNoSpan.
class CostTrace {
 public:
  // `*shape` must outlive this object.
  CostTrace(const schedule::ShapeIndex* shape, bool on) : shape_(*shape), on_(on) {}

  // Adds a span. `peer` is a node, or the local index of a rank. `cause` is the span that delayed this one's start, or
  // kNoSpan.
  uint32_t Add(uint32_t actor, Doing doing, uint32_t peer, int64_t start, int64_t end, uint32_t cause) {
    if (!on_) return kNoSpan;
    spans_.push_back({start, end, actor, peer, cause, doing});
    return static_cast<uint32_t>(spans_.size() - 1);
  }
  // Adds the transfer of span `sent` of node `from`, which arrives at node `to` at `end`.
  uint32_t AddTransfer(uint32_t from, uint32_t to, uint32_t sent, int64_t end) {
    return on_ ? Add(from, Doing::kTransfer, to, spans_[sent].end, end, sent) : kNoSpan;
  }

  // Returns the path from cause to effect that ends with span `last`; empty for kNoSpan.
  std::vector<PathStep> PathTo(uint32_t last) const;
  // Returns the actors' steps in order of their start, without those of zero duration.
  std::vector<PathStep> Timeline() const;

 private:
  struct Span {
    int64_t start, end;
    uint32_t actor, peer, cause;
    Doing doing;
  };

  PathStep StepOf(const Span& span) const;

  const schedule::ShapeIndex& shape_;
  const bool on_;
  std::vector<Span> spans_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_COST_TRACE_H_
