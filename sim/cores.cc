// SPDX-License-Identifier: Apache-2.0
#include "sim/cores.h"

namespace copse::sim {

void Cores::MakeRunnable(uint32_t actor, int64_t now_ns) {
  Actor& self = actors_[actor];
  if (self.busy) return;
  self.busy = true;
  Host& host = hosts_[self.host];
  if (!host.limited) return Run(actor, now_ns);
  self.runnable_at_ns = now_ns;
  host.runnable.push_back(actor);
  GiveCores(&host, now_ns);
}

void Cores::GiveCores(Host* host, int64_t now_ns) {
  while (host->cores_free > 0 && !host->runnable.empty()) {
    const uint32_t actor = host->runnable.front();
    host->runnable.pop_front();
    --host->cores_free;
    actors_[actor].waited = now_ns > actors_[actor].runnable_at_ns;
    if (actors_[actor].waited) host->wanted_at_ns = now_ns;
    Run(actor, now_ns);
  }
}

void Cores::End(uint32_t actor, int64_t now_ns) {
  if (worker_->HasWork(actor)) return Run(actor, now_ns);
  Actor& self = actors_[actor];
  self.busy = false;
  Host& host = hosts_[self.host];
  if (!host.limited) return;
  ++host.cores_free;
  GiveCores(&host, now_ns);
}

int64_t Cores::WakeNs(uint32_t actor, int64_t now_ns) const {
  const Actor& self = actors_[actor];
  if (self.idle_since_ns == now_ns) return 0;
  const bool spins = self.idle_since_ns >= 0 && now_ns - self.idle_since_ns <= costs_.spin_ns;
  if (spins && !self.waited && hosts_[self.host].wanted_at_ns < self.idle_since_ns) return 0;
  return self.waited ? costs_.handoff_ns : costs_.wake_ns;
}

}  // namespace copse::sim
