// SPDX-License-Identifier: Apache-2.0
//
// The objects behind copse_context_t, copse_team_t and copse_request_t.
#ifndef COPSE_CLIENT_CONTEXT_CONTEXT_H_
#define COPSE_CLIENT_CONTEXT_CONTEXT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "client/context/attachment.h"
#include "client/context/completion.h"
#include "client/context/fork_guard.h"
#include "client/context/handle.h"
#include "client/context/memory.h"
#include "client/copse.h"
#include "client/port/arguments.h"
#include "client/port/call_table.h"

// A team, as this process's member sees it.
struct copse_team final : copse::client::Handle {
  explicit copse_team(copse_context* owner) : Handle(Kind::kTeam), context(owner) {}

  copse_context* const context;
  std::string name;
  uint32_t rank = 0;
  uint32_t size = 0;
  uint32_t handle = 0;  // in queue entries
  uint64_t id = 0;      // cluster-wide
  // Guarded by the context's lock, Completion::Lock:
  uint32_t running = 0;   // rounds in progress
  uint64_t subteams = 0;  // created from it so far; the same on all ranks

  copse::client::Completion::Member member() { return {handle, &running}; }
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

// A process's use of its daemon: the parts, and the owner of its teams and requests. Thread-safe, between Attach and
// Detach.
struct copse_context final : copse::client::Handle {
  using Lock = copse::client::Completion::Lock;
  // Teams and requests; owned until they are taken out.
  using Handles = std::map<Handle*, std::unique_ptr<Handle>>;

  copse_context() : Handle(Kind::kContext) {}

  copse_status_t Attach(const copse_init_params_t& params);
  // Gives up everything; only the handle is left.
  void Detach();
  // Notifies the daemon that this process makes no more calls, without waiting for an answer. The teams are destroyed,
  // except those with calls in progress, which Detach leaves.
  void LeaveAllTeams();
  // In a forked child: closes and unmaps, takes no lock, sends nothing.
  void DropInChild();
  bool forked() const { return fork_guard_.forked(); }

  copse::client::Attachment& attachment() { return attachment_; }
  copse::client::Completion& completion() { return completion_; }
  copse::client::Memory& memory() { return memory_; }
  void Add(const Lock& /*lock*/, std::unique_ptr<Handle> handle) {
    Handle* const key = handle.get();
    handles_.emplace(key, std::move(handle));
  }
  // Returns null if the handle was taken before.
  std::unique_ptr<Handle> Take(const Lock& /*lock*/, Handle* handle) {
    auto node = handles_.extract(handle);
    return node.empty() ? nullptr : std::move(node.mapped());
  }
  // Takes a team away from the handles and from its requests. Returns null if it was taken before. *left_later: its
  // calls are in flight, and the team is left when they have ended; else the caller leaves it.
  std::unique_ptr<Handle> TakeTeam(const Lock& lock, copse_team* team, bool* left_later);

  uint64_t message_bytes_max() const { return attachment_.attr().message_bytes_max; }
  double timeout_s() const { return attachment_.timeout_s(); }

 private:
  const copse::client::ForkGuard fork_guard_;
  copse::client::Attachment attachment_;
  copse::client::Completion completion_{&attachment_};
  copse::client::Memory memory_{&attachment_, &completion_};
  Handles handles_;  // guarded by the lock
};

namespace copse::client {

// Check a handle that a caller gave. Errors: INVALID_ARGUMENT if it is null, destroyed, or the parent process's.
copse_status_t Check(const copse_context_t* context);
copse_status_t Check(const copse_team_t* team);
copse_status_t Check(const copse_request_t* request);

}  // namespace copse::client

#endif  // COPSE_CLIENT_CONTEXT_CONTEXT_H_
