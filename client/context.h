// SPDX-License-Identifier: Apache-2.0
//
// The objects behind copse_context_t, copse_team_t and copse_request_t.
#ifndef COPSE_CLIENT_CONTEXT_H_
#define COPSE_CLIENT_CONTEXT_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/arguments.h"
#include "client/call_queue.h"
#include "client/call_table.h"
#include "client/control_channel.h"
#include "client/copse.h"
#include "client/deadline.h"
#include "client/file_descriptor.h"
#include "client/fork_guard.h"
#include "client/handle.h"

// A team, as this process's member sees it.
struct copse_team final : copse::client::Handle {
  explicit copse_team(copse_context* owner) : Handle(Kind::kTeam), context(owner) {}

  copse_context* const context;
  std::string name;
  uint32_t rank = 0;
  uint32_t size = 0;
  uint32_t handle = 0;  // in queue entries
  uint64_t id = 0;      // cluster-wide
  // Guarded by the context's lock:
  uint32_t running = 0;   // rounds in progress
  uint64_t subteams = 0;  // created from it so far; the same on all ranks
};

// A collective with its arguments, posted any number of times.
struct copse_request final : copse::client::Handle {
  explicit copse_request(copse_context* owner) : Handle(Kind::kRequest), context(owner) {}

  copse_context* const context;
  // Guarded by the context's lock:
  copse_team* team = nullptr;  // null once it was destroyed
  copse::client::CallPlan plan;
  copse::client::Round round;
};

// A process's attachment to its daemon, and the owner of everything that hangs on it.
//
// Thread-safe. One lock guards calls, teams and requests. Of the threads that wait, one (the poller) watches the event
// queue without the lock and takes the events for all; the others sleep on a condition variable, and one of them takes
// over when the poller has what it wanted.
struct copse_context final : copse::client::Handle {
  using Lock = std::unique_lock<std::mutex>;

  copse_context() : Handle(Kind::kContext) {}

  copse_status_t Attach(const copse_init_params_t& params);
  // Gives up everything; the object is a husk afterwards.
  void Detach();
  // Tells the daemon that this process makes no more calls, and does not wait for its answer. Its teams are destroyed,
  // but for those with calls in progress, which Detach leaves.
  void LeaveAllTeams();
  // In a forked child: closes and unmaps, touches no lock, tells nobody.
  void DropInChild();
  bool forked() const { return fork_guard_.forked(); }

  // --- Calls ---
  // Posts, waiting until `patience` for room. Errors: NO_RESOURCE naming what stayed full; NO_DAEMON.
  copse_status_t Post(Lock& lock, copse_team* team, const copse::client::CallPlan& plan, copse::client::Round* round,
                      copse::client::Deadline patience);
  // The round's result; COPSE_ERR_TIMED_OUT if it is still in progress at the deadline.
  copse_status_t Wait(Lock& lock, const char* what, const std::string& team, copse::client::Round* round,
                      copse::client::Deadline deadline);
  // Takes events, and looks now and then whether the daemon is alive.
  void Progress(Lock& lock);
  // Posts, waits, and gives up at the deadline.
  copse_status_t Call(copse_team* team, const copse::client::CallPlan& plan, copse::client::Deadline deadline);
  copse_status_t Ping(copse::client::Deadline deadline);
  // The result of a complete round; sets the last error. An operation of the application's own runs now.
  copse_status_t Result(const char* what, const std::string& team, copse::client::Round* round) const;
  void Cancel(copse::client::Round* round) { queue_->Detach(round); }
  // For who waits for any of many rounds: how often rounds have ended so far, and until they have more often or the
  // deadline.
  uint64_t ends() const { return ends_.load(std::memory_order_acquire); }
  void AwaitEnd(uint64_t seen, copse::client::Deadline deadline);
  // Who is in it returns, unless he is about to fall asleep.
  void InterruptAwaitEnd();

  // --- Handles ---
  void Own(std::unique_ptr<Handle> handle);
  // Takes it out of the context's keeping.
  std::unique_ptr<Handle> Disown(Handle* handle);
  // The daemon keeps a team as long as calls are in flight, which cancelled ones may be. True if that is so: then the
  // context leaves the team of this handle when they are not.
  bool LeaveLater(uint32_t team);
  // Requests of a team that is being destroyed lose it.
  void ForgetTeam(const copse_team* team);

  // --- Memory ---
  copse_status_t Allocate(uint64_t bytes, void** memory);
  copse_status_t Free(void* memory);
  copse_status_t Register(void* memory, uint64_t bytes);
  copse_status_t Deregister(void* memory);
  // Whether all of it is pages of one copse_alloc, which the daemon reads and writes as they lie.
  bool ReachesPages(const void* memory, uint64_t bytes);

  // Where the process counts its early returns; the daemon shows them. Valid, for any thread, while it is attached.
  copse::client::Port& early_counts() { return queue_->port(); }

  std::mutex& mutex() { return mutex_; }
  copse::client::ControlChannel& channel() { return *channel_; }
  uint64_t message_bytes_max() const { return attr_.message_bytes_max; }
  const copse_context_attr_t& attr() const { return attr_; }
  // By COPSE_TIMEOUT; negative: none.
  double timeout_s() const { return timeout_s_; }

 private:
  class Poller;

  copse_status_t CheckAlive() const;
  // Waits for news until `until` or about a slice, whichever is first.
  void AwaitNews(Lock& lock, copse::client::Deadline until);
  void CheckDaemon();
  void Die(copse_status_t status, const std::string& why);
  void DeregisterDropped();
  void LeaveTeams();
  // Adds a bounce region for a call that copies `bytes`, without the lock meanwhile. *added is false if those that
  // there are have to become free first. Errors: NO_RESOURCE: the daemon refuses; NO_MEMORY.
  copse_status_t AddBounce(Lock& lock, uint64_t bytes, bool* added);
  // Makes memory of `bytes`, whole pages, and registers it. *region is 0 if the daemon refuses, *why says why.
  copse_status_t MakeRegion(uint64_t bytes, copse::client::Mapping* mapping, uint32_t* region, std::string* why);
  bool AllocateInDataArea(uint64_t bytes, void** memory);
  copse_status_t AllocateRegion(uint64_t bytes, void** memory);

  const copse::client::ForkGuard fork_guard_;
  std::unique_ptr<copse::client::ControlChannel> channel_;
  copse_context_attr_t attr_{};
  double timeout_s_ = -1;

  std::atomic<uint64_t> ends_{0};
  std::mutex mutex_;  // guards what follows
  std::condition_variable news_;
  bool polling_ = false;
  std::unique_ptr<copse::client::CallQueue> queue_;
  std::map<Handle*, std::unique_ptr<Handle>> owned_;
  std::vector<uint32_t> leaving_;
  copse::client::Deadline next_check_{};
  copse_status_t death_ = COPSE_OK;  // why nothing works any more
  std::string death_text_;
  copse::FailureFacts death_facts_;
};

namespace copse::client {

// Checks a handle that a caller gave. Errors: INVALID_ARGUMENT if it is null, destroyed, or its parent process's.
copse_status_t Check(const copse_context_t* context);
copse_status_t Check(const copse_team_t* team);
copse_status_t Check(const copse_request_t* request);

}  // namespace copse::client

#endif  // COPSE_CLIENT_CONTEXT_H_
