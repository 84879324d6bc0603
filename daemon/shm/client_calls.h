// SPDX-License-Identifier: Apache-2.0
//
// The calls of one client: from its descriptor queue to the core, and from the core to its event
// queue.
#ifndef COPSE_DAEMON_SHM_CLIENT_CALLS_H_
#define COPSE_DAEMON_SHM_CLIENT_CALLS_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/lost_memory.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/core/calls/instruments.h"
#include "daemon/core/daemon_core.h"
#include "daemon/shm/call_check.h"
#include "daemon/shm/client_port.h"
#include "daemon/shm/region_table.h"
#include "protocol/control.h"

namespace copse::daemon {

// Entries of one client that are taken before the next client's turn.
inline constexpr uint32_t kPostsPerTurn = 16;

// Of lists of blocks, for one client's calls in flight: calls with lists are held back while there is as much. One call
// of each team may go beyond it, since it must come through however large its team is.
inline constexpr uint64_t kListBytesMax = 4u << 20;

// Who the client is in each of its teams, by handle.
using MemberOfTeam = absl::flat_hash_map<uint32_t, TeamMember>;

// Every entry taken from the descriptor queue becomes exactly one event. None is taken without room
// for its event: entries then wait in the queue. A call that is held back holds up later ones of its
// team, and no others. Thread-compatible. `*core` outlives it.
class ClientCalls {
 public:
  // `instruments`, which may be null, counts refused posts.
  ClientCalls(DaemonCore* core, std::unique_ptr<ClientPort> port, RegionLimits limits, uint64_t list_bytes_max,
              uint32_t* regions_of_all, Instruments* instruments);

  // Before the first Read.
  void set_client(ClientId client) { client_ = client; }

  bool HasPosts() const { return port_->HasPosts() || held_may_go_; }
  // A page of its queues or registered memory cannot be read any more: what its calls say and hold may be wrong.
  bool HasLostMemory() const { return AnyMemoryLost() && (port_->lost() || regions_.lost()); }
  // Takes at most kPostsPerTurn entries, and posts as many that were held; returns how many. INVALID_ARGUMENT: the
  // client has written an impossible index; DATA_LOSS: HasLostMemory. It cannot be served any more.
  absl::StatusOr<uint32_t> Read(const MemberOfTeam& teams);

  // The client takes back a region: what it has not posted yet cannot name it any more. INVALID_ARGUMENT as Read, or
  // if there is no such region.
  absl::Status Deregister(uint32_t region);

  // An event of the core for one of these calls. Wakes nobody: WakeIfWaiting.
  void OnEvent(const ClientEvent& event);

  ClientPort& port() { return *port_; }
  RegionTable& regions() { return regions_; }
  uint32_t outstanding() const { return outstanding_; }

 private:
  // What an event needs to know of its call. The core carries the index of it as the call's value.
  struct Call {
    uint64_t value = 0;  // the client's own
    uint32_t send_region = 0;
    uint32_t receive_region = 0;
    uint64_t list_bytes = 0;
    uint32_t team = 0;
    bool used = false;
  };
  struct Held {
    uint64_t number = 0;  // of the client's posts
    ring::DqSlot slot;
  };

  absl::Status LostMemory() const;
  bool MustWait(const ring::DqEntry& entry) const;
  uint32_t PostHeld(const MemberOfTeam& teams);
  void CountPosts();  // of which all before them are posted, too
  void PostSlot(const ring::DqSlot& slot, const MemberOfTeam& teams);
  uint64_t NewCall(const ring::DqEntry& entry, const CheckedCall& checked);
  void Refuse(uint64_t value, std::string_view text, schedule::Failure failure = schedule::Failure::kInvalidArgument);

  DaemonCore* const core_;
  Instruments* const instruments_;
  ClientId client_ = 0;
  const std::unique_ptr<ClientPort> port_;
  RegionTable regions_;
  std::vector<Call> calls_;
  std::vector<uint32_t> free_;
  uint32_t outstanding_ = 0;
  const uint64_t list_bytes_max_;
  uint64_t list_bytes_ = 0;
  absl::flat_hash_map<uint32_t, uint32_t> lists_;  // by team: its calls in flight that have some
  uint64_t taken_ = 0;                             // entries, since the start
  std::vector<Held> held_;                         // of these, in order
  bool held_may_go_ = false;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_CLIENT_CALLS_H_
