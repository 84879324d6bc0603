// SPDX-License-Identifier: Apache-2.0
//
// Remembers for a short while which peers were found to be believed.
#ifndef COPSE_RPC_JUDGED_PEERS_H_
#define COPSE_RPC_JUDGED_PEERS_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/time/time.h"
#include "base/certificates/spiffe_id.h"

namespace copse::rpc {

struct CheckedPeer {
  SpiffeId id;
  absl::Time ends;  // of the certificate
};

// JudgedPeers has peers by a hash of all that they have shown. What a peer was judged by must not have changed: else
// Clear has to be called. Thread-compatible.
class JudgedPeers {
 public:
  static constexpr absl::Duration kKept = absl::Seconds(10);
  static constexpr size_t kPeersMax = 4096;

  // Returns nullptr for a peer that is not known, or not any more.
  const CheckedPeer* Find(const std::string& shown, absl::Time now) const {
    const auto known = peers_.find(shown);
    if (known == peers_.end() || now < known->second.judged || now >= known->second.until) return nullptr;
    return &known->second.peer;
  }
  // Keeps a peer that was judged at `now`, until `until` at most.
  void Add(const std::string& shown, CheckedPeer peer, absl::Time now, absl::Time until) {
    if (peers_.size() >= kPeersMax) peers_.clear();
    peers_.insert_or_assign(shown, Kept{std::move(peer), now, std::min(until, now + kKept)});
  }
  void Clear() { peers_.clear(); }
  size_t size() const { return peers_.size(); }

 private:
  struct Kept {
    CheckedPeer peer;
    absl::Time judged;  // earlier than it, the clock was set back
    absl::Time until;
  };

  std::unordered_map<std::string, Kept> peers_;
};

}  // namespace copse::rpc

#endif  // COPSE_RPC_JUDGED_PEERS_H_
