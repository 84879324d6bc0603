// SPDX-License-Identifier: Apache-2.0
//
#include "bench/benchmarks.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "testbed/fabric/fabric_control.h"
#include "testbed/fabric/frame.h"
#include "testbed/fabric/test_fabric.h"

namespace copse::bench {
namespace {

using fabric::TestFabric;
constexpr char kTopology[] =
    "version: 1\n"
    "switches:\n"
    "  - {name: core}\n"
    "  - {name: rack1, parent: core, latency: 200us, bandwidth: 10Gbit}\n"
    "  - {name: rack2, parent: core, latency: 200us, bandwidth: 10Gbit}\n"
    "nodes:\n"
    "  - {name: n1, switch: rack1, latency: 50us, bandwidth: 10Gbit}\n"
    "  - {name: n2, switch: rack2, latency: 50us, bandwidth: 10Gbit}\n";
// What the fabric shall be able to do.
constexpr double kPacketsPerSecond = 100'000;
constexpr double kGigabits = 2;

// Figures of runs, by case and metric.
using Figures = std::map<std::pair<std::string, std::string>, std::vector<double>>;

constexpr char kSingle[] = "one packet at a time";
constexpr char kSmall[] = "packets of 64 B, as many as one sender makes";
constexpr char kBulk[] = "one TCP flow, super-packets";

sockaddr_in AddressFor(uint32_t node, uint16_t port) {
  sockaddr_in in = {};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  in.sin_addr.s_addr = htonl(fabric::AddressOf(node));
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

// One packet at a time, there and back.
absl::Status MeasureLatency(TestFabric* fabric, absl::Duration duration, Figures* figures) {
  ASSIGN_OR_RETURN(const UniqueFd a, fabric->Socket(0, SOCK_DGRAM, 7001));
  ASSIGN_OR_RETURN(const UniqueFd b, fabric->Socket(1, SOCK_DGRAM, 7001));
  RETURN_IF_ERROR(ConnectTo(a, 1, 7001));
  RETURN_IF_ERROR(ConnectTo(b, 0, 7001));
  RETURN_IF_ERROR(fabric->control().Clear());
  char data[48] = {};
  int from = a.get(), to = b.get();
  for (const absl::Time end = absl::Now() + duration; absl::Now() < end; std::swap(from, to)) {
    if (send(from, data, sizeof(data), 0) != sizeof(data) || !AwaitReadable(to, absl::Seconds(5)) ||
        recv(to, data, sizeof(data), 0) != sizeof(data)) {
      return absl::InternalError("latency: a packet was lost");
    }
  }
  ASSIGN_OR_RETURN(const nlohmann::json stats, fabric->control().Stats());
  (*figures)[{kSingle, "lateness p99"}].push_back(stats["lateness_us"]["p99"]);
  return absl::OkStatus();
}

// As many small packets as one sender can make.
absl::Status MeasurePackets(TestFabric* fabric, absl::Duration duration, Figures* figures) {
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
  RETURN_IF_ERROR(fabric->control().Clear());
  const absl::Time begin = absl::Now();
  while (absl::Now() < begin + duration) sendmmsg(a.get(), messages, kBatch, 0);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  ASSIGN_OR_RETURN(const nlohmann::json stats, fabric->control().Stats());
  const double delivered = stats["totals"]["frames_out"].get<double>();
  (*figures)[{kSmall, "delivered"}].push_back(delivered / seconds);
  (*figures)[{kSmall, "ratio"}].push_back(kPacketsPerSecond * seconds / delivered);
  return absl::OkStatus();
}

absl::Status MeasureBulk(TestFabric* fabric, absl::Duration duration, Figures* figures) {
  ASSIGN_OR_RETURN(const TestFabric::Connection connection, fabric->Connect(0, 1, 7003));
  std::vector<char> out(1 << 20), in(1 << 20);
  std::atomic<bool> stop = false;
  std::thread sender([&] {
    while (!stop && send(connection.sender.get(), out.data(), out.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  uint64_t bytes = 0;
  const absl::Time begin = absl::Now();
  while (absl::Now() < begin + duration) {
    const ssize_t got = recv(connection.receiver.get(), in.data(), in.size(), 0);
    if (got <= 0) break;
    bytes += static_cast<uint64_t>(got);
  }
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  stop = true;
  shutdown(connection.receiver.get(), SHUT_RDWR);
  shutdown(connection.sender.get(), SHUT_RDWR);
  sender.join();
  const double gigabits = static_cast<double>(bytes) * 8e-9 / seconds;
  if (bytes == 0) return absl::InternalError("bulk: nothing arrived");
  (*figures)[{kBulk, "rate"}].push_back(gigabits);
  (*figures)[{kBulk, "ratio"}].push_back(kGigabits / gigabits);
  return absl::OkStatus();
}

absl::Status MeasureOnce(absl::Duration duration, Figures* figures) {
  ASSIGN_OR_RETURN(const std::unique_ptr<TestFabric> fabric, TestFabric::Start(kTopology, 2));
  RETURN_IF_ERROR(MeasureLatency(fabric.get(), duration, figures));
  RETURN_IF_ERROR(MeasurePackets(fabric.get(), duration, figures));
  return MeasureBulk(fabric.get(), duration, figures);
}

}  // namespace

absl::Status RunFabric(const Options& options, const Contest&, const Reporter& report) {
  RETURN_IF_ERROR(fabric::CheckFabric());
  Figures figures;
  const int runs = options.quick ? 1 : 5;
  const absl::Duration duration = options.quick ? absl::Milliseconds(200) : absl::Seconds(2);
  for (int run = 0; run < runs; ++run) RETURN_IF_ERROR(MeasureOnce(duration, &figures));
  const std::map<std::string, std::string> units = {
      {"lateness p99", "us"}, {"delivered", "packets/s"}, {"rate", "Gbit/s"}, {"ratio", "1"}};
  for (const auto& [key, values] : figures) {
    const auto& [what, metric] = key;
    const Row row = {.bench = "fabric",
                     .what = what,
                     .system = "copse",
                     .peer = metric == "ratio" ? "aim" : "",
                     .nodes = 2,
                     .ppn = 1,
                     .note = absl::StrCat(runs, " runs of ", absl::FormatDuration(duration))};
    if (Wanted(options, row)) report(Figure(row, metric, units.at(metric), values));
  }
  return absl::OkStatus();
}

}  // namespace copse::bench
