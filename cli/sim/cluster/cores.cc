// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/cluster/cores.h"

#include "absl/time/time.h"
#include "base/check.h"

namespace copse::sim {

int64_t NowNs(const Simulator& simulator) { return absl::ToUnixNanos(simulator.Now()); }

void Cores::MakeRunnable(uint32_t actor) {
  Actor& self = actors_[actor];
  if (self.busy) return;
  self.busy = true;
  Host& host = hosts_[self.host];
  if (!host.limited) return Run(actor);
  self.runnable_at = NowNs();
  host.runnable.push_back(actor);
  GiveCores(&host);
}

void Cores::GiveCores(Host* host) {
  while (host->cores_free > 0 && !host->runnable.empty()) {
    const uint32_t actor = host->runnable.front();
    host->runnable.pop_front();
    --host->cores_free;
    const int64_t now = NowNs();
    actors_[actor].waited = now > actors_[actor].runnable_at;
    if (actors_[actor].waited) host->wanted_at = now;
    Run(actor);
  }
}

void Cores::Run(uint32_t actor) {
  const int64_t end = worker_->Turn(actor);
  CHECK_GE(end, NowNs());
  actors_[actor].idle_since = end;
  simulator_->At(absl::FromUnixNanos(end), actor, [this, actor] { End(actor); });
}

void Cores::End(uint32_t actor) {
  Actor& self = actors_[actor];
  if (worker_->HasWork(actor)) return Run(actor);
  self.busy = false;
  Host& host = hosts_[self.host];
  if (!host.limited) return;
  ++host.cores_free;
  GiveCores(&host);
}

int64_t Cores::WakeNs(uint32_t actor) const {
  const Actor& self = actors_[actor];
  const int64_t now = NowNs();
  if (self.idle_since == now) return 0;
  const bool spins = self.idle_since >= 0 && now - self.idle_since <= parameters_.spin_ns;
  if (spins && !self.waited && hosts_[self.host].wanted_at < self.idle_since) return 0;
  return self.waited ? parameters_.takeover_ns : parameters_.wake_ns;
}

}  // namespace copse::sim
