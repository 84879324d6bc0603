// SPDX-License-Identifier: Apache-2.0
//
// Measures the bandwidth to a peer by bulk data of which a window is in flight.
#ifndef COPSE_DAEMON_CORE_PEERS_BULK_ROUNDS_H_
#define COPSE_DAEMON_CORE_PEERS_BULK_ROUNDS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "daemon/core/peers/peer_messages.h"

namespace copse::daemon {

// BulkRounds say how much bulk data the active side of a measurement may send, and what bandwidth it finds.
//
// A round ends when a window has been acknowledged, and a round trip and 5 ms have passed. The window doubles from
// round to round while the bandwidth grows or the window passes in about one ping's time, but not once it would only
// fill queues. So queues on the path hold about as much as the path itself, and delay other traffic no longer than
// that. The bandwidth is that of the rounds from the last one of the growth on, without the slowest and the fastest
// quarter: a node that stalls makes one round slow and the next one fast.
//
// Order of calls: Start; then OnSent while may_send(), and OnAck; Stop; then OnAck until all_acknowledged().
class BulkRounds {
 public:
  struct Round {
    uint64_t bytes = 0;
    int64_t ns = 0;
    double rate() const { return static_cast<double>(bytes) * 1e9 / static_cast<double>(ns); }  // bytes per second
  };

  // At most `bytes_max` are sent, or one frame; pings took `round_trip_ns` at least.
  void Start(uint64_t bytes_max, int64_t round_trip_ns);

  // Returns whether a frame of kMeterBulkBytes may be sent now, and whether that is the last one.
  bool may_send() const { return !exhausted_ && sent_ + kMeterBulkBytes <= acknowledged_ + window_; }
  bool next_is_last() const { return sent_ + 2 * kMeterBulkBytes > bytes_max_; }
  // Returns the number of bytes after which the peer acknowledges them.
  uint32_t ack_every() const;
  void OnSent();

  // Returns whether the acknowledgment is new and valid.
  bool OnAck(const MeterAck& ack);
  bool all_acknowledged() const { return acknowledged_ == sent_; }
  // Returns whether more data would tell no more, or there is none.
  bool enough() const;

  // Fixes the result: later acknowledgments do not change it.
  void Stop() { result_ = SteadyPart(); }
  // Returns the bytes that have passed in how much time; 0 in 0 if none have.
  Round result() const { return result_.has_value() ? *result_ : SteadyPart(); }
  // Returns whether the bandwidth was still growing with the window.
  bool growing() const { return growing_; }

 private:
  // An Acknowledged is so many bytes that the peer had at this time by its clock.
  struct Acknowledged {
    uint64_t bytes = 0;
    int64_t ns = 0;
  };

  void OnRound(const Round& round);
  Round SteadyPart() const;

  uint64_t bytes_max_ = 0;
  int64_t round_trip_ns_ = 0;
  uint64_t window_ = 0;  // bytes
  bool growing_ = true;
  uint32_t rounds_without_growth_ = 0;
  double round_rate_ = 0;                 // highest rate of the rounds so far, bytes per second
  uint64_t sent_ = 0, acknowledged_ = 0;  // bytes
  bool exhausted_ = false;                // bytes_max_ have been sent
  int64_t last_ack_ns_ = 0;
  std::optional<Acknowledged> round_;  // beginning of the current round; unset before the first acknowledgment
  Acknowledged steady_begin_;
  std::vector<Round> steady_;
  std::optional<Round> result_;
};

// BulkReceipts say when the passive side acknowledges bulk data: some times per window, and at least every millisecond
// (on slow links, every frame).
class BulkReceipts {
 public:
  // Returns whether the bytes so far are to be acknowledged at once.
  bool OnBulk(const MeterBulk& bulk, absl::Time now);
  void OnAcknowledged(absl::Time now) {
    acknowledged_ = received_;
    acknowledged_at_ = now;
  }
  uint64_t received() const { return received_; }  // bytes
  absl::Time received_at() const { return received_at_; }
  // Returns when to acknowledge the bytes of which more have not come meanwhile, or whose acknowledgment could not be
  // sent.
  absl::Time deadline() const;

 private:
  uint64_t received_ = 0, acknowledged_ = 0;  // bytes
  absl::Time received_at_;
  absl::Time acknowledged_at_ = absl::InfinitePast();
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_PEERS_BULK_ROUNDS_H_
