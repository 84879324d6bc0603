// SPDX-License-Identifier: Apache-2.0
//
// Passes on TCP connections in a test, and disturbs them.
#ifndef COPSE_OFFLOAD_EMU_TCP_TESTING_RELAY_H_
#define COPSE_OFFLOAD_EMU_TCP_TESTING_RELAY_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "offload_emu/tcp/socket_address.h"

namespace copse::emu {

// A Relay listens on loopback and passes the bytes of each connection on to `target` and back, on a thread of its own.
// Thread-safe.
class Relay {
 public:
  // `searched` is looked for in what is passed on.
  explicit Relay(const SocketAddress& target, std::string searched = "");
  ~Relay();

  std::string address() const { return address_; }
  // Resets all connections.
  void Reset() { ++resets_wanted_; }
  // Changes one bit of the next bytes that come from either side, after `skip` more bytes.
  void Corrupt(int64_t skip) { corrupt_in_ = skip; }
  // While it is stalled, no byte is passed on.
  void Stall(bool stalls) { stalls_ = stalls; }
  uint64_t connections() const { return connections_; }
  // Returns how often `searched` was passed on.
  uint64_t found() const { return found_; }

 private:
  struct Pair {
    UniqueFd ends[2];
    std::string last[2];  // what came from each end last, in which `searched` may begin
  };

  void Run();
  void AcceptOne();
  // Returns false if the pair has ended.
  bool PassOn(Pair* pair, int from);
  void Search(const uint8_t* bytes, size_t count, std::string* last);

  const SocketAddress target_;
  const std::string searched_;
  UniqueFd listener_;
  std::string address_;
  std::vector<Pair> pairs_;  // the thread's
  std::atomic<bool> ends_ = false;
  std::atomic<bool> stalls_ = false;
  std::atomic<uint64_t> resets_wanted_ = 0;
  std::atomic<int64_t> corrupt_in_ = -1;
  std::atomic<uint64_t> connections_ = 0;
  std::atomic<uint64_t> found_ = 0;
  std::thread thread_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_TESTING_RELAY_H_
