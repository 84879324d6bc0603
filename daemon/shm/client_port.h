// SPDX-License-Identifier: Apache-2.0
//
// The daemon's side of one client's shared memory: takes entries out of the descriptor queue, puts
// events into the event queue. Layout and rules of trust: protocol/ring_layout.h.
#ifndef COPSE_DAEMON_SHM_CLIENT_PORT_H_
#define COPSE_DAEMON_SHM_CLIENT_PORT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/loop/unique_fd.h"
#include "daemon/shm/group_wake.h"
#include "daemon/shm/memory_file.h"
#include "protocol/control.h"
#include "protocol/ring_layout.h"

namespace copse::daemon {

struct PortSizes {
  uint32_t dq_entries = 0;  // power of two
  uint32_t eq_entries = 0;  // power of two
  uint64_t data_bytes = 0;
};

// A ClientPort keeps its own copies of all that the daemon owns (geometry, dq_head, eq_tail):
// whatever a client writes into the memory, no access leaves the mapping. Only the loop's thread
// calls it.
class ClientPort {
 public:
  // `*groups` outlives it.
  static absl::StatusOr<std::unique_ptr<ClientPort>> Create(const PortSizes& sizes, GroupWake* groups);
  ~ClientPort() { groups_->Leave(seat_); }

  const PortSizes& sizes() const { return sizes_; }
  uint64_t total_bytes() const { return mapping_.bytes(); }
  bool lost() const { return mapping_.lost(); }
  uint8_t* data() const { return mapping_.data() + geometry_.data_offset; }
  // For the client; can be closed once it was sent.
  int fd() const { return fd_.get(); }
  void CloseFd() { fd_.reset(); }

  // --- Descriptor queue ---
  // Cheap: anything posted since the last Take?
  bool HasPosts() const { return header_->dq_tail.load(std::memory_order_seq_cst) != dq_head_; }
  // Entries posted and not taken. INVALID_ARGUMENT if the client's index is impossible.
  absl::StatusOr<uint32_t> Posted() const;
  // Copies the oldest entry once and frees its place; Posted() > 0.
  ring::DqSlot Take();

  // --- Event queue ---
  // Entries that are free. INVALID_ARGUMENT if the client's index is impossible.
  absl::StatusOr<uint32_t> EventRoom() const;
  // Needs room, which the caller keeps account of. `why`: kNone of a success; its text is cut to what fits.
  // Wakes nobody.
  void PutEvent(uint64_t value, uint64_t sequence, const schedule::FailureReport& why);
  // True if events were put since the last call of it.
  bool TakeEventsPut() { return std::exchange(events_put_, false); }
  // Wakes the client if it sleeps on its event queue: at the groups' next Wake if it sleeps on its seat there. True
  // if it does sleep.
  bool WakeIfWaiting();

  // What the client says that it has counted: any numbers at all.
  uint64_t early(ring::EarlyCount count) const {
    return header_->early[static_cast<uint32_t>(count)].load(std::memory_order_relaxed);
  }

  // The port is gone: says so and wakes the client.
  void Close();

 private:
  ClientPort(const PortSizes& sizes, GroupWake* groups, UniqueFd fd, Mapping mapping);
  void Wake();

  const PortSizes sizes_;
  GroupWake* const groups_;
  const GroupWake::Seat seat_;
  const ring::Geometry geometry_;
  UniqueFd fd_;
  const Mapping mapping_;
  ring::PortHeader* const header_;
  uint64_t dq_head_ = 0;
  uint64_t eq_tail_ = 0;
  uint32_t next_text_ = 0;
  bool events_put_ = false;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_CLIENT_PORT_H_
