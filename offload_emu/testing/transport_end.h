// SPDX-License-Identifier: Apache-2.0
//
// Records what a transport of this machine delivers, and runs several until something has happened.
#ifndef COPSE_OFFLOAD_EMU_TESTING_TRANSPORT_END_H_
#define COPSE_OFFLOAD_EMU_TESTING_TRANSPORT_END_H_

#include <poll.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "offload_emu/transport.h"

namespace copse::emu {

// A TransportEnd has received what a transport delivered to it. A derived class owns the transport.
class TransportEnd : public TransportSink {
 public:
  virtual PolledTransport* polled() const = 0;

  void OnFrame(absl::Span<const uint8_t> frame) override {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(frame.data()) % 8, 0u);
    frames.emplace_back(frame.begin(), frame.end());
  }
  bool TakeFrame(absl::Span<const uint8_t> frame) override {
    if (!takes_odd || frame.size() % 2 == 0) return false;
    taken.emplace_back(frame.begin(), frame.end());
    return true;
  }
  void OnPeerDown(Incarnation peer, const absl::Status& why) override { downs.emplace_back(peer, why); }

  bool takes_odd = false;  // takes frames of odd length within the network's callback
  std::vector<std::vector<uint8_t>> taken;
  std::vector<std::vector<uint8_t>> frames;
  std::vector<std::pair<Incarnation, absl::Status>> downs;
};

// Progresses all until `done`, or until `limit` has passed; sleeps while nothing happens.
template <typename Done>
bool RunTill(const std::vector<TransportEnd*>& ends, Done done, absl::Duration limit = absl::Seconds(10)) {
  const absl::Time deadline = absl::Now() + limit;
  while (!done()) {
    if (absl::Now() > deadline) return false;
    bool is_busy = false;
    for (TransportEnd* end : ends) is_busy |= end->polled()->Progress(end);
    std::vector<pollfd> fds;
    for (TransportEnd* end : ends) {
      is_busy = is_busy || !*end->polled()->Arm();
      fds.push_back({end->polled()->event_fd(), POLLIN, 0});
    }
    if (!is_busy) poll(fds.data(), fds.size(), 10);
  }
  return true;
}

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TESTING_TRANSPORT_END_H_
