// SPDX-License-Identifier: Apache-2.0
//
// Sums up the clients' counters of asynchronous completion: of calls that return before their data is in place.
#ifndef COPSE_DAEMON_SHM_EARLY_TOTALS_H_
#define COPSE_DAEMON_SHM_EARLY_TOTALS_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "daemon/shm/client_port.h"
#include "protocol/ring_layout.h"

namespace copse::daemon {

// EarlyTotals holds sums over clients. Clients may have written any values, so sums saturate. Thread-compatible.
class EarlyTotals {
 public:
  // Adds the current counters of the port's client to the sums.
  void Add(const ClientPort& port);

  // Sets early.calls and so on (docs/reference/instruments.md) in `*counters`.
  void AppendCounters(std::map<std::string, uint64_t>* counters) const;

 private:
  std::array<uint64_t, ring::kEarlyCounts> sums_{};
  // It is the time between the starts of calls and their last data that was spent neither in the calls nor in accesses
  // that wait. Each client adds at least 0, since several threads may wait for one call.
  uint64_t hidden_ns_ = 0;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_EARLY_TOTALS_H_
