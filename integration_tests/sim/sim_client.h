// SPDX-License-Identifier: Apache-2.0
//
// A simulated application process: runs a script against its node's daemon core, in virtual time.
#ifndef COPSE_INTEGRATION_TESTS_SIM_SIM_CLIENT_H_
#define COPSE_INTEGRATION_TESTS_SIM_SIM_CLIENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/daemon_core.h"
#include "schedule/testing/rank_data.h"
#include "sim/simulator.h"
#include "testbed/script/script.h"

namespace copse::scenario {

// A client's interface to its node.
class ClientHost {
 public:
  virtual ~ClientHost() = default;
  // Returns null while the daemon is down.
  virtual daemon::DaemonCore* core() = 0;
  // Signals that the daemon's loop has work.
  virtual void Kick() = 0;
};

// A SimClient attaches when it starts and runs its steps one after another. Notifications of its daemon are handled
// in an event of their own, a hop later. `*simulator` and `*host` must outlive it.
class SimClient : public daemon::ClientSink {
 public:
  SimClient(sim::Simulator* simulator, sim::ActorId actor, ClientHost* host, Script script);
  ~SimClient() override;

  void Start();
  void Kill();  // like SIGKILL: its daemon learns of the death
  void Stop() { stopped_ = true; }
  void Continue();
  void DaemonDied();  // every wait ends with an error

  bool ended() const { return ended_; }
  std::vector<Outcome> outcomes() const;

  void OnEvent(const daemon::ClientEvent& event) override;
  void OnTeamReady(uint64_t request, uint32_t handle, const schedule::TeamLayout& layout) override;
  void OnTeamFailed(uint64_t request, const schedule::FailureReport& why) override;
  void OnTeamDestroyed(uint64_t request, const schedule::FailureReport& why) override;
  void OnClosing(const std::string&) override {}

 private:
  struct TeamSlot {
    uint32_t handle = 0;
    uint32_t rank = 0;
    uint32_t size = 0;
    std::string name;
    uint32_t children = 0;  // sub-teams made so far: part of their names
  };
  // A posted call: its buffers live until its event.
  struct Request {
    size_t step = 0;
    schedule::RankData data;
    uint64_t send_hash = 0;
    std::vector<uint8_t> receive;  // with guard bytes around it
  };

  void Later(std::function<void()> event);  // runs in an event of its own; kept while stopped
  void Run();                               // runs steps until one has to wait
  bool RunStep(const Step& step);           // false: it waits, or the script is over
  void PostCall(const Step& step);
  void Finish(size_t step, Outcome outcome);
  void Resume();
  static bool CheckResult(const Request& request);

  sim::Simulator* const simulator_;
  const sim::ActorId actor_;
  ClientHost* const host_;
  const Script script_;
  std::shared_ptr<bool> alive_;  // events of a destroyed client do nothing
  std::optional<daemon::ClientId> id_;
  size_t next_ = 0;
  bool waiting_ = false;
  bool stopped_ = false;
  bool ended_ = false;
  bool daemon_dead_ = false;
  uint64_t wait_number_ = 0;  // wait that a timer belongs to
  std::map<uint32_t, TeamSlot> teams_;
  std::map<uint64_t, Request> requests_;  // in flight, by value
  std::optional<uint64_t> awaited_;       // kCall: only this one; else all
  uint64_t next_value_ = 1;
  std::map<size_t, Outcome> outcomes_;  // by step
  std::vector<std::function<void()>> held_;
};

}  // namespace copse::scenario

#endif  // COPSE_INTEGRATION_TESTS_SIM_SIM_CLIENT_H_
