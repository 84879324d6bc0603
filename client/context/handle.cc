// SPDX-License-Identifier: Apache-2.0

#include "client/context/handle.h"

#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace copse::client {
namespace {

struct RetiredHandles {
  std::mutex mutex;
  std::deque<std::unique_ptr<Handle>> retired;
  std::vector<std::unique_ptr<Handle>> abandoned;
};

// The table is never destroyed, since threads may outlive static objects.
RetiredHandles& TheRetiredHandles() {
  static auto* handles = new RetiredHandles;
  return *handles;
}

}  // namespace

void Handle::Retire(std::unique_ptr<Handle> handle) {
  handle->kind_.store(Kind::kDestroyed, std::memory_order_release);  // pairs with Is
  std::unique_ptr<Handle> oldest;                                    // destroyed outside the lock
  RetiredHandles& all = TheRetiredHandles();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.retired.push_back(std::move(handle));
  if (all.retired.size() <= kRetiredMax) return;
  oldest = std::move(all.retired.front());
  all.retired.pop_front();
}

void Handle::Abandon(std::unique_ptr<Handle> handle) {
  handle->kind_.store(Kind::kDestroyed, std::memory_order_release);  // pairs with Is
  // No lock is taken: another thread of the parent may have held it at the fork. Retire does not use `abandoned`.
  TheRetiredHandles().abandoned.push_back(std::move(handle));
}

}  // namespace copse::client
