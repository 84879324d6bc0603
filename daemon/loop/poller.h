// SPDX-License-Identifier: Apache-2.0
//
// Waits for the descriptors of the daemon's loop, and calls a function for each that is ready.
#ifndef COPSE_DAEMON_LOOP_POLLER_H_
#define COPSE_DAEMON_LOOP_POLLER_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"

namespace copse::daemon {

// A Poller is an epoll set with a function for every descriptor. Single-threaded. Functions are called from Wait
// only; they may watch and unwatch, also themselves. After Unwatch a function is not called again, not even for a
// descriptor that is already ready.
class Poller {
 public:
  using OnReady = std::function<void(uint32_t events)>;

  static absl::StatusOr<std::unique_ptr<Poller>> Create();

  // Adds a descriptor, with `events` as for epoll_ctl (EPOLLIN, EPOLLET...). `fd` must stay open until Unwatch. A null
  // function means that the descriptor only ends Wait. Errors: epoll_ctl's, ALREADY_EXISTS if `fd` is watched.
  absl::Status Watch(int fd, uint32_t events, OnReady on_ready);
  // Removes a descriptor. Unknown ones are ignored.
  void Unwatch(int fd);

  // Sleeps until a descriptor is ready, or for `timeout` (at most one hour), then calls the functions of up to 64 ready
  // ones. Returns true if any was ready. Signals end the sleep early.
  bool Wait(absl::Duration timeout);

 private:
  explicit Poller(UniqueFd epoll);

  struct Entry {
    uint64_t id;
    std::shared_ptr<OnReady> on_ready;  // shared, so that it survives Unwatch while it runs
  };

  UniqueFd epoll_;
  uint64_t next_id_ = 1;  // ids distinguish a descriptor from a later one with the same number
  absl::flat_hash_map<int, Entry> entries_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_LOOP_POLLER_H_
