// SPDX-License-Identifier: Apache-2.0
//
// Sums of the clients' counters of calls that return before their data is in place.
#ifndef COPSE_DAEMON_SHM_EARLY_TOTALS_H_
#define COPSE_DAEMON_SHM_EARLY_TOTALS_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "daemon/shm/client_port.h"
#include "protocol/ring_layout.h"

namespace copse::daemon {

// Clients may have written any values, so sums saturate. Thread-compatible.
class EarlyTotals {
 public:
  // Adds the present counters of the port's client.
  void Add(const ClientPort& port);

  // Adds early.calls and so on (docs/reference/instruments.md).
  void AppendCounters(std::map<std::string, uint64_t>* counters) const;

 private:
  std::array<uint64_t, ring::kEarlyCounts> sums_{};
  // Time between the starts of calls and their last data that was spent neither in the calls nor in accesses that wait.
  // Each client adds at least 0, since several threads may wait for one call.
  uint64_t hidden_ns_ = 0;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_EARLY_TOTALS_H_
