// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/peers/bulk_rounds.h"

#include <algorithm>

namespace copse::daemon {
namespace {

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
constexpr uint64_t kAcksInWindow = 8;
constexpr absl::Duration kAckAfter = absl::Milliseconds(1);

}  // namespace

void BulkRounds::Start(uint64_t bytes_max, int64_t round_trip_ns) {
  bytes_max_ = bytes_max;
  round_trip_ns_ = round_trip_ns;
  window_ = kWindowFirst;
}

uint32_t BulkRounds::ack_every() const { return static_cast<uint32_t>(window_ / kAcksInWindow); }

void BulkRounds::OnSent() {
  exhausted_ = next_is_last();
  sent_ += kMeterBulkBytes;
}

bool BulkRounds::OnAck(const MeterAck& ack) {
  // Times of a peer's acknowledgments never decrease.
  if (ack.bytes <= acknowledged_ || ack.bytes > sent_ || ack.at_ns < last_ack_ns_) return false;
  acknowledged_ = ack.bytes;
  if (result_.has_value()) return true;
  last_ack_ns_ = ack.at_ns;
  const Acknowledged now = {ack.bytes, ack.at_ns};
  if (!round_.has_value()) round_ = steady_begin_ = now;
  const Round round = {.bytes = now.bytes - round_->bytes, .ns = now.ns - round_->ns};
  if (round.bytes >= window_ && round.ns >= std::max(kRoundNsMin, round_trip_ns_)) {
    OnRound(round);
    round_ = now;
  }
  return true;
}

bool BulkRounds::enough() const {
  const bool settled = !growing_ && steady_.size() >= kSteadyRounds && last_ack_ns_ - steady_begin_.ns >= kSteadyNs;
  return settled || (exhausted_ && all_acknowledged());
}

void BulkRounds::OnRound(const Round& round) {
  if (growing_) {
    const double passes = static_cast<double>(window_) * 1e9 / round.rate() / static_cast<double>(round_trip_ns_);
    const bool unfilled = passes < kUnfilledRoundTrips && window_ < kWindowMax;
    const bool full = passes >= kFullRoundTrips && window_ >= kWindowFillsQueues;
    if (round.rate() > kGrowth * round_rate_ || unfilled) {
      rounds_without_growth_ = 0;
    } else if (++rounds_without_growth_ >= kRoundsWithoutGrowth) {
      growing_ = false;
    }
    // The network may need a round to make use of a larger window.
    if (rounds_without_growth_ == 0 && !full) window_ = std::min(kWindowMax, 2 * window_);
    round_rate_ = std::max(round_rate_, round.rate());
    // The steady part begins with the round that ends the growth. If bytes or time run out before, it is the last
    // complete round.
    steady_.clear();
    steady_begin_ = *round_;
  }
  steady_.push_back(round);
}

// Returns the sum of the steady rounds, without the slowest, in which a node stalled, and the fastest, in which the
// delayed bytes arrived.
BulkRounds::Round BulkRounds::SteadyPart() const {
  if (!round_.has_value()) return {};
  if (steady_.size() < kTrimmedRoundsMin) {
    return {.bytes = acknowledged_ - steady_begin_.bytes, .ns = last_ack_ns_ - steady_begin_.ns};
  }
  std::vector<Round> rounds = steady_;
  std::sort(rounds.begin(), rounds.end(), [](const Round& a, const Round& b) { return a.rate() < b.rate(); });
  const size_t trimmed = std::max<size_t>(1, rounds.size() / 4);
  Round sum;
  for (size_t i = trimmed; i + trimmed < rounds.size(); ++i) {
    sum.bytes += rounds[i].bytes;
    sum.ns += rounds[i].ns;
  }
  return sum;
}

bool BulkReceipts::OnBulk(const MeterBulk& bulk, absl::Time now) {
  received_ += bulk.bytes;
  received_at_ = now;
  return bulk.last || received_ - acknowledged_ >= bulk.ack_every || now - acknowledged_at_ >= kAckAfter;
}

absl::Time BulkReceipts::deadline() const {
  return received_ > acknowledged_ ? received_at_ + kAckAfter : absl::InfiniteFuture();
}

}  // namespace copse::daemon
