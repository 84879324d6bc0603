// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/cost_actors.h"

#include "absl/strings/str_cat.h"
#include "base/ids.h"
#include "planner/pricing/prediction.h"

namespace copse::planner {

CostActors::CostActors(const schedule::ShapeIndex* shape, const TeamCosts* costs, const std::vector<int64_t>* post_ns,
                       CostTrace* trace, CostWork* work)
    : shape_(*shape),
      client_hop_ns_(costs->parameters().client_hop_ns),
      post_ns_(*post_ns),
      trace_(*trace),
      work_(*work),
      nodes_(shape->node_count()),
      actors_(nodes_ + shape->size()),
      items_(nodes_),
      released_by_(costs->host_count(), kNoSpan),
      cores_(costs->wake_costs(), this),
      completion_ns_(shape->size(), -1) {
  for (uint32_t h = 0; h < costs->host_count(); ++h) cores_.AddHost(costs->CoresOf(h));
  for (uint32_t v = 0; v < nodes_; ++v) {
    actors_[v].host = costs->node(v).host;
    cores_.AddActor(actors_[v].host, post_ns_.empty() ? -1 : 0);
  }
  for (uint32_t r = 0; r < shape_.size(); ++r) {
    Actor& rank = actors_[nodes_ + r];
    rank.host = costs->node(shape_.NodeOf(Rank(r)).value()).host;
    cores_.AddActor(rank.host);
  }
}

absl::Status CostActors::Run() {
  for (uint32_t r = 0; r < shape_.size(); ++r) {
    if (post_ns_.empty() || post_ns_[r] == 0) {
      cores_.MakeRunnable(nodes_ + r, 0);
    } else {
      Push(post_ns_[r], CostEvent::Kind::kTurn, r, kNoSpan);
    }
  }
  while (!events_.empty() && failure_.ok()) {
    const auto [time_ns, sequence, event] = events_.Pop();
    switch (event.kind) {
      case CostEvent::Kind::kDone:
        EndTurn(event.who, time_ns);
        break;
      case CostEvent::Kind::kTurn: {
        Actor& rank = actors_[nodes_ + event.who];
        rank.ready_ns = time_ns;
        rank.cause = event.where;
        cores_.MakeRunnable(nodes_ + event.who, time_ns);
        break;
      }
      case CostEvent::Kind::kHop:
      case CostEvent::Kind::kArrived:
      case CostEvent::Kind::kCredit:
        work_.OnNetwork(time_ns, event);
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
  events_.Push(time_ns, {kind, who, where});
}

void CostActors::AddItem(uint32_t node, const CostItem& item) {
  items_.Add(node, item);
  cores_.MakeRunnable(node, item.ready_ns);
}

// Runs one item of a daemon, or a rank's post or pick-up. Returns the time at which it ends.
int64_t CostActors::Turn(uint32_t actor, int64_t now_ns) {
  Actor& self = actors_[actor];
  now_ns_ = now_ns;
  if (actor >= nodes_) {
    now_span_ = now_ns == self.ready_ns ? self.cause : released_by_[self.host];
    RunRank(actor);
  } else {
    const CostItem item = items_.Take(actor);
    const bool goes_on = cores_.IdleSinceNs(actor) == now_ns && self.last_span != kNoSpan;
    now_span_ = now_ns == item.ready_ns ? item.cause : goes_on ? self.last_span : released_by_[self.host];
    GetGoing(actor);
    work_.RunDaemon(actor, item);
  }
  Push(now_ns_, CostEvent::Kind::kDone, actor);
  return now_ns_;
}

void CostActors::RunRank(uint32_t actor) {
  const bool posts = !actors_[actor].posted;
  if (!posts) GetGoing(actor);
  Work(actor, posts ? Doing::kPost : Doing::kPickUp, 0, client_hop_ns_);
  if (!posts) completion_ns_[actor - nodes_] = now_ns_;
}

void CostActors::EndTurn(uint32_t actor, int64_t time_ns) {
  Actor& self = actors_[actor];
  if (actor >= nodes_ && !self.posted) {
    self.posted = true;
    const Rank rank(actor - nodes_);
    AddItem(shape_.NodeOf(rank).value(),
            {time_ns, self.last_span, shape_.LocalIndexOf(rank), 0, CostItem::Kind::kRank});
  }
  if (!HasWork(actor)) released_by_[self.host] = self.last_span;
  cores_.End(actor, time_ns);
}

void CostActors::GetGoing(uint32_t actor) {
  const int64_t wake_ns = cores_.WakeNs(actor, now_ns_);
  if (wake_ns > 0) Work(actor, Doing::kWake, 0, wake_ns);
}

}  // namespace copse::planner
