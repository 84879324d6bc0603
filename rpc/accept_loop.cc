// SPDX-License-Identifier: Apache-2.0
#include "rpc/accept_loop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace copse::rpc {
namespace {

constexpr int kReserved = 256;
constexpr int kForLocalUsers = 512;
constexpr rlim_t kDescriptorsMax = 1 << 16;  // the kernel's table has room for all below the largest
constexpr int kPauseMs = 100;

bool IsFamine(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

}  // namespace

DescriptorBounds ConnectionDescriptors() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int all = static_cast<int>(std::min(limit.rlim_cur, kDescriptorsMax));
  const int local = all - std::min(kReserved, all / 4);
  return {.network = local - std::min(kForLocalUsers, local / 4), .local = local};
}

AcceptLoop::AcceptLoop(std::vector<int> listeners, Take take) : stop_(eventfd(0, EFD_CLOEXEC)) {
  thread_ = std::thread([this, listeners = std::move(listeners), take = std::move(take)] { Run(listeners, take); });
}

AcceptLoop::~AcceptLoop() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

void AcceptLoop::Run(const std::vector<int>& listeners, const Take& take) {
  std::vector<pollfd> polled = {{.fd = stop_.get(), .events = POLLIN, .revents = 0}};
  for (const int listener : listeners) polled.push_back({listener, POLLIN, 0});
  while (polled.front().revents == 0) {
    if (poll(polled.data(), polled.size(), -1) < 0) continue;
    for (size_t i = 1; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      UniqueFd connection(accept4(polled[i].fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (connection.valid()) {
        take(polled[i].fd, std::move(connection));
      } else if (IsFamine(errno)) {
        poll(polled.data(), 1, kPauseMs);  // the listener stays readable
      }
    }
  }
}

}  // namespace copse::rpc
