// SPDX-License-Identifier: Apache-2.0
//
// Whose turn it is: daemons and ranks on the cores of their hosts, as docs/reference/cost-model.md says.
#ifndef COPSE_CLI_SIM_CLUSTER_CORES_H_
#define COPSE_CLI_SIM_CLUSTER_CORES_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "planner/topology/cost_parameters.h"
#include "sim/simulator.h"

namespace copse::sim {

// Virtual time as an integer, which predictions can be equal to: nanoseconds since the simulator's start.
int64_t NowNs(const Simulator& simulator);

// What runs on cores. Actors are numbered from 0.
class Worker {
 public:
  virtual ~Worker() = default;
  // One turn of `actor`, which starts now. Returns when it ends, not before now.
  virtual int64_t Turn(uint32_t actor) = 0;
  // Whether there is something for another turn: then the actor keeps its core.
  virtual bool HasWork(uint32_t actor) const = 0;
};

// Cores gives actors their turns. On a host with c cores at most c actors run at once; they get a core in the order in
// which they became runnable and keep it until they have no work. A host with 0 cores never lets anybody wait.
// `*simulator` and `*worker` outlive it. Single-threaded.
class Cores {
 public:
  Cores(Simulator* simulator, const topology::CostParameters& parameters, Worker* worker)
      : simulator_(simulator), parameters_(parameters), worker_(worker) {}
  Cores(const Cores&) = delete;
  Cores& operator=(const Cores&) = delete;

  void AddHost(uint32_t cores) { hosts_.push_back({.cores_free = cores, .limited = cores > 0}); }
  void AddActor(uint32_t host) { actors_.push_back({.host = host}); }

  int64_t NowNs() const { return sim::NowNs(*simulator_); }

  // There is work for the actor: its turn comes now, or once it has a core.
  void MakeRunnable(uint32_t actor);

  // In a turn: what it costs the actor to get going. Nothing if it goes on or still spins, `takeover` if it had to wait
  // for a core, else `wake`.
  int64_t WakeNs(uint32_t actor) const;

 private:
  struct Actor {
    uint32_t host = 0;
    int64_t idle_since = -1;  // -1: has never run
    int64_t runnable_at = 0;
    bool busy = false;    // running, or in its host's queue
    bool waited = false;  // for a core, before it runs now
  };
  struct Host {
    std::deque<uint32_t> runnable = {};
    uint32_t cores_free = 0;
    bool limited = false;
    int64_t wanted_at = -1;  // when somebody last had to wait for a core
  };

  void Run(uint32_t actor);
  void End(uint32_t actor);
  void GiveCores(Host* host);

  Simulator* const simulator_;
  const topology::CostParameters parameters_;
  Worker* const worker_;
  std::vector<Actor> actors_;
  std::vector<Host> hosts_;
};

}  // namespace copse::sim

#endif  // COPSE_CLI_SIM_CLUSTER_CORES_H_
