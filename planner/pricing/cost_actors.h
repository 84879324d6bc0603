// SPDX-License-Identifier: Apache-2.0
//
// Runs the daemons and ranks of a call in the cost model: they share the cores of their hosts.
#ifndef COPSE_PLANNER_PRICING_COST_ACTORS_H_
#define COPSE_PLANNER_PRICING_COST_ACTORS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "planner/pricing/cost_items.h"
#include "planner/pricing/cost_trace.h"
#include "planner/pricing/team_costs.h"
#include "schedule/plan.h"
#include "sim/cores.h"
#include "sim/event_queue.h"

namespace copse::planner {

struct CostEvent {
  // kDone: an actor ends its turn on a core. kTurn: a rank is ready for one. The CostWork defines the others, and what
  // their numbers mean.
  enum class Kind : uint8_t { kDone, kTurn, kHop, kArrived, kCredit };
  Kind kind;
  uint32_t who;    // kDone: actor; kTurn: rank
  uint32_t where;  // kTurn: the span that made the rank ready
};

// CostWork is the interface by which CostActors runs the work of the daemons, and the network between them.
class CostWork {
 public:
  virtual ~CostWork() = default;
  // Does the daemon's work for the item, and reports each duration by CostActors::Work.
  virtual void RunDaemon(uint32_t node, const CostItem& item) = 0;
  // Handles an event of the kinds kHop, kArrived and kCredit at its time.
  virtual void OnNetwork(int64_t time_ns, const CostEvent& event) = 0;
};

// CostActors runs one call's actors on the cores of their hosts, in order of time. Actors 0..nodes-1 are the daemons,
// actors nodes..nodes+ranks-1 the ranks.
//
// Run is called once. The CostWork calls the other functions from its own, except for those of "After Run".
class CostActors final : private sim::Worker {
 public:
  // The arguments must outlive this object. `*post_ns` is PriceOptions::post_ns.
  CostActors(const schedule::ShapeIndex* shape, const TeamCosts* costs, const std::vector<int64_t>* post_ns,
             CostTrace* trace, CostWork* work);

  // Runs until no event is left. Errors: OUT_OF_RANGE if a time exceeds kPredictionNsMax; the error passed to Fail.
  absl::Status Run();
  void Fail(absl::Status why) { failure_ = std::move(why); }
  bool failed() const { return !failure_.ok(); }

  void Push(int64_t time_ns, CostEvent::Kind kind, uint32_t who, uint32_t where = 0);
  void AddItem(uint32_t node, const CostItem& item);

  // --- In RunDaemon ---
  int64_t now_ns() const { return now_ns_; }
  uint32_t now_span() const { return now_span_; }  // the span that Work added last, or the cause of the first one
  // Adds work of `duration_ns` to the running actor, after its earlier work.
  void Work(uint32_t actor, Doing doing, uint32_t peer, int64_t duration_ns) {
    const int64_t start_ns = now_ns_;
    now_ns_ += duration_ns;
    now_span_ = trace_.Add(actor, doing, peer, start_ns, now_ns_, now_span_);
    actors_[actor].last_span = now_span_;
  }
  // Makes the rank pick up its result from now_ns() on.
  void NotifyRank(uint32_t rank) { Push(now_ns_, CostEvent::Kind::kTurn, rank, now_span_); }

  // --- After Run ---
  const std::vector<int64_t>& completion_ns() const { return completion_ns_; }  // by rank; -1: never
  uint32_t LastSpanOf(uint32_t rank) const { return actors_[nodes_ + rank].last_span; }

 private:
  struct Actor {
    uint32_t host = 0;
    uint32_t last_span = kNoSpan;
    // The following members are for ranks only.
    int64_t ready_ns = 0;
    uint32_t cause = kNoSpan;
    bool posted = false;
  };

  // --- Worker ---
  int64_t Turn(uint32_t actor, int64_t now_ns) override;
  bool HasWork(uint32_t actor) const override { return actor < nodes_ && items_.Has(actor); }

  void RunRank(uint32_t actor);
  void EndTurn(uint32_t actor, int64_t time_ns);
  void GetGoing(uint32_t actor);

  const schedule::ShapeIndex& shape_;
  const int64_t client_hop_ns_;
  const std::vector<int64_t>& post_ns_;
  CostTrace& trace_;
  CostWork& work_;
  const uint32_t nodes_;

  std::vector<Actor> actors_;
  CostItems items_;
  std::vector<uint32_t> released_by_;  // [host]: last span of the latest actor to release a core
  sim::Cores cores_;
  std::vector<int64_t> completion_ns_;
  sim::EventQueue<int64_t, CostEvent> events_;
  int64_t now_ns_ = 0;
  uint32_t now_span_ = kNoSpan;
  absl::Status failure_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_COST_ACTORS_H_
