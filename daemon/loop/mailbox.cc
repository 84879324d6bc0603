// SPDX-License-Identifier: Apache-2.0

#include "daemon/loop/mailbox.h"

#include <errno.h>
#include <sys/eventfd.h>

#include <utility>

#include "absl/status/status.h"

namespace copse::daemon {

Mailbox::Mailbox(UniqueFd event) : event_(std::move(event)) {}

absl::StatusOr<std::unique_ptr<Mailbox>> Mailbox::Create() {
  UniqueFd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) return absl::ErrnoToStatus(errno, "eventfd");
  return std::unique_ptr<Mailbox>(new Mailbox(std::move(event)));
}

void Mailbox::Post(std::function<void()> letter) {
  bool was_empty;
  {
    MutexLock lock(&mutex_);
    was_empty = letters_.empty();
    letters_.push_back(std::move(letter));
    any_.store(true, std::memory_order_seq_cst);  // pairs with Drain's load
  }
  // The letter is queued before the write, so the woken thread finds it. The count never comes near its limit of 2^64
  // - 2.
  if (was_empty) eventfd_write(event_.get(), 1);
}

bool Mailbox::Drain() {
  // Pairs with Post's store: a Post that this load misses found an empty queue and writes the event afterwards, so the
  // loop calls Drain again.
  if (!any_.load(std::memory_order_seq_cst)) return false;
  std::deque<std::function<void()>> letters;
  {
    MutexLock lock(&mutex_);
    letters.swap(letters_);
    any_.store(false, std::memory_order_seq_cst);  // Post's store comes before or after, under the same lock
  }
  for (std::function<void()>& letter : letters) letter();
  return true;
}

}  // namespace copse::daemon
