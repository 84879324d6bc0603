// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/early_totals.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "base/prng.h"
#include "daemon/shm/daemon_page.h"
#include "daemon/shm/memory_file.h"

namespace copse::daemon {
namespace {

using Counters = std::map<std::string, uint64_t>;

constexpr uint64_t kMost = ~uint64_t{0};

// A port, and its memory as the client has it.
class EarlyTotalsTest : public testing::Test {
 protected:
  struct Client {
    std::unique_ptr<ClientPort> port;
    Mapping memory;
    std::atomic<uint64_t>& early(ring::EarlyCount count) const {
      return reinterpret_cast<ring::PortHeader*>(memory.data())->early[static_cast<uint32_t>(count)];
    }
  };
  Client NewClient() {
    auto port = *ClientPort::Create({16, 16, 4096}, &page_->group_wake());
    Mapping memory = *Mapping::Map(port->fd(), port->total_bytes());
    return {std::move(port), std::move(memory)};
  }
  static Counters CountersOf(const EarlyTotals& totals) {
    Counters counters;
    totals.AppendCounters(&counters);
    return counters;
  }

  std::unique_ptr<DaemonPage> page_ = *DaemonPage::Create(Incarnation(1));
};

TEST_F(EarlyTotalsTest, OfAClientThatCountsNothingAllAreNull) {
  EarlyTotals totals;
  totals.Add(*NewClient().port);
  for (const auto& [name, value] : CountersOf(totals)) EXPECT_EQ(value, 0u) << name;
  EXPECT_EQ(CountersOf(totals).size(), ring::kEarlyCounts + 1);
}

TEST_F(EarlyTotalsTest, ClientsAreAddedUp) {
  EarlyTotals totals;
  for (uint64_t i = 1; i <= 2; ++i) {
    const Client client = NewClient();
    client.early(ring::EarlyCount::kCalls) = 10 * i;
    client.early(ring::EarlyCount::kCallsWaited) = i;
    client.early(ring::EarlyCount::kPendingBytes) = 4096 * i;
    client.early(ring::EarlyCount::kInsideNs) = 2000 * i;
    client.early(ring::EarlyCount::kBehindNs) = 9000 * i;
    client.early(ring::EarlyCount::kTouches) = 3 * i;
    client.early(ring::EarlyCount::kTouchesNs) = 1000 * i;
    client.early(ring::EarlyCount::kFusesBlown) = 1;
    totals.Add(*client.port);
  }
  EXPECT_EQ(CountersOf(totals), (Counters{{"early.calls", 30},
                                          {"early.calls_waited", 3},
                                          {"early.pending_bytes", 12288},
                                          {"early.inside_us", 6},
                                          {"early.behind_us", 27},
                                          {"early.hidden_us", 18},
                                          {"early.touches", 9},
                                          {"early.touches_us", 3},
                                          {"early.fuses_blown", 2}}));
}

TEST_F(EarlyTotalsTest, WhatOneClientHidIsNotTakenFromAnother) {
  EarlyTotals totals;
  const Client first = NewClient(), second = NewClient();
  first.early(ring::EarlyCount::kBehindNs) = 5000;
  second.early(ring::EarlyCount::kBehindNs) = 1000;
  second.early(ring::EarlyCount::kTouchesNs) = 90000;  // of many threads
  totals.Add(*first.port);
  totals.Add(*second.port);
  EXPECT_EQ(CountersOf(totals).at("early.hidden_us"), 5u);
}

TEST_F(EarlyTotalsTest, SumsStayAtTheLargestNumber) {
  EarlyTotals totals;
  const Client client = NewClient();
  for (uint32_t i = 0; i < ring::kEarlyCounts; ++i) client.early(static_cast<ring::EarlyCount>(i)) = kMost - i;
  totals.Add(*client.port);
  totals.Add(*client.port);
  const Counters counters = CountersOf(totals);
  for (const char* count : {"early.calls", "early.calls_waited", "early.pending_bytes", "early.fuses_blown"}) {
    EXPECT_EQ(counters.at(count), kMost) << count;
  }
  for (const char* time : {"early.inside_us", "early.behind_us", "early.touches_us"}) {
    EXPECT_EQ(counters.at(time), kMost / 1000) << time;
  }
  EXPECT_EQ(counters.at("early.hidden_us"), 0u);
}

// Whatever clients write: a sum is never less than any of what it is made of.
TEST_F(EarlyTotalsTest, GarbageNeverWrapsAround) {
  Prng prng(1717);
  for (int round = 0; round < 300; ++round) {
    EarlyTotals totals;
    uint64_t most = 0;
    for (uint64_t i = prng.Below(4); i < 4; ++i) {
      const Client client = NewClient();
      for (uint32_t count = 0; count < ring::kEarlyCounts; ++count) {
        client.early(static_cast<ring::EarlyCount>(count)) = prng.Next() >> prng.Below(64);
      }
      most = std::max(most, client.early(ring::EarlyCount::kTouches).load());
      totals.Add(*client.port);
    }
    const Counters counters = CountersOf(totals);
    EXPECT_GE(counters.at("early.touches"), most);
    EXPECT_LE(counters.at("early.hidden_us"), counters.at("early.behind_us"));
  }
}

}  // namespace
}  // namespace copse::daemon
