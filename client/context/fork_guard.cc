// SPDX-License-Identifier: Apache-2.0

#include "client/context/fork_guard.h"

#include <sys/mman.h>
#include <unistd.h>

namespace copse::client {
namespace {

constexpr size_t kGuardBytes = 4096;

}  // namespace

ForkGuard::ForkGuard() : pid_(getpid()) {
  void* page = mmap(nullptr, kGuardBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (madvise(page, kGuardBytes, MADV_WIPEONFORK) != 0) {
    munmap(page, kGuardBytes);
    return;
  }
  *static_cast<int*>(page) = 1;
  page_ = static_cast<const int*>(page);
}

ForkGuard::~ForkGuard() {
  if (page_ != nullptr) munmap(const_cast<int*>(page_), kGuardBytes);
}

bool ForkGuard::forked() const { return page_ != nullptr ? *page_ == 0 : getpid() != pid_; }

}  // namespace copse::client
