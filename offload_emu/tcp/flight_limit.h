// SPDX-License-Identifier: Apache-2.0
//
// Bounds what the kernel takes of one connection's data before it is acknowledged.
#ifndef COPSE_OFFLOAD_EMU_TCP_FLIGHT_LIMIT_H_
#define COPSE_OFFLOAD_EMU_TCP_FLIGHT_LIMIT_H_

#include <cstdint>

#include "absl/time/time.h"
#include "offload_emu/tcp/flight_window.h"

namespace copse::emu {

// A FlightLimit sets the socket's send buffer to a FlightWindow. Thread-compatible.
class FlightLimit {
 public:
  // The connected socket must outlive it.
  explicit FlightLimit(int fd);

  // Returns the most that should be written as one packet.
  size_t packet_bytes() const { return window_.packet_bytes(); }
  // Returns the number of bytes that the socket has and that are not acknowledged.
  uint64_t UnderWay() const;
  // The socket had taken `taken` bytes, of which so many were under way, when more was written, and is full now.
  void OnWrite(absl::Time now, uint64_t taken, uint64_t under_way);
  // The socket has taken all there is.
  void OnIdle() { window_.OnIdle(); }

 private:
  void Apply();

  const int fd_;
  FlightWindow window_;
  size_t applied_ = 0;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_FLIGHT_LIMIT_H_
