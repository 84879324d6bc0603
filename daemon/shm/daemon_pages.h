// SPDX-License-Identifier: Apache-2.0
//
// Keeps a daemon page for each user with clients, so that no user can reach the futex words that others sleep on.
#ifndef COPSE_DAEMON_SHM_DAEMON_PAGES_H_
#define COPSE_DAEMON_SHM_DAEMON_PAGES_H_

#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "daemon/shm/daemon_page.h"

namespace copse::daemon {

// A DaemonPages owns the pages. A futex of a page can be woken and requeued by every process that maps the page, also
// read-only, so users share none. All pages say the same about the daemon. Only the loop's thread calls it.
class DaemonPages {
 public:
  explicit DaemonPages(Incarnation incarnation) : incarnation_(incarnation) {}

  // Returns the page of a user for one more client. Leave takes the client off; the page ends with its last client.
  // Errors: those of DaemonPage::Create.
  absl::StatusOr<DaemonPage*> Enter(uint32_t uid);
  void Leave(uint32_t uid);

  // As DaemonPage's functions, for all pages, those that come later included.
  void SetSleeping(bool sleeping);
  bool sleeping() const { return sleeping_; }
  void CountTurn();
  // Wakes the clients of all pages that were added to be woken.
  void Wake();

  size_t size() const { return pages_.size(); }

 private:
  struct Entry {
    std::unique_ptr<DaemonPage> page;
    uint32_t clients = 0;
  };

  const Incarnation incarnation_;
  bool sleeping_ = false;
  std::map<uint32_t, Entry> pages_;  // by user
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_DAEMON_PAGES_H_
