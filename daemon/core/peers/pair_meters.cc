// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/peers/pair_meters.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"

namespace copse::daemon {
namespace {

using schedule::Failure;
using schedule::FailureReport;

// This many pongs are not counted at first, since connections are being set up and caches are cold.
constexpr uint32_t kWarmPongs = 2;
constexpr uint32_t kPongsMin = 3;
// A ping is repeated after this time, since the peer ignores pings that arrive before the planner's query.
constexpr absl::Duration kPingAgain = absl::Milliseconds(100);
// A measurement without any pong fails after this time.
constexpr absl::Duration kNoPong = absl::Seconds(2);
constexpr size_t kPingsMax = 10'000;

constexpr uint64_t kWindowFirst = 32 * 1024;
constexpr uint64_t kWindowMax = 16u << 20;
constexpr int64_t kRoundNsMin = 5'000'000;
// The rate counts as growing while a round is faster than all rounds before by this factor.
constexpr double kGrowth = 1.15;
constexpr uint32_t kRoundsWithoutGrowth = 2;
// A window of at least kWindowFillsQueues bytes that needs kFullRoundTrips or more to pass waits in queues for much of
// that time. A larger one could overflow queues: a lost packet delays all later ones, which then seem to arrive at
// once.
constexpr uint64_t kWindowFillsQueues = 512 * 1024;
constexpr double kFullRoundTrips = 1.75;
// A window that passes in fewer round trips does not wait in queues, so the window limits the rate.
constexpr double kUnfilledRoundTrips = 1.25;
constexpr int64_t kSteadyNs = 40'000'000;
constexpr size_t kSteadyRounds = 4;
// With fewer rounds, no outlier can be recognized, so all count.
constexpr size_t kTrimmedRoundsMin = 3;
constexpr int kFramesPerTurn = 16;
constexpr uint64_t kAcksInWindow = 8;
constexpr absl::Duration kAckAfter = absl::Milliseconds(1);
// A passive side that receives nothing for so long has missed the end; an active one stops waiting for the last bytes.
constexpr absl::Duration kSilence = absl::Seconds(2);

int64_t Nanoseconds(absl::Duration duration) { return absl::ToInt64Nanoseconds(duration); }

int64_t Median(std::vector<int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

uint64_t QueryOf(const MeterMessage& message) {
  return std::visit([](const auto& m) { return m.query; }, message);
}

}  // namespace

PairMeters::~PairMeters() {
  for (const auto& [id, meter] : meters_) host_->DisconnectAfterMeasuring(meter.query.peer.incarnation);
}

void PairMeters::Start(const schedule::MeasureQuery& query) {
  if (meters_.count(query.query) != 0) return;
  const auto refuse = [&](const std::string& why) {
    if (!query.active) return;
    host_->OnMeasured({.query = query.query, .why = {Failure::kNoResource, why}});
  };
  if (meters_.size() >= kMetersMax) {
    return refuse(absl::StrCat("too many measurements at once (limit=", kMetersMax, ")"));
  }
  if (const absl::Status status = host_->ConnectForMeasuring(query.peer); !status.ok()) {
    return refuse(std::string(status.message()));
  }
  Meter& meter = meters_[query.query];
  meter.query = query;
  meter.started = host_->Now();
  meter.deadline = meter.started + absl::Nanoseconds(query.timeout_ns);
  if (query.active) Ping(&meter);
}

bool PairMeters::Send(Meter* meter, const PeerMessage& message) {
  const absl::Status status = host_->SendToMeasured(meter->query.peer.incarnation, message);
  if (status.ok()) return true;
  if (!absl::IsResourceExhausted(status)) {
    Finish(meter->query.query, {Failure::kMemberLost, std::string(status.message())});
  }
  return false;
}

void PairMeters::Ping(Meter* meter) {
  if (meter->pinged.size() >= kPingsMax) return;  // if no further pongs come, the time-out ends the measurement
  const auto number = static_cast<uint32_t>(meter->pinged.size());
  const absl::Time before = host_->Now();
  meter->pinged.push_back(before);
  if (!Send(meter, MeterPing{.query = meter->query.query, .number = number})) return;
  meter->send_ns.push_back(Nanoseconds(host_->Now() - before));
}

void PairMeters::OnMessage(Incarnation from, const MeterMessage& message, absl::Duration receive_cost) {
  const auto it = meters_.find(QueryOf(message));
  if (it == meters_.end() || it->second.query.peer.incarnation != from) return;
  Meter* const meter = &it->second;
  meter->last_received = host_->Now();
  if (const auto* ping = std::get_if<MeterPing>(&message); ping != nullptr && !meter->query.active) {
    if (meter->receive_ns.size() < kPingsMax) meter->receive_ns.push_back(Nanoseconds(receive_cost));
    const MeterPong pong = {.query = ping->query,
                            .number = ping->number,
                            .send_ns = Median(meter->send_ns),
                            .receive_ns = Median(meter->receive_ns)};
    const absl::Time before = host_->Now();
    if (!Send(meter, pong)) return;
    if (meter->send_ns.size() < kPingsMax) meter->send_ns.push_back(Nanoseconds(host_->Now() - before));
  } else if (const auto* pong = std::get_if<MeterPong>(&message); pong != nullptr && meter->query.active) {
    OnPong(meter, *pong, receive_cost);
  } else if (const auto* bulk = std::get_if<MeterBulk>(&message); bulk != nullptr && !meter->query.active) {
    OnBulk(meter, *bulk);
  } else if (const auto* ack = std::get_if<MeterAck>(&message); ack != nullptr && meter->query.active) {
    OnAck(meter, *ack);
  } else if (std::holds_alternative<MeterEnd>(message) && !meter->query.active) {
    Finish(meter->query.query, {});
  }
}

void PairMeters::OnPong(Meter* meter, const MeterPong& pong, absl::Duration receive_cost) {
  if (meter->phase != Phase::kPings || pong.number >= meter->pinged.size()) return;
  const absl::Time now = host_->Now();
  if (++meter->pongs > kWarmPongs) {
    meter->round_trips_ns.push_back(Nanoseconds(now - meter->pinged[pong.number]));
    meter->receive_ns.push_back(Nanoseconds(receive_cost));
    meter->peer_send_ns = pong.send_ns;
    meter->peer_receive_ns = pong.receive_ns;
  }
  const size_t enough = now - meter->started > absl::Nanoseconds(meter->query.ping_ns_max)
                            ? kPongsMin
                            : std::max<size_t>(kPongsMin, meter->query.pings);
  if (meter->round_trips_ns.size() < enough) {
    if (pong.number + 1 == meter->pinged.size()) Ping(meter);
  } else if (meter->query.bulk_bytes_max > 0) {
    StartBulk(meter);
  } else {
    Finish(meter->query.query, {});
  }
}

void PairMeters::StartBulk(Meter* meter) {
  meter->phase = Phase::kBulk;
  meter->bulk_started = host_->Now();
  meter->window = kWindowFirst;
  SendBulk(meter);
}

// Sends at most kFramesPerTurn frames, so that submission queues and timers are polled in between.
bool PairMeters::SendBulk(Meter* meter) {
  const uint64_t limit = meter->query.bulk_bytes_max;
  bool any = false;
  for (int i = 0; i < kFramesPerTurn; ++i) {
    if (meter->exhausted || meter->sent + kMeterBulkBytes > meter->acknowledged + meter->window) return any;
    const bool last = meter->sent + 2 * kMeterBulkBytes > limit;
    const uint64_t query = meter->query.query;
    const auto ack_every = static_cast<uint32_t>(meter->window / kAcksInWindow);
    if (!Send(meter, MeterBulk{.query = query, .bytes = kMeterBulkBytes, .ack_every = ack_every, .last = last})) {
      return any;
    }
    meter->sent += kMeterBulkBytes;
    meter->exhausted = last;
    any = true;
  }
  return any;
}

void PairMeters::OnBulk(Meter* meter, const MeterBulk& bulk) {
  meter->received += bulk.bytes;
  meter->received_at = host_->Now();
  // Acknowledges kAcksInWindow times per window, and at least every kAckAfter: on slow links, every frame.
  const bool soon = meter->received - meter->acked < bulk.ack_every && meter->received_at - meter->acked_at < kAckAfter;
  if (!soon || bulk.last) Acknowledge(meter);
}

bool PairMeters::Acknowledge(Meter* meter) {
  const MeterAck ack = {
      .query = meter->query.query, .bytes = meter->received, .at_ns = Nanoseconds(meter->received_at - meter->started)};
  if (!Send(meter, ack)) return false;
  meter->acked = ack.bytes;
  meter->acked_at = host_->Now();
  return true;
}

void PairMeters::OnAck(Meter* meter, const MeterAck& ack) {
  if (meter->phase == Phase::kPings || ack.bytes <= meter->acknowledged || ack.bytes > meter->sent) return;
  if (ack.at_ns < meter->last_ack_ns) return;  // not valid: times of a peer's acknowledgments never decrease
  meter->acknowledged = ack.bytes;
  if (meter->phase == Phase::kDrain) {
    if (meter->acknowledged == meter->sent) Finish(meter->query.query, {});
    return;
  }
  meter->last_ack_ns = ack.at_ns;
  if (!meter->has_ack) {
    meter->has_ack = true;
    meter->round_bytes = meter->steady_bytes = ack.bytes;
    meter->round_ns = meter->steady_ns = ack.at_ns;
  }
  const int64_t round_trip_ns = *std::min_element(meter->round_trips_ns.begin(), meter->round_trips_ns.end());
  const Round round = {.bytes = ack.bytes - meter->round_bytes, .ns = ack.at_ns - meter->round_ns};
  if (round.bytes >= meter->window && round.ns >= std::max(kRoundNsMin, round_trip_ns)) {
    OnRound(meter, round, round_trip_ns);
    meter->round_bytes = ack.bytes;
    meter->round_ns = ack.at_ns;
  }
  const bool settled =
      !meter->growing && meter->steady.size() >= kSteadyRounds && ack.at_ns - meter->steady_ns >= kSteadyNs;
  const bool out_of_bytes = meter->exhausted && meter->acknowledged == meter->sent;
  const bool out_of_time = host_->Now() >= BulkDeadline(*meter);
  if (settled || out_of_bytes || out_of_time) return StartDrain(meter);
  SendBulk(meter);
}

void PairMeters::OnRound(Meter* meter, const Round& round, int64_t round_trip_ns) {
  if (meter->growing) {
    const double passes = static_cast<double>(meter->window) * 1e9 / round.rate() / static_cast<double>(round_trip_ns);
    const bool unfilled = passes < kUnfilledRoundTrips && meter->window < kWindowMax;
    const bool full = passes >= kFullRoundTrips && meter->window >= kWindowFillsQueues;
    if (round.rate() > kGrowth * meter->round_rate || unfilled) {
      meter->rounds_without_growth = 0;
    } else if (++meter->rounds_without_growth >= kRoundsWithoutGrowth) {
      meter->growing = false;
    }
    // The network may need a round to make use of a larger window.
    if (meter->rounds_without_growth == 0 && !full) meter->window = std::min(kWindowMax, 2 * meter->window);
    meter->round_rate = std::max(meter->round_rate, round.rate());
    // The steady part begins with the round that ends the growth. If bytes or time run out before, it is the last
    // complete round.
    meter->steady.clear();
    meter->steady_bytes = meter->round_bytes;
    meter->steady_ns = meter->round_ns;
  }
  meter->steady.push_back(round);
}

// Returns the sum of the steady rounds, without the slowest, in which a node stalled, and the fastest, in which the
// delayed bytes arrived.
PairMeters::Round PairMeters::SteadyPart(const Meter& meter) {
  if (!meter.has_ack) return {};
  if (meter.steady.size() < kTrimmedRoundsMin) {
    return {.bytes = meter.acknowledged - meter.steady_bytes, .ns = meter.last_ack_ns - meter.steady_ns};
  }
  std::vector<Round> rounds = meter.steady;
  std::sort(rounds.begin(), rounds.end(), [](const Round& a, const Round& b) { return a.rate() < b.rate(); });
  const size_t trimmed = std::max<size_t>(1, rounds.size() / 4);
  Round sum;
  for (size_t i = trimmed; i + trimmed < rounds.size(); ++i) {
    sum.bytes += rounds[i].bytes;
    sum.ns += rounds[i].ns;
  }
  return sum;
}

void PairMeters::StartDrain(Meter* meter) {
  meter->result = SteadyPart(*meter);
  meter->phase = Phase::kDrain;
  if (meter->acknowledged == meter->sent) Finish(meter->query.query, {});
}

void PairMeters::OnPeerDown(Incarnation peer, const std::string& why) {
  std::vector<uint64_t> gone;
  for (const auto& [id, meter] : meters_) {
    if (meter.query.peer.incarnation == peer) gone.push_back(id);
  }
  for (const uint64_t id : gone) Finish(id, {Failure::kMemberLost, why});
}

void PairMeters::Finish(uint64_t query, const FailureReport& why) {
  auto entry = meters_.extract(query);
  if (entry.empty()) return;
  Meter& meter = entry.mapped();
  const Incarnation peer = meter.query.peer.incarnation;
  if (meter.query.active) {
    // If this message is lost, kSilence ends the measurement at the peer.
    (void)host_->SendToMeasured(peer, MeterEnd{.query = query});
    schedule::MeasureReply reply{.query = query, .why = why};
    reply.pings = static_cast<uint32_t>(meter.round_trips_ns.size());
    if (reply.pings > 0) {
      reply.round_trip_ns = *std::min_element(meter.round_trips_ns.begin(), meter.round_trips_ns.end());
      reply.round_trip_median_ns = Median(meter.round_trips_ns);
    }
    reply.send_ns = Median(meter.send_ns);
    reply.receive_ns = Median(meter.receive_ns);
    reply.peer_send_ns = meter.peer_send_ns;
    reply.peer_receive_ns = meter.peer_receive_ns;
    const Round bulk = meter.phase == Phase::kDrain ? meter.result : SteadyPart(meter);
    if (bulk.ns > 0) {
      reply.bulk_bytes = bulk.bytes;
      reply.bulk_ns = bulk.ns;
    }
    reply.bulk_steady = !meter.growing;
    host_->OnMeasured(reply);
  }
  host_->DisconnectAfterMeasuring(peer);
}

bool PairMeters::Progress() {
  if (meters_.empty()) return false;
  const absl::Time now = host_->Now();
  bool any = false;
  std::vector<uint64_t> all;
  for (const auto& [id, meter] : meters_) all.push_back(id);
  for (const uint64_t id : all) {
    const auto it = meters_.find(id);
    if (it == meters_.end()) continue;
    Meter* const meter = &it->second;
    const bool silent = now - meter->last_received >= kSilence;
    if (meter->phase == Phase::kDrain) {
      if (silent || now >= meter->deadline) Finish(id, {});
    } else if (now >= meter->deadline) {
      Finish(id, {Failure::kTimedOut,
                  absl::StrCat("no answer within ", absl::FormatDuration(absl::Nanoseconds(meter->query.timeout_ns)))});
    } else if (!meter->query.active) {
      if (silent) {
        Finish(id, {});
      } else if (meter->received > meter->acked && now - meter->received_at >= kAckAfter) {
        any |= Acknowledge(meter);  // no more bytes come, or an earlier acknowledgment could not be sent
      }
    } else if (meter->phase == Phase::kPings && meter->pongs == 0 && now - meter->started >= kNoPong) {
      Finish(id, {Failure::kTimedOut, absl::StrCat("no answer within ", absl::FormatDuration(kNoPong))});
    } else if (meter->phase == Phase::kPings) {
      if (now - meter->pinged.back() >= kPingAgain) {
        Ping(meter);
        any = true;
      }
    } else if (now >= BulkDeadline(*meter)) {
      StartDrain(meter);  // the bytes that have arrived count
    } else {
      any |= SendBulk(meter);
    }
  }
  return any;
}

absl::Time PairMeters::NextDeadline() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [id, meter] : meters_) {
    next = std::min(next, meter.deadline);
    if (!meter.query.active) {
      next = std::min(next, meter.last_received + kSilence);
      if (meter.received > meter.acked) next = std::min(next, meter.received_at + kAckAfter);
      continue;
    }
    switch (meter.phase) {
      case Phase::kPings:
        next = std::min(next, meter.pinged.back() + kPingAgain);
        break;
      case Phase::kBulk:
        next = std::min(next, BulkDeadline(meter));
        break;
      case Phase::kDrain:
        next = std::min(next, meter.last_received + kSilence);
        break;
    }
  }
  return next;
}

}  // namespace copse::daemon
