// SPDX-License-Identifier: Apache-2.0
//
// How much of a connection's data may be under way at once.
#ifndef COPSE_OFFLOAD_EMU_TCP_FLIGHT_WINDOW_H_
#define COPSE_OFFLOAD_EMU_TCP_FLIGHT_WINDOW_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace copse::emu {

// A FlightWindow keeps a path busy and its queues short: what one connection has in a queue, frames of others wait for.
// As the kernel does for the queue of a device, it grows if the path ran dry before more was written, and shrinks by
// what was never needed. It also grows while the rate is far below what it was, so that others, who fill the queues,
// do not displace the connection: then the system's congestion control alone decides. Pure; thread-compatible.
class FlightWindow {
 public:
  // Some 2.6 ms at 200 Mbit/s: as long as a sleeping daemon may take until it writes again.
  static constexpr size_t kBytesMin = 64 * 1024;
  static constexpr size_t kBytesMax = 4 << 20;
  static constexpr size_t kBytesFirst = 256 * 1024;

  size_t bytes() const { return bytes_; }
  // Returns the length of packets of which the window has some.
  size_t packet_bytes() const { return bytes_ / 4; }

  // More is written: `acknowledged` bytes were so far, and `under_way` ones are not yet. Returns whether it is time to
  // call Adapt.
  bool OnWrite(absl::Time now, uint64_t acknowledged, uint64_t under_way);
  // All was written there is: until the next OnWrite it is not the window that holds data back.
  void OnIdle() { is_full_ = false; }
  // Decides from what OnRoom has told, and the path's shortest round trip.
  void Adapt(absl::Duration rtt_min);

 private:
  static constexpr size_t kSamples = 16;
  // The best rate is forgotten after one to two times so long.
  static constexpr absl::Duration kBestKept = absl::Seconds(5);

  void NoteRate(double rate);

  size_t bytes_ = kBytesFirst;
  std::array<uint64_t, kSamples> under_way_{};
  size_t samples_ = 0;
  bool is_full_ = false;  // data waits for room since the last OnWrite
  absl::Time last_;       // of OnWrite
  uint64_t last_acknowledged_ = 0;
  absl::Duration full_time_;           // of the samples
  uint64_t full_bytes_ = 0;            // that were acknowledged in that time
  double best_ = 0, best_before_ = 0;  // bytes per second, since `best_since_`, and for some time before
  absl::Time best_since_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_FLIGHT_WINDOW_H_
