// SPDX-License-Identifier: Apache-2.0
//
// Detects that this process is a fork of the one that made the object.
#ifndef COPSE_CLIENT_CONTEXT_FORK_GUARD_H_
#define COPSE_CLIENT_CONTEXT_FORK_GUARD_H_

#include <sys/types.h>

namespace copse::client {

// A ForkGuard remembers the process that made it. Its check is one load of a page that the kernel zeroes in a forked
// child (MADV_WIPEONFORK); where the kernel cannot do that, process ids are compared. Thread-safe.
class ForkGuard {
 public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  bool forked() const;

 private:
  const volatile int* page_ = nullptr;
  pid_t pid_;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_CONTEXT_FORK_GUARD_H_
