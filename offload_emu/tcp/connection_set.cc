// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/connection_set.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"

namespace copse::emu {
namespace {

constexpr int kListenBacklog = 1024;
// Accepting is tried again after so long if this process, or the machine, has no file descriptors left.
constexpr absl::Duration kAcceptPause = absl::Milliseconds(100);

}  // namespace

ConnectionSet::ConnectionSet(const Clock* clock, const ConnectionSetOptions& options, UniqueFd listener, UniqueFd epoll)
    : clock_(clock), options_(options), listener_(std::move(listener)), epoll_(std::move(epoll)) {}

absl::Status ConnectionSet::Listen() {
  if (std::exchange(listens_, true)) return absl::OkStatus();
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kListenerId}};
  if (listen(listener_.get(), kListenBacklog) != 0 ||
      epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), &event) != 0) {
    return absl::UnavailableError(absl::StrCat("listen: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

TcpConnection* ConnectionSet::Add(std::unique_ptr<SealedStream> stream, ConnectionStage stage) {
  auto connection = std::make_unique<TcpConnection>();
  connection->id = next_id_++;
  connection->stream = std::move(stream);
  connection->stage = stage;
  connection->begun = clock_->Now();
  connection->until = connection->begun + options_.hello_timeout;
  due_ = std::min(due_, connection->until);
  strangers_ += connection->is_stranger() ? 1 : 0;
  TcpConnection* const added = connection.get();
  connections_[added->id] = std::move(connection);
  Watch(added, /*reads=*/true);
  return added;
}

TcpConnection* ConnectionSet::Find(uint64_t id) const {
  const auto it = connections_.find(id);
  return it == connections_.end() ? nullptr : it->second.get();
}

void ConnectionSet::Watch(TcpConnection* connection, bool reads) {
  if (connection->stream->closed()) return;
  const uint32_t events = (reads ? uint32_t{EPOLLIN} : 0u) | (connection->stream->wants_write() ? EPOLLOUT : 0u);
  if (events == connection->events && connection->is_watched) return;
  epoll_event event{.events = events, .data = {.u64 = connection->id}};
  const int operation = std::exchange(connection->is_watched, true) ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  CHECK(epoll_ctl(epoll_.get(), operation, connection->stream->fd(), &event) == 0);
  connection->events = events;
}

void ConnectionSet::SetAttached(TcpConnection* connection) {
  strangers_ -= connection->is_stranger() ? 1 : 0;
  if (!connection->source.empty()) budget_.GiveBack(connection->source);
  connection->stage = ConnectionStage::kAttached;
}

// The descriptor leaves the epoll set as it is closed.
void ConnectionSet::Erase(TcpConnection* connection) {
  strangers_ -= connection->is_stranger() ? 1 : 0;
  connections_.erase(connection->id);
}

void ConnectionSet::EraseOldestStranger() {
  const auto oldest = std::find_if(connections_.begin(), connections_.end(),
                                   [](const auto& entry) { return entry.second->is_stranger(); });
  Erase(oldest->second.get());
}

uint32_t ConnectionSet::Accept(const std::shared_ptr<const TlsIdentity>& identity) {
  uint32_t erased = 0;
  while (true) {
    sockaddr_storage address = {};
    socklen_t bytes = sizeof(address);
    UniqueFd fd(accept4(listener_.get(), reinterpret_cast<sockaddr*>(&address), &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd.valid() && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (!fd.valid()) {
      if (errno != EAGAIN) PauseAccepting(errno);
      return erased;
    }
    is_accepting_paused_ = false;
    const std::string source = SourceOf(address);
    if (!budget_.Take(source, clock_->Now())) {
      ++erased;
      continue;
    }
    if (strangers_ >= options_.strangers_max) {
      EraseOldestStranger();
      ++erased;
    }
    Add(SealedStream::Accept(std::move(fd), identity), ConnectionStage::kAccepted)->source = source;
  }
}

// The connection that could not be accepted stays in the kernel's queue, and epoll would report it without end.
void ConnectionSet::PauseAccepting(int error) {
  if (!std::exchange(is_accepting_paused_, true)) {
    COPSE_LOG(kWarning, "connections of other nodes cannot be accepted, and are tried again: ", std::strerror(error));
  }
  WatchListener(0);
  accept_at_ = clock_->Now() + kAcceptPause;
  due_ = std::min(due_, accept_at_);
}

void ConnectionSet::WatchListener(uint32_t events) const {
  epoll_event event{.events = events, .data = {.u64 = kListenerId}};
  CHECK(epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), &event) == 0);
}

absl::Span<const epoll_event> ConnectionSet::Poll(absl::Span<epoll_event> events) {
  if (connections_.empty() && !listens_) return {};
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  if (count > 0) {
    const uint64_t first = events[0].data.u64;  // a copy: it is not aligned
    const uint64_t before = std::exchange(last_, count == 1 ? first : kListenerId);
    likely_ = before == last_ ? last_ : kListenerId;
  }
  return events.first(static_cast<size_t>(std::max(count, 0)));
}

TcpConnection* ConnectionSet::Guess() {
  if (!std::exchange(may_guess_, false) || likely_ == kListenerId) return nullptr;
  TcpConnection* const likely = Find(likely_);
  const bool is_short =
      likely != nullptr && likely->stage == ConnectionStage::kAttached && likely->lane == LaneKind::kShort;
  return is_short ? likely : nullptr;
}

std::vector<TcpConnection*> ConnectionSet::TakeLate() {
  const absl::Time now = clock_->Now();
  if (now < due_) return {};
  if (accept_at_ <= now) {
    accept_at_ = absl::InfiniteFuture();
    WatchListener(EPOLLIN);
  }
  due_ = accept_at_;
  std::vector<TcpConnection*> late;
  for (const auto& [id, connection] : connections_) {
    if (connection->stage == ConnectionStage::kAttached) continue;
    if (connection->until <= now) {
      late.push_back(connection.get());
    } else {
      due_ = std::min(due_, connection->until);
    }
  }
  return late;
}

}  // namespace copse::emu
