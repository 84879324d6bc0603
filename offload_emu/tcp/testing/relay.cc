// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/testing/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace copse::emu {
namespace {

constexpr int kPollMs = 2;

SocketAddress AnyPort() { return *SocketAddress::Parse("127.0.0.1:0"); }

void SetBlocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK); }

// Closing a socket with this option resets the connection.
void ResetOnClose(int fd) {
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

}  // namespace

Relay::Relay(const SocketAddress& target, std::string searched)
    : target_(target), searched_(std::move(searched)), listener_(*AnyPort().Bind()) {
  CHECK(listen(listener_.get(), 64) == 0);
  address_ = SocketAddress::OfSocket(listener_.get())->ToString();
  thread_ = std::thread([this] { Run(); });
}

Relay::~Relay() {
  ends_ = true;
  thread_.join();
}

void Relay::AcceptOne() {
  UniqueFd accepted(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!accepted.valid()) return;
  absl::StatusOr<UniqueFd> onward = target_.Connect();
  if (!onward.ok()) return;
  pollfd connected{.fd = onward->get(), .events = POLLOUT, .revents = 0};
  poll(&connected, 1, 1000);
  SetBlocking(onward->get());
  ResetOnClose(accepted.get());
  ResetOnClose(onward->get());
  ++connections_;
  pairs_.push_back({{std::move(accepted), *std::move(onward)}});
}

bool Relay::PassOn(Pair* pair, int from) {
  uint8_t bytes[16384];
  const ssize_t count = recv(pair->ends[from].get(), bytes, sizeof(bytes), 0);
  if (count <= 0) return false;
  Search(bytes, static_cast<size_t>(count), &pair->last[from]);
  const int64_t skip = corrupt_in_;
  if (skip >= 0) {
    corrupt_in_ = skip < count ? -1 : skip - count;
    if (skip < count) bytes[skip] ^= 1;
  }
  for (ssize_t sent = 0; sent < count;) {
    const ssize_t more =
        send(pair->ends[1 - from].get(), bytes + sent, static_cast<size_t>(count - sent), MSG_NOSIGNAL);
    if (more < 0) return false;
    sent += more;
  }
  return true;
}

void Relay::Search(const uint8_t* bytes, size_t count, std::string* last) {
  if (searched_.empty()) return;
  last->append(reinterpret_cast<const char*>(bytes), count);
  size_t next = 0;
  for (size_t at = last->find(searched_); at != std::string::npos; at = last->find(searched_, next)) {
    ++found_;
    next = at + searched_.size();
  }
  last->erase(0, std::max(next, last->size() - std::min(last->size(), searched_.size() - 1)));
}

void Relay::Run() {
  uint64_t resets = 0;
  while (!ends_) {
    if (std::exchange(resets, resets_wanted_.load()) != resets) pairs_.clear();
    std::vector<pollfd> fds{{.fd = listener_.get(), .events = POLLIN, .revents = 0}};
    for (const Pair& pair : pairs_) {
      for (const UniqueFd& end : pair.ends) fds.push_back({.fd = end.get(), .events = POLLIN, .revents = 0});
    }
    poll(fds.data(), stalls_ ? 0 : fds.size(), kPollMs);
    for (size_t i = pairs_.size(); i-- > 0;) {
      bool lives = true;
      for (int end = 0; end < 2; ++end) {
        if (fds[1 + 2 * i + end].revents != 0) lives = lives && PassOn(&pairs_[i], end);
      }
      if (!lives) pairs_.erase(pairs_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (fds[0].revents != 0) AcceptOne();
  }
}

}  // namespace copse::emu
