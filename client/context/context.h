// SPDX-License-Identifier: Apache-2.0
//
// Defines the objects behind copse_context_t, copse_team_t and copse_request_t.
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

// A copse_team is this process's membership of a team. Its plain fields are set before its handle is returned.
struct copse_team final : copse::client::Handle {
  explicit copse_team(copse_context* owner) : Handle(Kind::kTeam), context(owner) {}

  copse_context* const context;
  std::string name;
  uint32_t rank = 0;
  uint32_t size = 0;
  uint32_t handle = 0;  // in queue entries
  uint64_t id = 0;      // cluster-wide
  // The context's lock, Completion::Lock, guards these:
  uint32_t running = 0;   // rounds in progress
  uint64_t subteams = 0;  // creations of sub-teams that were started; equal on all ranks

  copse::client::Completion::Member member() { return {handle, &running}; }
};

// A copse_request is a collective with its arguments, which may be posted any number of times.
struct copse_request final : copse::client::Handle {
  explicit copse_request(copse_context* owner) : Handle(Kind::kRequest), context(owner) {}

  copse_context* const context;
  // The context's lock guards these:
  copse_team* team = nullptr;  // null if the team was destroyed
  copse::client::CallPlan plan;
  copse::client::Round round;
};

// A copse_context is a process's attachment to its daemon with all its calls and memory, and owns its teams and
// requests. Calls follow Attach, any others, Detach (or DropInChild in a forked child). Thread-safe between these.
struct copse_context final : copse::client::Handle {
  using Lock = copse::client::Completion::Lock;
  // Handles are the owned teams and requests, by address.
  using Handles = std::map<Handle*, std::unique_ptr<Handle>>;

  copse_context() : Handle(Kind::kContext) {}

  // Errors are those of Attachment::Attach; the context can then only be destroyed.
  copse_status_t Attach(const copse_init_params_t& params);
  // Ends all rounds as canceled, leaves all teams, destroys teams and requests, and closes the attachment. Waits for
  // the daemon at most 10 s.
  void Detach();
  // Destroys all teams without rounds in progress, and notifies the daemon without waiting for an answer. Detach leaves
  // the other teams.
  void LeaveAllTeams();
  // Closes the socket and unmaps the memory in a forked child, without locks and messages.
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
  // Takes a team out of the handles and detaches its requests from it. Returns null if it was taken before. Sets
  // *left_later if calls of the team are in flight (canceled ones): the team is left when they have ended. Otherwise
  // the caller leaves it.
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

// Check a handle that the application passed. Errors: INVALID_ARGUMENT if it is null, destroyed, of another kind, or of
// the parent of this forked process.
copse_status_t Check(const copse_context_t* context);
copse_status_t Check(const copse_team_t* team);
copse_status_t Check(const copse_request_t* request);

}  // namespace copse::client

#endif  // COPSE_CLIENT_CONTEXT_CONTEXT_H_
