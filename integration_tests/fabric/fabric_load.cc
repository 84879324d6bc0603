// SPDX-License-Identifier: Apache-2.0
//
// What the fabric can carry here, and how punctually. By hand: bazel run //integration_tests/fabric:fabric_load
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "integration_tests/fabric/fabric_control.h"
#include "integration_tests/fabric/frame.h"
#include "integration_tests/fabric/test_fabric.h"

namespace copse::fabric {
namespace {

using daemon::UniqueFd;

constexpr char kTopology[] =
    "version: 1\n"
    "switches:\n"
    "  - {name: core}\n"
    "  - {name: rack1, parent: core, latency: 200us, bandwidth: 10Gbit}\n"
    "  - {name: rack2, parent: core, latency: 200us, bandwidth: 10Gbit}\n"
    "nodes:\n"
    "  - {name: n1, switch: rack1, latency: 50us, bandwidth: 10Gbit}\n"
    "  - {name: n2, switch: rack2, latency: 50us, bandwidth: 10Gbit}\n";
constexpr absl::Duration kDuration = absl::Seconds(2);

sockaddr_in AddressFor(uint32_t node, uint16_t port) {
  sockaddr_in in = {};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  in.sin_addr.s_addr = htonl(AddressOf(node));
  return in;
}

absl::Status ConnectTo(const UniqueFd& fd, uint32_t node, uint16_t port) {
  const sockaddr_in in = AddressFor(node, port);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&in), sizeof(in)) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "connect");
}

bool AwaitReadable(int fd, absl::Duration timeout) {
  pollfd event = {.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&event, 1, static_cast<int>(absl::ToInt64Milliseconds(timeout))) == 1;
}

// What the fabric itself measured meanwhile.
absl::Status PrintFabric(TestFabric* fabric) {
  ASSIGN_OR_RETURN(const FabricStats stats, fabric->control().Stats());
  const auto us = [](absl::Duration time) { return absl::ToDoubleMicroseconds(time); };
  std::printf("  fabric: %s, %llu frames, lateness us p50 %.1f p90 %.1f p99 %.1f max %.1f, spins %.0f %%\n",
              stats.scheduling.c_str(), static_cast<unsigned long long>(stats.frames_out), us(stats.lateness_p50),
              us(stats.lateness_p90), us(stats.lateness_p99), us(stats.lateness_max), 100 * stats.spin_share);
  return fabric->control().Clear();
}

// One packet at a time, there and back.
absl::Status MeasureLatency(TestFabric* fabric) {
  ASSIGN_OR_RETURN(const UniqueFd a, fabric->Socket(0, SOCK_DGRAM, 7001));
  ASSIGN_OR_RETURN(const UniqueFd b, fabric->Socket(1, SOCK_DGRAM, 7001));
  RETURN_IF_ERROR(ConnectTo(a, 1, 7001));
  RETURN_IF_ERROR(ConnectTo(b, 0, 7001));
  std::vector<absl::Duration> times;
  char data[48] = {};
  for (const absl::Time end = absl::Now() + kDuration; absl::Now() < end;) {
    const absl::Time sent = absl::Now();
    const int from = times.size() % 2 == 0 ? a.get() : b.get(), to = times.size() % 2 == 0 ? b.get() : a.get();
    if (send(from, data, sizeof(data), 0) != sizeof(data) || !AwaitReadable(to, absl::Seconds(5)) ||
        recv(to, data, sizeof(data), 0) != sizeof(data)) {
      return absl::InternalError("latency: a packet was lost");
    }
    times.push_back(absl::Now() - sent);
  }
  std::sort(times.begin(), times.end());
  const auto us = [&](double p) {
    return absl::ToDoubleMicroseconds(times[static_cast<size_t>(p * static_cast<double>(times.size() - 1))]);
  };
  std::printf("one way, 500.4 us intended: p10 %.1f us, median %.1f, p90 %.1f, p99 %.1f (%zu packets)\n", us(0.1),
              us(0.5), us(0.9), us(0.99), times.size());
  return PrintFabric(fabric);
}

