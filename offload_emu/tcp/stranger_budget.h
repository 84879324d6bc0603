// SPDX-License-Identifier: Apache-2.0
//
// Limits the handshakes that strangers can have a daemon make. A handshake costs its loop about a millisecond, which
// jobs' calls wait for.
#ifndef COPSE_OFFLOAD_EMU_TCP_STRANGER_BUDGET_H_
#define COPSE_OFFLOAD_EMU_TCP_STRANGER_BUDGET_H_

#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"

namespace copse::emu {

// Returns the part of an address by which its host is known: of IPv6 the network, since a host has many addresses.
std::string SourceOf(const sockaddr_storage& address);

// A StrangerBudget lets each source begin kBurst handshakes, and one more each kEvery. What has proven to be a peer
// gives its own back, so that peers have no limit, however many start at once. Thread-compatible.
class StrangerBudget {
 public:
  static constexpr uint32_t kBurst = 256;
  static constexpr absl::Duration kEvery = absl::Milliseconds(20);
  // Sources that are remembered; beyond, all start anew.
  static constexpr size_t kSourcesMax = 4096;

  // Returns whether a handshake with the source may begin.
  bool Take(const std::string& source, absl::Time now);
  // The connection that was taken for this source is a peer's.
  void GiveBack(const std::string& source);
  size_t sources() const { return sources_.size(); }

 private:
  struct Source {
    double left = kBurst;
    absl::Time at;  // of `left`

    double LeftAt(absl::Time now) const {
      return std::min<double>(kBurst, left + absl::FDivDuration(now - at, kEvery));
    }
  };

  std::map<std::string, Source> sources_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_STRANGER_BUDGET_H_
