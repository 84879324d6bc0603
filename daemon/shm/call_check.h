// SPDX-License-Identifier: Apache-2.0
//
// Checks an entry of a client's submission queue, and converts it to a call for the core.
#ifndef COPSE_DAEMON_SHM_CALL_CHECK_H_
#define COPSE_DAEMON_SHM_CALL_CHECK_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/shm/region_table.h"
#include "protocol/ring_layout.h"

namespace copse::daemon {

// A TeamMember is a client's rank in one of its teams, and the team's size.
struct TeamMember {
  uint32_t rank = 0;
  uint32_t size = 0;
};

struct CheckedCall {
  CallPost post;
  // The call uses these registered regions until its event. 0: none.
  uint32_t send_region = 0;
  uint32_t receive_region = 0;
  uint64_t list_bytes = 0;  // bytes of the post's lists of blocks
};

// Returns the checked call. `slot` is the daemon's own copy of the entry, of which nothing is trusted. `member`: the
// client in the entry's team. Buffers that the call does not use at this rank become null. Lists of blocks are copied
// once, then checked. The caller sets the post's value.
//
// Cost:   O(1), for irregular collectives O(member.size).
// Errors: INVALID_ARGUMENT names the field; UNIMPLEMENTED: the message is too long.
absl::StatusOr<CheckedCall> CheckCall(const ring::DqSlot& slot, const TeamMember& member, const RegionTable& regions);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_CALL_CHECK_H_
