// SPDX-License-Identifier: Apache-2.0
//
// What fuzz targets of a whole daemon core share: the core with its surroundings, and an input that is a list of steps.
#ifndef COPSE_DAEMON_CORE_TESTING_FUZZED_CORE_H_
#define COPSE_DAEMON_CORE_TESTING_FUZZED_CORE_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/testing/fake_clock.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/core/daemon_core.h"
#include "offload_emu/testing/fake_transport.h"
#include "protocol/control.h"

namespace copse::daemon {

// Ahead of each step's bytes. What the fields mean is the target's.
struct StepHead {
  uint8_t step = 0;    // which
  uint8_t number = 0;  // of somebody or something
  uint16_t count = 0;  // likewise
  uint16_t bytes = 0;  // that follow; beyond the input's end: what is left
};

// As Run takes it.
std::string EncodeStep(StepHead head, std::string_view body = "");

// A FuzzedCore is node "n0" on a fake clock and a network that forgets what is sent, with one client attached whose
// answers are counted: a second one to a post is a failure. A target derives from it and says what a step does.
class FuzzedCore : public PlannerLink, public ClientSink {
 public:
  static constexpr uint64_t kIncarnation = 100;  // of the node

  // Takes the input's steps one after the other, 64 at most; after each the core runs until it has nothing to do.
  void Run(std::string_view input);

  // --- PlannerLink ---
  void Send(const schedule::FromDaemon&) override {}

  // --- ClientSink ---
  void OnEvent(const ClientEvent& event) override;
  void OnTeamReady(uint64_t, uint32_t handle, const schedule::TeamLayout&) override { handle_ = handle; }
  void OnTeamFailed(uint64_t, const schedule::FailureReport&) override {}
  void OnTeamDestroyed(uint64_t, const schedule::FailureReport&) override {}
  void OnClosing(const std::string&) override {}

 protected:
  FuzzedCore();  // without a planner

  virtual void Take(const StepHead& head, std::string_view body) = 0;

  // The client posts, to the team that it was told last: `post` without handle, value and addresses. Each post has
  // memory of its own, since calls may wait for each other.
  void Post(CallPost post);
  // Until there is nothing to do.
  void Turn();
  // The client dies; posts that have no answer get none any more.
  void End();
  void Attach();  // another one, in place of the one that has died

  DaemonCore& core() { return core_; }
  FakeClock& clock() { return clock_; }
  emu::FakeTransport& transport() { return transport_; }
  ClientId client() const { return client_; }
  uint32_t handle() const { return handle_; }  // 0: no team yet
  size_t unanswered() const { return unanswered_.size(); }

 private:
  FakeClock clock_;
  emu::FakeTransport transport_;
  std::vector<std::vector<uint8_t>> memory_;  // of the posts, two each
  std::set<uint64_t> unanswered_;             // values of posts
  uint32_t handle_ = 0;
  ClientId client_ = 0;
  DaemonCore core_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TESTING_FUZZED_CORE_H_
