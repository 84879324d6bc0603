// SPDX-License-Identifier: Apache-2.0
#include "planner/cost_actors.h"

#include "absl/strings/str_cat.h"
#include "base/ids.h"
#include "planner/prediction.h"

namespace copse::planner {

CostActors::CostActors(const schedule::ShapeIndex* shape, const TeamCosts* costs, const std::vector<int64_t>* post_ns,
                       CostTrace* trace, CostWork* work)
    : shape_(*shape),
      parameters_(costs->parameters()),
      post_ns_(*post_ns),
      trace_(*trace),
      work_(*work),
      nodes_(shape->node_count()),
      actors_(nodes_ + shape->size()),
      hosts_(costs->host_count()),
      completion_ns_(shape->size(), -1) {
  for (uint32_t v = 0; v < nodes_; ++v) {
    actors_[v].host = costs->node(v).host;
    if (!post_ns_.empty()) actors_[v].idle_since_ns = 0;
  }
  for (uint32_t r = 0; r < shape_.size(); ++r) {
    actors_[nodes_ + r].host = costs->node(shape_.NodeOf(Rank(r)).value()).host;
  }
  for (uint32_t h = 0; h < hosts_.size(); ++h) {
    hosts_[h].cores_free = costs->CoresOf(h);
    hosts_[h].limited = hosts_[h].cores_free > 0;
  }
}

absl::Status CostActors::Run() {
  for (uint32_t r = 0; r < shape_.size(); ++r) {
    if (post_ns_.empty() || post_ns_[r] == 0) {
      MakeRunnable(nodes_ + r, 0);
    } else {
      Push(post_ns_[r], CostEvent::Kind::kTurn, r, kNoSpan);
    }
  }
  while (!events_.empty() && failure_.ok()) {
    const CostEvent event = events_.top();
    events_.pop();
    switch (event.kind) {
      case CostEvent::Kind::kDone:
        Finish(event.who, event.time_ns);
        break;
      case CostEvent::Kind::kTurn: {
        Actor& rank = actors_[nodes_ + event.who];
        rank.ready_ns = event.time_ns;
        rank.cause = event.where;
        MakeRunnable(nodes_ + event.who, event.time_ns);
        break;
      }
      case CostEvent::Kind::kHop:
      case CostEvent::Kind::kArrived:
      case CostEvent::Kind::kCredit:
        work_.OnNetwork(event);
        break;
    }
  }
  return failure_;
}

void CostActors::Push(int64_t time_ns, CostEvent::Kind kind, uint32_t who, uint32_t where) {
  if (time_ns > kPredictionNsMax) {
    failure_ = absl::OutOfRangeError(
        absl::StrCat("the prediction is beyond its range (ns=", time_ns, ", limit=", kPredictionNsMax, ")"));
    return;
  }
  events_.push({time_ns, event_count_++, kind, who, where});
}

void CostActors::AddItem(uint32_t node, const CostItem& item) {
  Actor& actor = actors_[node];
  const uint32_t index = static_cast<uint32_t>(items_.size());
  items_.push_back({item});
  (actor.first_item == kNoItem ? actor.first_item : items_[actor.last_item].next) = index;
  actor.last_item = index;
  MakeRunnable(node, item.ready_ns);
}

void CostActors::MakeRunnable(uint32_t actor, int64_t time_ns) {
  if (actors_[actor].busy) return;
  actors_[actor].busy = true;
  const uint32_t host = actors_[actor].host;
  if (!hosts_[host].limited) return RunActor(actor, time_ns);
  actors_[actor].runnable_at_ns = time_ns;
  hosts_[host].runnable.push_back(actor);
  GiveCores(host, time_ns);
}

void CostActors::GiveCores(uint32_t host, int64_t time_ns) {
  Host& here = hosts_[host];
  while (here.cores_free > 0 && !here.runnable.empty()) {
    const uint32_t actor = here.runnable.front();
    here.runnable.pop_front();
    --here.cores_free;
    actors_[actor].waited = time_ns > actors_[actor].runnable_at_ns;
    if (actors_[actor].waited) here.wanted_at_ns = time_ns;
    RunActor(actor, time_ns);
  }
}

// One item of a daemon, or one turn of a rank.
void CostActors::RunActor(uint32_t actor, int64_t time_ns) {
  Actor& self = actors_[actor];
  now_ns_ = time_ns;
  if (actor >= nodes_) {
    now_span_ = time_ns == self.ready_ns ? self.cause : hosts_[self.host].last_span;
    RunRank(actor);
  } else {
    const auto [item, next] = items_[self.first_item];
    self.first_item = next;
    const bool goes_on = self.idle_since_ns == time_ns && self.last_span != kNoSpan;
    now_span_ = time_ns == item.ready_ns ? item.cause : goes_on ? self.last_span : hosts_[self.host].last_span;
    if (self.idle_since_ns != time_ns) GetGoing(actor, time_ns);
    work_.RunDaemon(actor, item);
  }
  self.idle_since_ns = now_ns_;
  Push(now_ns_, CostEvent::Kind::kDone, actor);
}

void CostActors::Finish(uint32_t actor, int64_t time_ns) {
  Actor& self = actors_[actor];
  if (actor >= nodes_ && !self.posted) {
    self.posted = true;
    const Rank rank(actor - nodes_);
    AddItem(shape_.NodeOf(rank).value(),
            {time_ns, self.last_span, shape_.LocalIndexOf(rank), 0, CostItem::Kind::kRank});
  } else if (self.first_item != kNoItem) {
    return RunActor(actor, time_ns);  // it keeps its core
  }
  self.busy = false;
  Host& host = hosts_[self.host];
  if (!host.limited) return;
  ++host.cores_free;
  host.last_span = self.last_span;
  GiveCores(self.host, time_ns);
}

// What it takes until an actor without a core does something. While it spins it has one, unless others want it.
void CostActors::GetGoing(uint32_t actor, int64_t time_ns) {
  const Actor& self = actors_[actor];
  const bool spins = self.idle_since_ns >= 0 && time_ns - self.idle_since_ns <= parameters_.spin_ns;
  if (spins && !self.waited && hosts_[self.host].wanted_at_ns < self.idle_since_ns) return;
  Work(actor, Doing::kWake, 0, self.waited ? parameters_.takeover_ns : parameters_.wake_ns);
}

void CostActors::RunRank(uint32_t actor) {
  const bool posts = !actors_[actor].posted;
  if (!posts) GetGoing(actor, now_ns_);
  Work(actor, posts ? Doing::kPost : Doing::kPickUp, 0, parameters_.client_hop_ns);
  if (!posts) completion_ns_[actor - nodes_] = now_ns_;
}

}  // namespace copse::planner
