// SPDX-License-Identifier: Apache-2.0
//
// What clients have counted of their calls that return before their data is there, added up.
#ifndef COPSE_DAEMON_SHM_EARLY_TOTALS_H_
#define COPSE_DAEMON_SHM_EARLY_TOTALS_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "daemon/shm/client_port.h"
#include "protocol/ring_layout.h"

namespace copse::daemon {

// Clients may have written anything: sums stay at the largest number there is. Thread-compatible.
class EarlyTotals {
 public:
  // Adds what the client of the port says now.
  void Add(const ClientPort& port);

  // early.calls and so on (docs/reference/instruments.md).
  void AppendCounters(std::map<std::string, uint64_t>* counters) const;

 private:
  std::array<uint64_t, ring::kEarlyCounts> sums_{};
  // Between the starts of calls and their last data, neither in the calls nor waiting for what was touched; of each
  // client at least 0, since several threads may wait for one call.
  uint64_t hidden_ns_ = 0;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_EARLY_TOTALS_H_