// As many small packets as one sender can make.
absl::Status MeasurePackets(TestFabric* fabric) {
  ASSIGN_OR_RETURN(const UniqueFd a, fabric->Socket(0, SOCK_DGRAM, 7002));
  ASSIGN_OR_RETURN(const UniqueFd b, fabric->Socket(1, SOCK_DGRAM, 7002));
  RETURN_IF_ERROR(ConnectTo(a, 1, 7002));
  constexpr unsigned int kBatch = 32;
  char data[64] = {};
  iovec vector = {.iov_base = data, .iov_len = sizeof(data)};
  mmsghdr messages[kBatch] = {};
  for (mmsghdr& message : messages) {
    message.msg_hdr.msg_iov = &vector;
    message.msg_hdr.msg_iovlen = 1;
  }
  uint64_t sent = 0;
  const absl::Time begin = absl::Now();
  while (absl::Now() < begin + kDuration) {
    const int count = sendmmsg(a.get(), messages, kBatch, 0);
    if (count > 0) sent += static_cast<uint64_t>(count);
  }
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  ASSIGN_OR_RETURN(const FabricStats stats, fabric->control().Stats());
  std::printf("packets of 64 B: %.0f/s sent, %.0f/s delivered; lost in queues %llu, before the fabric %lld\n",
              static_cast<double>(sent) / seconds, static_cast<double>(stats.frames_out) / seconds,
              static_cast<unsigned long long>(stats.links.at("n1").up.drops_queue),
              static_cast<long long>(sent) - static_cast<long long>(stats.frames_in));
  return PrintFabric(fabric);
}

absl::Status MeasureBulk(TestFabric* fabric, const char* what) {
  ASSIGN_OR_RETURN(const TestFabric::Connection connection, fabric->Connect(0, 1, 7003));
  std::vector<char> out(1 << 20), in(1 << 20);
  std::atomic<bool> stop = false;
  std::thread sender([&] {
    while (!stop && send(connection.sender.get(), out.data(), out.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  uint64_t bytes = 0;
  const absl::Time begin = absl::Now();
  while (absl::Now() < begin + kDuration) {
    const ssize_t got = recv(connection.receiver.get(), in.data(), in.size(), 0);
    if (got <= 0) break;
    bytes += static_cast<uint64_t>(got);
  }
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  stop = true;
  shutdown(connection.receiver.get(), SHUT_RDWR);
  shutdown(connection.sender.get(), SHUT_RDWR);
  sender.join();
  std::printf("TCP, %s: %.2f Gbit/s\n", what, static_cast<double>(bytes) * 8e-9 / seconds);
  return PrintFabric(fabric);
}

absl::Status Measure() {
  std::string load;
  std::getline(std::ifstream("/proc/loadavg"), load);
  std::printf("load average before: %s; two nodes of two racks, 10 Gbit/s everywhere\n", load.c_str());
  ASSIGN_OR_RETURN(const std::unique_ptr<TestFabric> fabric, TestFabric::Start(kTopology, 2));
  RETURN_IF_ERROR(MeasureLatency(fabric.get()));
  RETURN_IF_ERROR(MeasurePackets(fabric.get()));
  RETURN_IF_ERROR(MeasureBulk(fabric.get(), "super-packets"));
  // Loss where nothing goes makes kernels cut them.
  RETURN_IF_ERROR(fabric->control().Set("n1,n2,rack1,rack2", "queue=8MiB"));
  RETURN_IF_ERROR(fabric->control().Set("n1", "loss=0.0000001%"));
  return MeasureBulk(fabric.get(), "single packets");
}

}  // namespace
}  // namespace copse::fabric

int main() {
  const absl::Status status = copse::fabric::Measure();
  if (status.ok()) return 0;
  std::fprintf(stderr, "fabric_load: %s\n", std::string(status.message()).c_str());
  return 1;
}
