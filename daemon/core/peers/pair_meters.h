// SPDX-License-Identifier: Apache-2.0
//
// Measuring between this node and another, for the planner: overheads, latency, rate.
#ifndef COPSE_DAEMON_CORE_PEERS_PAIR_METERS_H_
#define COPSE_DAEMON_CORE_PEERS_PAIR_METERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "daemon/core/peers/peer_messages.h"
#include "protocol/control.h"

namespace copse::daemon {

// What measuring needs of its daemon.
class PairMeterHost {
 public:
  virtual ~PairMeterHost() = default;
  virtual absl::Time Now() const = 0;
  // A connection for as long as it is measured; the peer does not become a neighbour.
  virtual absl::Status ConnectForMeasuring(const schedule::TeamNode& peer) = 0;
  virtual void DisconnectAfterMeasuring(Incarnation peer) = 0;
  // RESOURCE_EXHAUSTED: later. UNAVAILABLE: the peer is gone.
  virtual absl::Status SendToMeasured(Incarnation peer, const PeerMessage& message) = 0;
  virtual void OnMeasured(const schedule::MeasureReply& reply) = 0;
};

// PairMeters are this daemon's sides of measurements. The planner tells both daemons of a pair; one of them, the active
// one, asks and answers the planner, the other only reacts, and lets go when it is told to or its time is over.
//
// First pings of a few bytes, one at a time: the least round trip counts. Then bulk: as much as the window allows is
// under way; the window doubles from round to round (a window acknowledged, at least 5 ms) until the rate
// stops to grow and the window takes longer to pass than a ping, so that queues on the way hold about what the pipe
// itself holds, and other traffic waits no longer than that. The rate is that of the rounds after, without the slowest
// and fastest quarter of them: who stands still for a moment makes one slow, and the next fast.
//
// It is over when all that was sent has arrived: what is still under way would share links with whatever is measured
// next.
//
// Thread-compatible; `*host` outlives it. Nothing here lasts longer than the query's time-out.
class PairMeters {
 public:
  // At once; more are refused.
  static constexpr size_t kMetersMax = 16;

  explicit PairMeters(PairMeterHost* host) : host_(host) {}
  ~PairMeters();

  // The answer of an active one comes through OnMeasured, once; maybe before this returns.
  void Start(const schedule::MeasureQuery& query);
  // `receive_cost`: what the turn of the network took that brought it.
  void OnMessage(Incarnation from, const MeterMessage& message, absl::Duration receive_cost);
  void OnPeerDown(Incarnation peer, const std::string& why);
  // Sends what is due and ends what is over. True if anything was sent.
  bool Progress();
  absl::Time NextDeadline() const;
  bool empty() const { return meters_.empty(); }

 private:
  enum class Phase { kPings, kBulk, kDrain };
  struct Round {
    uint64_t bytes = 0;
    int64_t ns = 0;
    double rate() const { return static_cast<double>(bytes) * 1e9 / static_cast<double>(ns); }  // bytes a second
  };
  struct Meter {
    schedule::MeasureQuery query;
    absl::Time started;
    absl::Time deadline;
    std::vector<int64_t> send_ns;     // what sending a ping or pong took here
    std::vector<int64_t> receive_ns;  // and receiving one
    // Of the active side.
    Phase phase = Phase::kPings;
    std::vector<absl::Time> pinged;  // by number
    uint32_t pongs = 0;
    std::vector<int64_t> round_trips_ns;
    int64_t peer_send_ns = 0, peer_receive_ns = 0;
    absl::Time bulk_started;
    uint64_t window = 0;  // bytes
    bool growing = true;
    uint32_t rounds_without_growth = 0;
    uint64_t sent = 0, acknowledged = 0;  // bytes
    bool exhausted = false;               // bulk_bytes_max has been sent
    // The present round's beginning, and the steady part's, at the peer.
    uint64_t round_bytes = 0;
    int64_t round_ns = 0;
    double round_rate = 0;  // of the best before, bytes a second
    uint64_t steady_bytes = 0;
    int64_t steady_ns = 0;
    std::vector<Round> steady;
    bool heard_ack = false;
    int64_t last_ack_ns = 0;
    Round result;                               // once it drains
    absl::Time heard = absl::InfiniteFuture();  // the other side; that is: not yet
    // Of the passive side.
    uint64_t received = 0, told = 0;  // bytes
    absl::Time received_at, told_at = absl::InfinitePast();
  };

  static absl::Time BulkDeadline(const Meter& meter) {
    return meter.bulk_started + absl::Nanoseconds(meter.query.bulk_ns_max);
  }
  void Ping(Meter* meter);
  void OnPong(Meter* meter, const MeterPong& pong, absl::Duration receive_cost);
  void StartBulk(Meter* meter);
  bool SendBulk(Meter* meter);
  void OnBulk(Meter* meter, const MeterBulk& bulk);
  bool Acknowledge(Meter* meter);
  void OnAck(Meter* meter, const MeterAck& ack);
  void OnRound(Meter* meter, const Round& round, int64_t round_trip_ns);
  static Round SteadyPart(const Meter& meter);
  void StartDrain(Meter* meter);
  void Finish(uint64_t query, const schedule::FailureReport& why);
  bool Send(Meter* meter, const PeerMessage& message);  // false: not now; the meter may be gone

  PairMeterHost* const host_;
  std::map<uint64_t, Meter> meters_;  // by query
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_PEERS_PAIR_METERS_H_
