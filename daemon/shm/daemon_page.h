// SPDX-License-Identifier: Apache-2.0
//
// Publishes the daemon's state in a page that clients map read-only (protocol/ring_layout.h, DaemonPage).
#ifndef COPSE_DAEMON_SHM_DAEMON_PAGE_H_
#define COPSE_DAEMON_SHM_DAEMON_PAGE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/unique_fd.h"
#include "daemon/shm/group_wake.h"
#include "daemon/shm/memory_file.h"
#include "protocol/ring_layout.h"

namespace copse::daemon {

// A DaemonPage owns the page. Only the loop's thread writes it.
class DaemonPage {
 public:
  static absl::StatusOr<std::unique_ptr<DaemonPage>> Create(Incarnation incarnation);

  // The store pairs with the client's seq_cst load of `sleeping` after its store of dq_tail: rings that are read after
  // SetSleeping(true) have the posts of every client that read 0.
  void SetSleeping(bool sleeping) { page_->sleeping.store(sleeping ? 1 : 0, std::memory_order_seq_cst); }
  void CountTurn() { page_->turns.store(page_->turns.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

  GroupWake& group_wake() { return group_wake_; }

  // Returns the page's descriptor, which is sealed: no process that receives it can write to the page.
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
