// SPDX-License-Identifier: Apache-2.0

#include "daemon/loop/poller.h"

#include <errno.h>
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace copse::daemon {
namespace {

constexpr int kEventsPerWait = 64;

// Returns epoll's data for a descriptor: `fd` in the low half, the low 32 bits of its id in the high half.
uint64_t Token(int fd, uint64_t id) { return static_cast<uint32_t>(fd) | (id << 32); }

int TimeoutMs(absl::Duration timeout) {
  if (timeout <= absl::ZeroDuration()) return 0;
  return static_cast<int>(
      absl::ToInt64Milliseconds(absl::Ceil(std::min<absl::Duration>(timeout, absl::Hours(1)), absl::Milliseconds(1))));
}

}  // namespace

Poller::Poller(UniqueFd epoll) : epoll_(std::move(epoll)) {}

absl::StatusOr<std::unique_ptr<Poller>> Poller::Create() {
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return absl::ErrnoToStatus(errno, "epoll_create1");
  return std::unique_ptr<Poller>(new Poller(std::move(epoll)));
}

absl::Status Poller::Watch(int fd, uint32_t events, OnReady on_ready) {
  const uint64_t id = next_id_++;
  epoll_event event{};
  event.events = events;
  event.data.u64 = Token(fd, id);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("epoll_ctl (fd=", fd, ")"));
  }
  entries_[fd] = {id, on_ready ? std::make_shared<OnReady>(std::move(on_ready)) : nullptr};
  return absl::OkStatus();
}

void Poller::Unwatch(int fd) {
  if (entries_.erase(fd) == 0) return;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

bool Poller::Wait(absl::Duration timeout) {
  epoll_event events[kEventsPerWait];
  const int count = epoll_wait(epoll_.get(), events, kEventsPerWait, TimeoutMs(timeout));
  for (int i = 0; i < count; ++i) {
    const int fd = static_cast<int>(static_cast<uint32_t>(events[i].data.u64));
    const auto it = entries_.find(fd);
    if (it == entries_.end() || Token(fd, it->second.id) != events[i].data.u64) continue;
    if (const std::shared_ptr<OnReady> on_ready = it->second.on_ready) (*on_ready)(events[i].events);
  }
  return count > 0;
}

}  // namespace copse::daemon
