// SPDX-License-Identifier: Apache-2.0
//
// Passes one client's calls from its submission queue to the core, and their events to its completion queue.
#ifndef COPSE_DAEMON_SHM_CLIENT_CALLS_H_
#define COPSE_DAEMON_SHM_CLIENT_CALLS_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/process/lost_memory.h"
#include "daemon/accounts/accounts.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/core/calls/instruments.h"
#include "daemon/core/daemon_core.h"
#include "daemon/shm/call_check.h"
#include "daemon/shm/client_port.h"
#include "daemon/shm/held_posts.h"
#include "daemon/shm/region_table.h"
#include "protocol/control.h"

namespace copse::daemon {

// At most this many entries are read from one client before the next client is served.
inline constexpr uint32_t kPostsPerTurn = 16;

// MemberOfTeam maps the handles of a client's teams to its rank in each and their sizes.
using MemberOfTeam = absl::flat_hash_map<uint32_t, TeamMember>;

// A ClientCalls tracks the calls of one client. Every entry that it takes from the submission queue becomes exactly one
// event. Without room for its event, an entry waits in the queue. Calls may be held back (HeldPosts).
// Thread-compatible.
class ClientCalls {
 public:
  // `*core` must outlive this object, and so must `*instruments`, which counts refused posts and may be null. The
  // account holds the client's regions.
  ClientCalls(DaemonCore* core, std::unique_ptr<ClientPort> port, RegionLimits limits, uint64_t list_bytes_max,
              std::shared_ptr<Account> account, Instruments* instruments);

  // Sets the client's number in the core. It is called before the first Read.
  void set_client(ClientId client) { client_ = client; }

  bool HasPosts() const { return port_->HasPosts() || held_.may_go(); }
  // Returns whether a page of the client's queues or registered memory was lost, so that its calls and their data may
  // be wrong.
  bool HasLostMemory() const { return AnyMemoryLost() && (port_->lost() || regions_.lost()); }
  // Takes at most kPostsPerTurn entries, and posts at most as many calls that were held back, and both at most `most`
  // times; returns the sum of both. `teams` are the client's teams. Errors: INVALID_ARGUMENT: the client wrote an
  // impossible index. DATA_LOSS: HasLostMemory(). After an error the client must be dropped.
  absl::StatusOr<uint32_t> Read(const MemberOfTeam& teams, uint32_t most = kPostsPerTurn);

  // Deregisters a region: posts from now on cannot name it. INVALID_ARGUMENT: as for Read, or there is no such region.
  absl::Status Deregister(uint32_t region);

  // Handles the core's event for one of these calls. The client is woken later, by ClientPort::WakeIfWaiting.
  void OnEvent(const ClientEvent& event);

  ClientPort& port() { return *port_; }
  RegionTable& regions() { return regions_; }
  uint32_t outstanding() const { return outstanding_; }

 private:
  // A Call is the state of a call until its event. Its index in calls_ is the call's value in the core.
  struct Call {
    uint64_t value = 0;  // chosen by the client for the event
    uint32_t send_region = 0;
    uint32_t receive_region = 0;
    uint64_t list_bytes = 0;
    uint32_t team = 0;
    bool used = false;
  };

  absl::Status LostMemory() const;
  uint32_t PostHeld(const MemberOfTeam& teams, uint32_t most);
  void CountPosts();  // counts those up to the first one that is held back
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
  uint64_t taken_ = 0;  // entries taken since the start
  HeldPosts held_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_CLIENT_CALLS_H_
