// SPDX-License-Identifier: Apache-2.0
//
// The page of the daemon's state that all clients map read-only (protocol/ring_layout.h, DaemonPage).
#ifndef COPSE_DAEMON_SHM_DAEMON_PAGE_H_
#define COPSE_DAEMON_SHM_DAEMON_PAGE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "daemon/loop/unique_fd.h"
#include "daemon/shm/group_wake.h"
#include "daemon/shm/memory_file.h"
#include "protocol/ring_layout.h"

namespace copse::daemon {

// Only the loop's thread writes.
class DaemonPage {
 public:
  static absl::StatusOr<std::unique_ptr<DaemonPage>> Create(Incarnation incarnation);

  // Sequentially consistent: rings that are read after SetSleeping(true) hold whatever a client
  // that saw 0 posted.
  void SetSleeping(bool sleeping) { page_->sleeping.store(sleeping ? 1 : 0, std::memory_order_seq_cst); }
  void CountTurn() { page_->turns.store(page_->turns.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

  GroupWake& group_wake() { return group_wake_; }

  // Sealed: whoever gets it cannot write.
  int fd() const { return fd_.get(); }

 private:
  DaemonPage(UniqueFd fd, Mapping mapping, Incarnation incarnation);

  const UniqueFd fd_;
  const Mapping mapping_;
  ring::DaemonPage* const page_;
  GroupWake group_wake_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_DAEMON_PAGE_H_
