// SPDX-License-Identifier: Apache-2.0
//
// From an entry of a client's descriptor queue to a call that the core can take.
#ifndef COPSE_DAEMON_SHM_CALL_CHECK_H_
#define COPSE_DAEMON_SHM_CALL_CHECK_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "client/ring_layout.h"
#include "daemon/core/client_interface.h"
#include "daemon/shm/region_table.h"

namespace copse::daemon {

struct CheckedCall {
  CallPost post;
  // Regions that stay in use until the call's event; 0 for none.
  uint32_t send_region = 0;
  uint32_t receive_region = 0;
};

// `slot` is our own copy, and lives as long as the result if the message is inline. `rank`: the
// client's in the entry's team. Buffers that the call does not use at this rank become null,
// whatever their places say. Errors: INVALID_ARGUMENT names the field; nothing of `slot` is
// trusted. The value is not filled in.
absl::StatusOr<CheckedCall> CheckCall(const ring::DqSlot& slot, uint32_t rank, const RegionTable& regions);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_CALL_CHECK_H_
