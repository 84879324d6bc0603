// SPDX-License-Identifier: Apache-2.0
//
// Measures overheads, latency and bandwidth between this node and another for the planner.
#ifndef COPSE_DAEMON_CORE_PEERS_PAIR_METERS_H_
#define COPSE_DAEMON_CORE_PEERS_PAIR_METERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "daemon/core/peers/bulk_rounds.h"
#include "daemon/core/peers/peer_messages.h"
#include "protocol/control.h"

namespace copse::daemon {

// PairMeterHost is the part of the daemon that PairMeters use.
class PairMeterHost {
 public:
  virtual ~PairMeterHost() = default;
  virtual absl::Time Now() const = 0;
  // Connects for the time of a measurement; the peer does not become a neighbor.
  virtual absl::Status ConnectForMeasuring(const schedule::TeamNode& peer) = 0;
  virtual void DisconnectAfterMeasuring(Incarnation peer) = 0;
  // RESOURCE_EXHAUSTED: try again later. UNAVAILABLE: the peer is gone.
  virtual absl::Status SendToMeasured(Incarnation peer, const PeerMessage& message) = 0;
  virtual void OnMeasured(const schedule::MeasureReply& reply) = 0;
};

// PairMeters are this daemon's sides of measurements. The planner sends a query to both daemons of a pair. The active
// one measures and replies to the planner; the passive one only responds, and ends with MeterEnd, after kSilence
// without a message, when the peer is down, or at its time-out.
//
// A measurement begins with pings of a few bytes, one at a time; the least round trip is reported, and the median. Then
// bulk data is sent (BulkRounds).
//
// The measurement ends when all bytes have arrived, since bytes in flight would share links with the next measurement;
// it gives up on them after kSilence without a message.
//
// Thread-compatible; `*host` must outlive this object. No measurement outlasts its query's time-out.
class PairMeters {
 public:
  // At most this many measurements run concurrently.
  static constexpr size_t kMetersMax = 16;

  explicit PairMeters(PairMeterHost* host) : host_(host) {}
  ~PairMeters();

  // Starts a measurement; a query whose number is in use is ignored. The active side calls OnMeasured once, perhaps
  // before Start returns.
  void Start(const schedule::MeasureQuery& query);
  // Handles a message of a measurement. `receive_cost` is the duration of the Engine::Progress call that received it.
  void OnMessage(Incarnation from, const MeterMessage& message, absl::Duration receive_cost);
  // Ends the measurements with the peer; those of the active side fail with kMemberLost.
  void OnPeerDown(Incarnation peer, const std::string& why);
  // Sends due messages and ends measurements that are over. Returns true if it sent anything.
  bool Progress();
  absl::Time NextDeadline() const;
  bool empty() const { return meters_.empty(); }

 private:
  enum class Phase { kPings, kBulk, kDrain };
  struct Meter {
    schedule::MeasureQuery query;
    absl::Time started;
    absl::Time deadline;
    std::vector<int64_t> send_ns;     // cost of each ping or pong sent here
    std::vector<int64_t> receive_ns;  // cost of each ping or pong received here
    // These members are the state of the active side.
    Phase phase = Phase::kPings;
    std::vector<absl::Time> pinged;  // by number
    uint32_t pongs = 0;
    std::vector<int64_t> round_trips_ns;
    int64_t peer_send_ns = 0, peer_receive_ns = 0;
    absl::Time bulk_started;
    BulkRounds rounds;
    absl::Time last_received = absl::InfiniteFuture();  // infinite: no message yet
    BulkReceipts receipts;                              // of the passive side
  };

  static absl::Time BulkDeadline(const Meter& meter) {
    return meter.bulk_started + absl::Nanoseconds(meter.query.bulk_ns_max);
  }
  void Ping(Meter* meter);
  void OnPong(Meter* meter, const MeterPong& pong, absl::Duration receive_cost);
  void StartBulk(Meter* meter);
  bool SendBulk(Meter* meter);
  bool Acknowledge(Meter* meter);
  void OnAck(Meter* meter, const MeterAck& ack);
  void StartDrain(Meter* meter);
  void Finish(uint64_t query, const schedule::FailureReport& why);
  // Returns false if the message was not sent. Unless the network is only congested, the measurement ends then, and
  // `*meter` is gone.
  bool Send(Meter* meter, const PeerMessage& message);

  PairMeterHost* const host_;
  std::map<uint64_t, Meter> meters_;  // by query
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_PEERS_PAIR_METERS_H_
