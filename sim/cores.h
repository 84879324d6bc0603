// SPDX-License-Identifier: Apache-2.0
//
// Schedules daemons and ranks on the cores of their hosts by the rules of docs/reference/cost-model.md.
#ifndef COPSE_SIM_CORES_H_
#define COPSE_SIM_CORES_H_

#include <cstdint>
#include <deque>
#include <vector>

namespace copse::sim {

// A Worker does the work of the actors, which Cores schedules. Actors are numbered from 0 in the order of AddActor;
// times are nanoseconds of the caller's clock.
class Worker {
 public:
  virtual ~Worker() = default;
  // Runs one turn of `actor`, which begins at `now_ns`. Returns the time of its end, not before now; the worker then
  // calls Cores::End at that time.
  virtual int64_t Turn(uint32_t actor, int64_t now_ns) = 0;
  // Returns whether the actor has work for another turn, so that it keeps its core.
  virtual bool HasWork(uint32_t actor) const = 0;
};

// WakeCosts are the times that an actor which had no work spends before it runs.
struct WakeCosts {
  int64_t spin_ns = 0;     // time after its last turn in which it polls, and so runs at once
  int64_t wake_ns = 0;     // cost if it slept and a core is free
  int64_t handoff_ns = 0;  // cost if it waited for a core that another actor had
};

// Cores gives actors their turns. On a host with c cores at most c actors run at once; they get a core in the order
// in which they became runnable and keep it until they have no work. On a host with 0 cores no actor ever waits.
// `*worker` must outlive this object. Single-threaded; the times of calls ascend.
class Cores {
 public:
  Cores(const WakeCosts& costs, Worker* worker) : costs_(costs), worker_(worker) {}
  Cores(const Cores&) = delete;
  Cores& operator=(const Cores&) = delete;

  void AddHost(uint32_t cores) { hosts_.push_back({.cores_free = cores, .limited = cores > 0}); }
  // Adds an actor with the next number. `idle_since_ns`: end of its last turn; -1 if it has never run.
  void AddActor(uint32_t host, int64_t idle_since_ns = -1) {
    actors_.push_back({.host = host, .idle_since_ns = idle_since_ns});
  }

  // Announces work for the actor: its turn begins now, or when it gets a core. It has no effect while the actor runs or
  // waits for a core.
  void MakeRunnable(uint32_t actor, int64_t now_ns);
  // Ends the actor's turn: runs its next one if it has work, else frees its core. The worker calls it at the time that
  // Turn returned.
  void End(uint32_t actor, int64_t now_ns);

  // Returns the time that the actor spends before it runs: 0 if it ran until now or still spins. The worker calls it
  // from within Turn.
  int64_t WakeNs(uint32_t actor, int64_t now_ns) const;
  // Returns the end of the actor's last turn; -1 if it has never run.
  int64_t IdleSinceNs(uint32_t actor) const { return actors_[actor].idle_since_ns; }

 private:
  struct Actor {
    uint32_t host = 0;
    int64_t idle_since_ns = -1;
    int64_t runnable_at_ns = 0;
    bool busy = false;    // running, or in its host's queue
    bool waited = false;  // had to wait for a core before this turn
  };
  struct Host {
    std::deque<uint32_t> runnable = {};
    uint32_t cores_free = 0;
    bool limited = false;
    int64_t wanted_at_ns = -1;  // last time that an actor which had waited got a core
  };

  void Run(uint32_t actor, int64_t now_ns) { actors_[actor].idle_since_ns = worker_->Turn(actor, now_ns); }
  void GiveCores(Host* host, int64_t now_ns);

  const WakeCosts costs_;
  Worker* const worker_;
  std::vector<Actor> actors_;
  std::vector<Host> hosts_;
};

}  // namespace copse::sim

#endif  // COPSE_SIM_CORES_H_
