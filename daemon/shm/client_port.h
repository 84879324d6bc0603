// SPDX-License-Identifier: Apache-2.0
//
// Accesses one client's shared memory for the daemon: takes entries from the submission queue (Dq), and puts events
// into the completion queue (Eq). protocol/ring_layout.h has the layout and the rules of trust.
#ifndef COPSE_DAEMON_SHM_CLIENT_PORT_H_
#define COPSE_DAEMON_SHM_CLIENT_PORT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"
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

// A ClientPort has private copies of all values that the daemon decides (geometry, dq_head, eq_tail), so no access
// leaves the mapping, whatever a client writes into it. Only the loop's thread calls it.
class ClientPort {
 public:
  // `*groups` must outlive the port. Errors: those of the system calls, RESOURCE_EXHAUSTED if too much is mapped.
  static absl::StatusOr<std::unique_ptr<ClientPort>> Create(const PortSizes& sizes, GroupWake* groups);
  ~ClientPort() { groups_->Leave(seat_); }

  const PortSizes& sizes() const { return sizes_; }
  uint64_t total_bytes() const { return mapping_.bytes(); }
  bool lost() const { return mapping_.lost(); }
  uint8_t* data() const { return mapping_.data() + geometry_.data_offset; }
  // Returns the memory's descriptor, which is sent to the client and then closed.
  int fd() const { return fd_.get(); }
  void CloseFd() { fd_.reset(); }

  // --- Submission queue ---
  // Returns whether entries were posted and not taken. Pairs with the client, which stores dq_tail and then reads
  // DaemonPage::sleeping (both seq_cst), while the daemon sets that and then reads dq_tail: one of them sees the other.
  bool HasPosts() const { return header_->dq_tail.load(std::memory_order_seq_cst) != dq_head_; }
  // Returns the number of entries posted and not taken. INVALID_ARGUMENT: the client's index is impossible.
  absl::StatusOr<uint32_t> Posted() const;
  // Returns a copy of the oldest entry and frees its place. Precondition: Posted() > 0.
  ring::DqSlot Take();

  // --- Completion queue ---
  // Returns the number of free entries. INVALID_ARGUMENT: the client's index is impossible.
  absl::StatusOr<uint32_t> EventRoom() const;
  // Puts an event, without waking the client. `why`: kNone for a success; its text is truncated. Precondition:
  // EventRoom() > 0.
  void PutEvent(uint64_t value, uint64_t sequence, const schedule::FailureReport& why);
  // Returns whether events were put since the last call.
  bool has_events_put() const { return events_put_; }
  bool TakeEventsPut() { return std::exchange(events_put_, false); }
  // Wakes the client if it sleeps on its completion queue; if it sleeps on its seat, GroupWake::Wake will wake it.
  // Returns true if it sleeps on either.
  bool WakeIfWaiting();

  // Returns a counter that the client writes, which may hold any value. The load is relaxed, since it orders no other
  // access.
  uint64_t early(ring::EarlyCount count) const {
    return header_->early[static_cast<uint32_t>(count)].load(std::memory_order_relaxed);
  }

  // Marks the port as closed, and wakes the client.
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
