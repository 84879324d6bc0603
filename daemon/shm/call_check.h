// SPDX-License-Identifier: Apache-2.0
//
// From an entry of a client's descriptor queue to a call that the core can take.
#ifndef COPSE_DAEMON_SHM_CALL_CHECK_H_
#define COPSE_DAEMON_SHM_CALL_CHECK_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/shm/region_table.h"
#include "protocol/ring_layout.h"

namespace copse::daemon {

// Who a client is in one of its teams.
struct TeamMember {
  uint32_t rank = 0;
  uint32_t size = 0;
};

struct CheckedCall {
  CallPost post;
  // Regions that stay in use until the call's event; 0 for none.
  uint32_t send_region = 0;
  uint32_t receive_region = 0;
  uint64_t list_bytes = 0;  // of our memory, for the post's lists of blocks
};

// `slot` is our own copy, and lives as long as the result if the message is inline. `member`: the client in the entry's
// team. Buffers that the call does not use at this rank become null, whatever their places say. Lists of blocks are
// copied once, then checked. The value is not filled in.
//
// Cost:   O(1), for irregular collectives O(member.size).
// Errors: INVALID_ARGUMENT names the field, UNIMPLEMENTED a message that is too long; nothing of `slot` is trusted.
absl::StatusOr<CheckedCall> CheckCall(const ring::DqSlot& slot, const TeamMember& member, const RegionTable& regions);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_CALL_CHECK_H_
