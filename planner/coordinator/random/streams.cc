// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/random/streams.h"

#include "planner/coordinator/random/fake_daemon.h"
#include "planner/coordinator/random/planner.h"
#include "planner/coordinator/random/world.h"

namespace copse::coordinator {

void Streams::Connect(FakeDaemon& daemon) {
  if (daemon.session != 0) return;
  Planner& planner = world_->SomePlanner();
  if (planner.paused) return;
  daemon.session = ++sessions_;
  Link& link = links_[daemon.session];
  link.daemon = daemon.key().first;
  link.planner = &planner;
  planner.coordinator->OnConnected(daemon.session);
  link.to_planner.push_back(daemon.Registration());
}

void Streams::Cut(FakeDaemon& daemon) {
  if (daemon.session == 0) return;
  Prng& prng = world_->prng;
  const SessionId session = daemon.session;
  daemon.LoseStream();
  Link& link = links_.at(session);
  while (!link.to_planner.empty() && prng.Chance(0.7)) link.to_planner.pop_back();
  link.to_daemon.clear();
  link.is_cut = true;
  if (link.planner == nullptr) {
    links_.erase(session);
  } else if (!link.planner->paused && prng.Chance(0.5)) {
    Disconnect(session);
  }
}

void Streams::Disconnect(SessionId session) {
  Planner* const planner = links_.at(session).planner;
  links_.erase(session);
  if (planner != nullptr && !planner->dead) planner->coordinator->OnDisconnected(session);
}

void Streams::PlannerEnded(const Planner& planner) {
  Prng& prng = world_->prng;
  for (auto& [session, link] : links_) {
    if (link.planner != &planner) continue;
    link.planner = nullptr;
    link.to_planner.clear();
    if (prng.Chance(0.7)) link.to_daemon.clear();
    while (!link.to_daemon.empty() && prng.Chance(0.3)) link.to_daemon.pop_back();
    link.closed = "the planner ended";
  }
}

void Streams::SendToPlanner(SessionId session, const schedule::FromDaemon& message) {
  links_.at(session).to_planner.push_back(message);
}

void Streams::Send(SessionId session, const schedule::ToDaemon& message) {
  const auto link = links_.find(session);
  if (link != links_.end() && !link->second.is_cut) link->second.to_daemon.push_back(message);
}

void Streams::Close(SessionId session, const std::string& why) {
  const auto link = links_.find(session);
  if (link != links_.end()) link->second.closed = why;
}

std::vector<Streams::Ready> Streams::AllReady() const {
  std::vector<Ready> ready;
  for (const auto& [session, link] : links_) {
    const bool awake = link.planner != nullptr && !link.planner->paused;
    if (awake && (!link.to_planner.empty() || link.is_cut)) ready.push_back({session, true});
    if (!link.is_cut && (!link.to_daemon.empty() || link.closed.has_value())) ready.push_back({session, false});
  }
  return ready;
}

bool Streams::Deliver() {
  const std::vector<Ready> ready = AllReady();
  if (ready.empty() || world_->prng.Chance(0.1)) {
    const bool commits = world_->ProceedCommits();
    if (ready.empty() || commits) return commits;
  }
  const Ready& some = ready[world_->prng.Below(ready.size())];
  if (some.to_planner) {
    DeliverToPlanner(some.session);
  } else {
    DeliverToDaemon(some.session);
  }
  return true;
}

void Streams::DeliverToPlanner(SessionId session) {
  Link& link = links_.at(session);
  if (link.to_planner.empty()) return Disconnect(session);
  const schedule::FromDaemon message = link.to_planner.front();
  link.to_planner.pop_front();
  link.planner->coordinator->OnMessage(session, message);
}

void Streams::DeliverToDaemon(SessionId session) {
  Link& link = links_.at(session);
  FakeDaemon& daemon = *world_->daemons.at(link.daemon);
  if (link.to_daemon.empty()) {
    if (daemon.session == session) daemon.LoseStream();
    return Disconnect(session);
  }
  const schedule::ToDaemon message = link.to_daemon.front();
  link.to_daemon.pop_front();
  daemon.OnMessage(message);
}

}  // namespace copse::coordinator
