// SPDX-License-Identifier: Apache-2.0

#include "client/context/handle.h"

#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace copse::client {
namespace {

struct Graveyard {
  std::mutex mutex;
  std::deque<std::unique_ptr<Handle>> husks;
  std::vector<std::unique_ptr<Handle>> abandoned;
};

// Never destroyed: threads may outlive static objects.
Graveyard& TheGraveyard() {
  static auto* graveyard = new Graveyard;
  return *graveyard;
}

}  // namespace

void Handle::Retire(std::unique_ptr<Handle> handle) {
  handle->kind_.store(Kind::kDestroyed, std::memory_order_release);
  std::unique_ptr<Handle> oldest;  // destroyed outside the lock
  Graveyard& graveyard = TheGraveyard();
  std::lock_guard<std::mutex> lock(graveyard.mutex);
  graveyard.husks.push_back(std::move(handle));
  if (graveyard.husks.size() <= kHusksMax) return;
  oldest = std::move(graveyard.husks.front());
  graveyard.husks.pop_front();
}

void Handle::Abandon(std::unique_ptr<Handle> handle) {
  handle->kind_.store(Kind::kDestroyed, std::memory_order_release);
  // No lock: it may have been held by another thread at the fork, and the child's only use of this is from here.
  TheGraveyard().abandoned.push_back(std::move(handle));
}

}  // namespace copse::client
