// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/peers/pair_meters.h"

#include <algorithm>
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

constexpr int kFramesPerTurn = 16;
// A passive side that receives nothing for so long has missed the end; an active one stops waiting for the last bytes.
constexpr absl::Duration kSilence = absl::Seconds(2);

int64_t Nanoseconds(absl::Duration duration) { return absl::ToInt64Nanoseconds(duration); }

int64_t Median(std::vector<int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

int64_t Least(const std::vector<int64_t>& values) { return *std::min_element(values.begin(), values.end()); }

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
    if (meter->receipts.OnBulk(*bulk, host_->Now())) Acknowledge(meter);
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
  meter->rounds.Start(meter->query.bulk_bytes_max, Least(meter->round_trips_ns));
  SendBulk(meter);
}

// Sends at most kFramesPerTurn frames, so that submission queues and timers are polled in between.
bool PairMeters::SendBulk(Meter* meter) {
  BulkRounds& rounds = meter->rounds;
  bool any = false;
  for (int i = 0; i < kFramesPerTurn && rounds.may_send(); ++i) {
    const MeterBulk bulk = {.query = meter->query.query,
                            .bytes = kMeterBulkBytes,
                            .ack_every = rounds.ack_every(),
                            .last = rounds.next_is_last()};
    if (!Send(meter, bulk)) return any;
    rounds.OnSent();
    any = true;
  }
  return any;
}

bool PairMeters::Acknowledge(Meter* meter) {
  const MeterAck ack = {.query = meter->query.query,
                        .bytes = meter->receipts.received(),
                        .at_ns = Nanoseconds(meter->receipts.received_at() - meter->started)};
  if (!Send(meter, ack)) return false;
  meter->receipts.OnAcknowledged(host_->Now());
  return true;
}

void PairMeters::OnAck(Meter* meter, const MeterAck& ack) {
  if (meter->phase == Phase::kPings || !meter->rounds.OnAck(ack)) return;
  if (meter->phase == Phase::kDrain) {
    if (meter->rounds.all_acknowledged()) Finish(meter->query.query, {});
    return;
  }
  if (meter->rounds.enough() || host_->Now() >= BulkDeadline(*meter)) return StartDrain(meter);
  SendBulk(meter);
}

void PairMeters::StartDrain(Meter* meter) {
  meter->rounds.Stop();
  meter->phase = Phase::kDrain;
  if (meter->rounds.all_acknowledged()) Finish(meter->query.query, {});
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
      reply.round_trip_ns = Least(meter.round_trips_ns);
      reply.round_trip_median_ns = Median(meter.round_trips_ns);
    }
    reply.send_ns = Median(meter.send_ns);
    reply.receive_ns = Median(meter.receive_ns);
    reply.peer_send_ns = meter.peer_send_ns;
    reply.peer_receive_ns = meter.peer_receive_ns;
    const BulkRounds::Round bulk = meter.rounds.result();
    if (bulk.ns > 0) {
      reply.bulk_bytes = bulk.bytes;
      reply.bulk_ns = bulk.ns;
    }
    reply.bulk_steady = !meter.rounds.growing();
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
      } else if (now >= meter->receipts.deadline()) {
        any |= Acknowledge(meter);
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
      next = std::min({next, meter.last_received + kSilence, meter.receipts.deadline()});
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
