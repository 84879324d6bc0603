// SPDX-License-Identifier: Apache-2.0
//
// Who runs when in a call that the cost model runs: daemons and ranks, which share the cores of their hosts.
#ifndef COPSE_PLANNER_COST_ACTORS_H_
#define COPSE_PLANNER_COST_ACTORS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "planner/cost_trace.h"
#include "planner/team_costs.h"
#include "schedule/plan.h"

namespace copse::planner {

// What a daemon has to do next. Ranks need none of it: they post first and pick up their result second.
struct CostItem {
  enum class Kind : uint8_t { kRank, kPacket, kCredit };
  int64_t ready_ns;
  uint32_t cause;   // span
  uint32_t peer;    // node, or local index of a rank
  uint32_t packet;  // the work's number
  Kind kind;
};

struct CostEvent {
  // The work's are kHop, kArrived and kCredit, and so is what their numbers mean.
  enum class Kind : uint8_t { kDone, kTurn, kHop, kArrived, kCredit };
  int64_t time_ns;
  uint64_t order;  // of creation, in which events of one time happen
  Kind kind;
  uint32_t who;    // kDone: actor; kTurn: rank
  uint32_t where;  // kTurn: span
  friend bool operator>(const CostEvent& a, const CostEvent& b) {
    return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.order > b.order;
  }
};

// What the daemons do, and the network between them.
class CostWork {
 public:
  virtual ~CostWork() = default;
  // The daemon has the item's turn now; what takes time is told by CostActors::Work.
  virtual void RunDaemon(uint32_t node, const CostItem& item) = 0;
  virtual void OnNetwork(const CostEvent& event) = 0;
};

// Actors 0..nodes-1 are the daemons, nodes..nodes+ranks-1 the ranks. A host with limited cores gives them to actors in
// the order in which these became ready, and until they have nothing to do.
//
// Calls: Run once; the others while it calls the work.
class CostActors {
 public:
  // What is given must outlive this object. `post_ns`: of PriceOptions.
  CostActors(const schedule::ShapeIndex* shape, const TeamCosts* costs, const std::vector<int64_t>* post_ns,
             CostTrace* trace, CostWork* work);

  // Until nothing happens any more. OUT_OF_RANGE beyond kPredictionNsMax, and what Fail is given.
  absl::Status Run();
  void Fail(absl::Status why) { failure_ = std::move(why); }
  bool failed() const { return !failure_.ok(); }

  void Push(int64_t time_ns, CostEvent::Kind kind, uint32_t who, uint32_t where = 0);
  void AddItem(uint32_t node, const CostItem& item);

  // --- In a turn ---
  int64_t now_ns() const { return now_ns_; }
  uint32_t now_span() const { return now_span_; }  // what the turn's next span follows
  // The actor whose turn it is is busy with this, after what it did before.
  void Work(uint32_t actor, Doing doing, uint32_t peer, int64_t duration_ns) {
    const int64_t start_ns = now_ns_;
    now_ns_ += duration_ns;
    now_span_ = trace_.Add(actor, doing, peer, start_ns, now_ns_, now_span_);
    actors_[actor].last_span = now_span_;
  }
  // The rank is told now that its results are there.
  void TellRank(uint32_t rank) { Push(now_ns_, CostEvent::Kind::kTurn, rank, now_span_); }

  // --- After Run ---
  const std::vector<int64_t>& completion_ns() const { return completion_ns_; }  // by rank; -1: never
  uint32_t LastSpanOf(uint32_t rank) const { return actors_[nodes_ + rank].last_span; }

 private:
  static constexpr uint32_t kNoItem = 0xffffffff;
  struct QueuedItem {
    CostItem item;
    uint32_t next = kNoItem;  // in its actor's queue
  };
  struct Actor {
    uint32_t first_item = kNoItem, last_item = kNoItem;  // in items_: a queue
    int64_t idle_since_ns = -1;                          // -1: has never run
    int64_t ready_ns = 0;                                // of ranks
    uint32_t cause = kNoSpan;                            // of ranks
    uint32_t last_span = kNoSpan;
    uint32_t host = 0;
    int64_t runnable_at_ns = 0;  // on a host with limited cores
    bool busy = false;           // running, or in its host's queue
    bool waited = false;         // for a core, before it runs now
    bool posted = false;         // of ranks
  };
  struct Host {
    std::deque<uint32_t> runnable;
    uint32_t cores_free = 0;
    bool limited = false;
    uint32_t last_span = kNoSpan;  // of the actor that gave a core back last
    int64_t wanted_at_ns = -1;     // when somebody last had to wait for a core
  };

  void MakeRunnable(uint32_t actor, int64_t time_ns);
  void GiveCores(uint32_t host, int64_t time_ns);
  void RunActor(uint32_t actor, int64_t time_ns);
  void GetGoing(uint32_t actor, int64_t time_ns);
  void RunRank(uint32_t actor);
  void Finish(uint32_t actor, int64_t time_ns);

  const schedule::ShapeIndex& shape_;
  const CostParameters& parameters_;
  const std::vector<int64_t>& post_ns_;
  CostTrace& trace_;
  CostWork& work_;
  const uint32_t nodes_;

  std::vector<Actor> actors_;
  std::vector<QueuedItem> items_;
  std::vector<Host> hosts_;
  std::vector<int64_t> completion_ns_;
  std::priority_queue<CostEvent, std::vector<CostEvent>, std::greater<CostEvent>> events_;
  uint64_t event_count_ = 0;
  int64_t now_ns_ = 0;
  uint32_t now_span_ = kNoSpan;
  absl::Status failure_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_COST_ACTORS_H_
