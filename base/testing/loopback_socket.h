// SPDX-License-Identifier: Apache-2.0
//
// Connects a test to a server of its own, byte by byte.
#ifndef COPSE_BASE_TESTING_LOOPBACK_SOCKET_H_
#define COPSE_BASE_TESTING_LOOPBACK_SOCKET_H_

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"

namespace copse::testing {

// Returns a socket, which ConnectTo connects without another descriptor. Reads fail after a minute.
inline UniqueFd LoopbackSocket() {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience = {.tv_sec = 60, .tv_usec = 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  return fd;
}

// Connects to the port of `address`, HOST:PORT.
inline void ConnectTo(const std::string& address, const UniqueFd& fd) {
  int port = 0;
  ASSERT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
  sockaddr_in where = {};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<uint16_t>(port));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)), 0);
}

}  // namespace copse::testing

#endif  // COPSE_BASE_TESTING_LOOPBACK_SOCKET_H_
