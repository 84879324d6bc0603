// SPDX-License-Identifier: Apache-2.0
//
// A client for a running copse-fabric, for tests and benchmarks.
#ifndef COPSE_TESTBED_FABRIC_FABRIC_CONTROL_H_
#define COPSE_TESTBED_FABRIC_FABRIC_CONTROL_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/loop/unique_fd.h"

namespace copse::fabric {

// Counters of one direction. Packets of a super-packet count singly; bytes are as on the wire.
// docs/reference/fabric.md.
struct LaneStats {
  uint64_t packets = 0;
  uint64_t bytes = 0;
  uint64_t drops_queue = 0;
  uint64_t drops_loss = 0;
  uint64_t drops_cut = 0;
  uint64_t drops_no_route = 0;
  int64_t queue_bytes_high = 0;
  int64_t queue_packets_high = 0;
};

struct LinkStats {
  int64_t latency_ns = 0;
  int64_t bandwidth_bps = 0;
  bool cut = false;
  LaneStats up;
  LaneStats down;
};

struct FabricStats {
  std::string scheduling;  // "fifo", or "other" and the reason
  uint64_t frames_in = 0;  // super-packets count as one here
  uint64_t frames_out = 0;
  uint64_t bytes_out = 0;
  uint64_t arp_answers = 0;
  uint64_t devices_lost = 0;
  uint64_t drops_memory = 0;
  uint64_t drops_write = 0;
  uint64_t lateness_count = 0;
  absl::Duration lateness_p50;
  absl::Duration lateness_p90;
  absl::Duration lateness_p99;
  absl::Duration lateness_max;
  double spin_share = 0;                   // share of the time since start or Clear
  std::map<std::string, LinkStats> links;  // by name
  std::string json;                        // the whole answer
};

// A FabricControl is one connection to a fabric's control socket. Calls wait for the answer, at most `timeout` each.
// Thread-compatible.
//
// Errors: UNAVAILABLE if the fabric is gone or its answer is invalid, DEADLINE_EXCEEDED, and INVALID_ARGUMENT with the
// fabric's own text if it refused.
class FabricControl {
 public:
  static absl::StatusOr<FabricControl> Connect(const std::string& socket, absl::Duration timeout = absl::Seconds(10));

  // `links` is a host list of switches and nodes; `settings` such as "latency=1ms rate=100Mbit loss=1%".
  absl::Status Set(std::string_view links, std::string_view settings);
  absl::Status Cut(std::string_view links);
  absl::Status Heal(std::string_view links);
  absl::StatusOr<FabricStats> Stats();
  // Resets the counters to zero.
  absl::Status Clear();
  absl::Status Quit();

  // Sends any request; returns the line of JSON of the answer.
  absl::StatusOr<std::string> Ask(std::string_view request);
  // Returns the status in such a line: INVALID_ARGUMENT if the request was refused.
  static absl::Status StatusOf(const std::string& answer);

 private:
  FabricControl(daemon::UniqueFd fd, absl::Duration timeout) : fd_(std::move(fd)), timeout_(timeout) {}

  daemon::UniqueFd fd_;
  absl::Duration timeout_;
  std::string unread_;
};

}  // namespace copse::fabric

#endif  // COPSE_TESTBED_FABRIC_FABRIC_CONTROL_H_
