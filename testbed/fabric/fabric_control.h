// SPDX-License-Identifier: Apache-2.0
//
// A client for a running copse-fabric, for tests and benchmarks.
#ifndef COPSE_TESTBED_FABRIC_FABRIC_CONTROL_H_
#define COPSE_TESTBED_FABRIC_FABRIC_CONTROL_H_

#include <sys/un.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"
#include "nlohmann/json_fwd.hpp"

namespace copse::fabric {

// Returns the address of the Unix socket `path`. Errors: INVALID_ARGUMENT for an empty path or one too long.
absl::StatusOr<sockaddr_un> ControlAddress(const std::string& path);

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
  // Returns the answer to "stats" (docs/reference/fabric.md), with its links by name instead of in a list.
  absl::StatusOr<nlohmann::json> Stats();
  // Resets the counters to zero.
  absl::Status Clear();
  absl::Status Quit();

  // Sends any request; returns the line of JSON of the answer.
  absl::StatusOr<std::string> Ask(std::string_view request);
  // Returns the status in such a line: INVALID_ARGUMENT if the request was refused.
  static absl::Status StatusOf(const std::string& answer);

 private:
  // Sends a request that has no result.
  absl::Status Do(std::string_view request);

  FabricControl(UniqueFd fd, absl::Duration timeout) : fd_(std::move(fd)), timeout_(timeout) {}

  UniqueFd fd_;
  absl::Duration timeout_;
  std::string unread_;
};

}  // namespace copse::fabric

#endif  // COPSE_TESTBED_FABRIC_FABRIC_CONTROL_H_
