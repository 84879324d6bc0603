// SPDX-License-Identifier: Apache-2.0
//
// Collectives of blocks and scans, through the rings of three clients of one daemon.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/status_matchers.h"
#include "collectives/call_arguments.h"
#include "collectives/collective.h"
#include "daemon/shm/testing/attach_fixture.h"
#include "daemon/shm/testing/raw_client.h"
#include "protocol/attach_protocol.h"
#include "protocol/ring_layout.h"

namespace copse::daemon {
namespace {

using copse::testing::Names;

constexpr uint32_t kRanks = 3;
constexpr uint32_t kRoot = 1;
// In each client's data area.
constexpr uint64_t kSendAt = 0;
constexpr uint64_t kReceiveAt = 256 * 1024;
constexpr uint64_t kSendListAt = 768 * 1024;
constexpr uint64_t kReceiveListAt = 769 * 1024;
constexpr uint64_t kUntouched = ~uint64_t{0};

// What rank `from` sends as element `i` of its buffer.
uint64_t Value(uint32_t from, uint64_t i) { return 1'000'000 * (from + 1) + i; }

class BlockCallsTest : public AttachFixture {
 protected:
  void SetUp() override {
    for (uint32_t r = 0; r < kRanks; ++r) {
      clients_.push_back(Attached());
      clients_[r]->AskTeam(1, "blocks", r, kRanks);
    }
    for (auto& client : clients_) {
      const attach::TeamReady ready = client->AwaitTeam();
      ASSERT_EQ(ready.status, 0) << ready.text;
      handles_.push_back(ready.handle);
    }
  }

  uint64_t* At(uint32_t rank, uint64_t offset) { return reinterpret_cast<uint64_t*>(clients_[rank]->data() + offset); }
  void Fill(uint64_t sent, uint64_t received) {
    for (uint32_t r = 0; r < kRanks; ++r) {
      for (uint64_t i = 0; i < sent; ++i) At(r, kSendAt)[i] = Value(r, i);
      for (uint64_t i = 0; i < received; ++i) At(r, kReceiveAt)[i] = kUntouched;
    }
  }
  ring::DqSlot Slot(Collective collective, uint64_t count) const {
    ring::DqSlot slot = AllreduceSlot(0, count, 7);
    slot.entry.collective = static_cast<uint8_t>(collective);
    slot.entry.root = HasRoot(collective) ? kRoot : 0;
    slot.entry.send = {0, 0, kSendAt};
    slot.receive = {0, 0, kReceiveAt};
    return slot;
  }
  // By all ranks; statuses, by rank.
  std::vector<int32_t> Call(std::vector<ring::DqSlot> slots) {
    for (uint32_t r = 0; r < kRanks; ++r) {
      slots[r].entry.team = handles_[r];
      clients_[r]->Post(slots[r]);
    }
    std::vector<int32_t> statuses;
    for (auto& client : clients_) {
      const ring::EqEntry event = EventOf(client.get());
      statuses.push_back(event.status);
      if (event.status != 0) text_ = client->Text(event);
    }
    return statuses;
  }
  std::vector<int32_t> Call(Collective collective, uint64_t count) {
    return Call(std::vector<ring::DqSlot>(kRanks, Slot(collective, count)));
  }
  void PutList(uint32_t rank, uint64_t at, const std::vector<ring::Block>& list) {
    memcpy(clients_[rank]->data() + at, list.data(), list.size() * sizeof(ring::Block));
  }
  static void NameLists(ring::DqSlot* slot) {
    const ring::ListPlaces places{{0, 0, kSendListAt}, {0, 0, kReceiveListAt}};
    memcpy(slot->entry.payload, &places, sizeof(places));
  }
  // What rank `rank` has received of a regular collective of `count` elements a block, where rank r sends
  // `value(r, i)` as element i. Of its buffer of kRanks blocks, what it does not receive is `untouched`, if that is
  // given.
  template <typename T, typename ValueOf>
  void ExpectReceived(Collective collective, uint32_t rank, uint64_t count, const ValueOf& value,
                      std::optional<T> untouched = std::nullopt) {
    const auto sent = [&](uint32_t from, uint64_t i) {
      return value(from, SendBuffer(collective, from, kRoot) == BufferKind::kBlocks ? rank * count + i : i);
    };
    const BufferKind kind = ReceiveBuffer(collective, rank, kRoot);
    const uint64_t received = kind == BufferKind::kNone ? 0 : kind == BufferKind::kOne ? count : kRanks * count;
    const uint32_t end = OperandCount(collective, rank, kRanks);
    for (uint64_t i = 0; i < kRanks * count; ++i) {
      std::optional<T> expected = untouched;
      if (i < received && kind == BufferKind::kBlocks) {
        expected = sent(static_cast<uint32_t>(i / count), i % count);
      } else if (i < received) {
        expected = sent(Reduces(collective) ? 0 : SourceOf(collective, 0, rank, kRanks, kRoot), i);
        for (uint32_t from = 1; Reduces(collective) && from < end; ++from) *expected += sent(from, i);
      }
      T got;
      memcpy(&got, At(rank, kReceiveAt) + i, sizeof(got));
      if (expected.has_value()) {
        ASSERT_EQ(got, *expected) << CollectiveName(collective) << " rank " << rank << " element " << i;
      }
    }
  }

  std::vector<std::unique_ptr<RawClient>> clients_;
  std::vector<uint32_t> handles_;
  std::string text_;
  const std::vector<int32_t> all_done_ = std::vector<int32_t>(kRanks, 0);
};

// Bytes for one segment, several segments, and several chunks.
constexpr uint64_t kCounts[] = {1, 5, 700, 9000};

TEST_F(BlockCallsTest, EachRankReceivesItsBlocksAndSums) {
  for (const Collective collective :
       {Collective::kGather, Collective::kScatter, Collective::kAllgather, Collective::kAlltoall,
        Collective::kReduceScatter, Collective::kScan, Collective::kExscan}) {
    for (const uint64_t count : kCounts) {
      Fill(kRanks * count, kRanks * count);
      ASSERT_EQ(Call(collective, count), all_done_) << text_;
      for (uint32_t r = 0; r < kRanks; ++r) ExpectReceived<uint64_t>(collective, r, count, Value, kUntouched);
    }
  }
}

TEST_F(BlockCallsTest, InPlaceScansOverwriteTheirContributions) {
  for (const Collective collective : {Collective::kScan, Collective::kExscan}) {
    for (const uint64_t count : kCounts) {
      for (uint32_t r = 0; r < kRanks; ++r) {
        for (uint64_t i = 0; i < count; ++i) At(r, kReceiveAt)[i] = Value(r, i);
      }
      ring::DqSlot slot = Slot(collective, count);
      slot.entry.flags = ring::kInPlace;
      std::vector<ring::DqSlot> slots(kRanks, slot);
      if (collective == Collective::kExscan) {
        // Rank 0 has no result that it could lie in.
        slots[0].entry.flags = 0;
        slots[0].entry.send.offset = kReceiveAt;
      }
      ASSERT_EQ(Call(slots), all_done_) << text_;
      for (uint32_t r = 1; r < kRanks; ++r) ExpectReceived<uint64_t>(collective, r, count, Value);
    }
  }
}

// The bits of a loop over the ranks, whatever else it may be.
TEST_F(BlockCallsTest, ReproducibleSumsAreMadeInOrderOfRanks) {
  const auto value = [](uint32_t r, uint64_t i) { return 1.0 / static_cast<double>(3 + 7 * r + i); };
  for (const Collective collective :
       {Collective::kReduce, Collective::kAllreduce, Collective::kReduceScatter, Collective::kScan}) {
    for (const uint64_t count : kCounts) {
      for (uint32_t r = 0; r < kRanks; ++r) {
        auto* send = reinterpret_cast<double*>(At(r, kSendAt));
        for (uint64_t i = 0; i < kRanks * count; ++i) send[i] = value(r, i);
      }
      ring::DqSlot slot = Slot(collective, count);
      slot.entry.type = static_cast<uint8_t>(ElementType::kDouble);
      slot.entry.flags = ring::kReproducible;
      ASSERT_EQ(Call(std::vector<ring::DqSlot>(kRanks, slot)), all_done_) << text_;
      for (uint32_t r = 0; r < kRanks; ++r) ExpectReceived<double>(collective, r, count, value);
    }
  }
}

TEST_F(BlockCallsTest, IrregularBlocksGoWhereTheListsSay) {
  // Rank r's block has 10 r elements; at the root they lie in reverse, with gaps.
  const auto count = [](uint32_t r) { return uint64_t{10} * r; };
  const std::vector<ring::Block> list = {{0, 0}, {8 * 100, 8 * count(1)}, {8 * 7, 8 * count(2)}};
  for (const Collective collective : {Collective::kGatherv, Collective::kScatterv}) {
    const bool gathers = collective == Collective::kGatherv;
    Fill(200, 200);
    std::vector<ring::DqSlot> slots;
    for (uint32_t r = 0; r < kRanks; ++r) {
      slots.push_back(Slot(collective, count(r)));
      NameLists(&slots[r]);
      PutList(r, gathers ? kReceiveListAt : kSendListAt, list);
    }
    ASSERT_EQ(Call(slots), all_done_) << text_;
    for (uint32_t r = 1; r < kRanks; ++r) {
      for (uint64_t i = 0; i < count(r); ++i) {
        const uint64_t at = list[r].offset / 8 + i;
        if (gathers) {
          ASSERT_EQ(At(kRoot, kReceiveAt)[at], Value(r, i));
        } else {
          ASSERT_EQ(At(r, kReceiveAt)[i], Value(kRoot, at));
        }
      }
    }
    if (gathers) {
      EXPECT_EQ(At(kRoot, kReceiveAt)[99], kUntouched);
      EXPECT_EQ(At(kRoot, kReceiveAt)[110], kUntouched);
      EXPECT_EQ(At(0, kReceiveAt)[0], kUntouched);
    }
  }
}

// The client library refuses it; who does without gets one or the other, and nobody else notices.
TEST_F(BlockCallsTest, ReceiveBlocksThatOverlapAreTheirOwnersLoss) {
  constexpr uint32_t kBad = 1;
  for (const Collective collective : {Collective::kGatherv, Collective::kAllgatherv, Collective::kAlltoallv}) {
    const bool gathers = collective != Collective::kAlltoallv;
    for (const uint64_t count : kCounts) {
      const uint64_t bytes = 8 * count;
      const std::vector<ring::Block> list = {{0, bytes}, {bytes, bytes}, {2 * bytes, bytes}};
      const std::vector<ring::Block> overlapping = {{0, bytes}, {0, bytes}, {count / 2 * 8, bytes}};
      Fill((gathers ? 1 : kRanks) * count, kRanks * count);
      std::vector<ring::DqSlot> slots;
      for (uint32_t r = 0; r < kRanks; ++r) {
        slots.push_back(Slot(collective, count));
        NameLists(&slots[r]);
        PutList(r, kSendListAt, list);
        PutList(r, kReceiveListAt, r == kBad ? overlapping : list);
      }
      ASSERT_EQ(Call(slots), all_done_) << text_;
      for (uint32_t r = 0; r < kRanks; ++r) {
        if (collective == Collective::kGatherv && r != kRoot) continue;
        const auto sent = [&](uint32_t from, uint64_t i) { return Value(from, gathers ? i : r * count + i); };
        if (r != kBad) {
          ExpectReceived<uint64_t>(gathers ? Collective::kAllgather : Collective::kAlltoall, r, count, Value);
          continue;
        }
        for (uint64_t i = 0; i < kRanks * count; ++i) {
          const uint64_t got = At(r, kReceiveAt)[i];
          const bool first_two = i < count && (got == sent(0, i) || got == sent(1, i));
          const bool third = i >= count / 2 && i < count / 2 + count && got == sent(2, i - count / 2);
          ASSERT_TRUE(first_two || third || (i >= count / 2 + count && got == kUntouched)) << "element " << i;
        }
      }
    }
  }
  EXPECT_EQ(Call(Collective::kAllreduce, 4), all_done_) << text_;
}

TEST_F(BlockCallsTest, CountsThatDifferAreAMismatchThatNamesBoth) {
  std::vector<ring::DqSlot> slots;
  for (uint32_t r = 0; r < kRanks; ++r) {
    slots.push_back(Slot(Collective::kGatherv, 5));
    NameLists(&slots[r]);
    PutList(r, kReceiveListAt, {{0, 40}, {40, 40}, {80, 48}});
  }
  for (const int32_t status : Call(slots)) EXPECT_NE(status, 0);
  EXPECT_THAT(text_, Names("rank=2", "bytes=40", "counted=48"));
}

TEST_F(BlockCallsTest, BlocksThatLeaveTheDataAreaAreRefused) {
  std::vector<ring::DqSlot> slots;
  for (uint32_t r = 0; r < kRanks; ++r) {
    slots.push_back(Slot(Collective::kAlltoallv, 0));
    NameLists(&slots[r]);
    PutList(r, kSendListAt, {{0, 8}, {8, 8}, {16, 8}});
    PutList(r, kReceiveListAt, {{0, 8}, {8, 8}, {uint64_t{1} << 40, 8}});
  }
  for (const int32_t status : Call(slots)) EXPECT_EQ(status, kInvalidArgument);
  // The team has not noticed.
  EXPECT_EQ(Call(Collective::kAllreduce, 4), all_done_) << text_;
}

// Lists of one team's calls take all the room that there is.
class ListRoomTest : public BlockCallsTest {
 protected:
  void SetUp() override {
    Start({.list_bytes_max = 4 * kRanks * sizeof(ring::Block)});
    BlockCallsTest::SetUp();
  }
  // Another team of the first two; their handles.
  std::pair<uint32_t, uint32_t> Pair() { return Team(clients_[0].get(), clients_[1].get(), "pair"); }
  ring::DqSlot Exchange(uint32_t rank, uint64_t value) {
    ring::DqSlot slot = Slot(Collective::kAlltoallv, 0);
    slot.entry.team = handles_[rank];
    slot.entry.value = value;
    NameLists(&slot);
    return slot;
  }
  void ExpectEvents(uint32_t rank, uint64_t first, uint64_t last) {
    for (uint64_t value = first; value <= last; ++value) {
      const ring::EqEntry event = EventOf(clients_[rank].get());
      ASSERT_EQ(event.value, value) << rank;
      EXPECT_EQ(event.status, 0) << clients_[rank]->Text(event);
    }
  }
};

TEST_F(ListRoomTest, OtherTeamsCallsGoOn) {
  const auto [first, second] = Pair();
  for (uint32_t r = 0; r < kRanks; ++r) {
    const std::vector<ring::Block> list(kRanks, {0, 0});
    PutList(r, kSendListAt, list);
    PutList(r, kReceiveListAt, list);
  }
  // Rank 0's calls of the first team, which wait for ranks 1 and 2, and one of the pair, for which rank 1 waits.
  constexpr uint64_t kCalls = 20;
  for (uint64_t i = 0; i < kCalls; ++i) clients_[0]->Post(Exchange(0, i));
  clients_[0]->Post(AllreduceSlot(first, 1, 99));
  clients_[1]->Post(AllreduceSlot(second, 1, 99));
  for (const uint32_t r : {0u, 1u}) ExpectEvents(r, 99, 99);
  // The others come to the first team's: all end, in order.
  for (const uint32_t r : {1u, 2u}) {
    for (uint64_t i = 0; i < kCalls; ++i) clients_[r]->Post(Exchange(r, i));
  }
  for (uint32_t r = 0; r < kRanks; ++r) ExpectEvents(r, 0, kCalls - 1);
  EXPECT_EQ(Call(Collective::kAllreduce, 4), all_done_) << text_;
}

TEST_F(ListRoomTest, ACallThatWaitsForRoomKeepsItsMemory) {
  const auto [first, second] = Pair();
  const UniqueFd memory = *CreateMemoryFile("buffer", 1 << 20);
  auto message = NewMessage<attach::RegisterMemory>(attach::MessageType::kRegisterMemory, 5);
  message.bytes = 1 << 20;
  const int descriptor = memory.get();
  ASSERT_TRUE(clients_[0]->Send(message, {&descriptor, 1}));
  const auto registered =
      MessageTo<attach::MemoryRegistered>(clients_[0].get(), attach::MessageType::kMemoryRegistered);
  const std::vector<ring::Block> one_each = {{0, 8}, {8, 8}, {16, 8}};
  for (uint32_t r = 0; r < kRanks; ++r) {
    PutList(r, kSendListAt, one_each);
    PutList(r, kReceiveListAt, one_each);
  }
  constexpr uint64_t kCalls = 5;  // one more than there is room for
  for (uint64_t i = 0; i < kCalls; ++i) {
    ring::DqSlot slot = Exchange(0, i);
    if (i == kCalls - 1) slot.entry.send = slot.receive = {registered.region, 0, 0};
    clients_[0]->Post(slot);
  }
  for (int i = 0; i < 10; ++i) daemon_->Turn();
  auto deregister = NewMessage<attach::DeregisterMemory>(attach::MessageType::kDeregisterMemory, 6);
  deregister.region = registered.region;
  ASSERT_TRUE(clients_[0]->Send(deregister));
  for (const auto& [rank, team] : {std::pair{0u, first}, {1u, second}}) {
    for (uint64_t value = 90; value < 94; ++value) clients_[rank]->Post(AllreduceSlot(team, 1, value));
  }
  for (const uint32_t r : {0u, 1u}) ExpectEvents(r, 90, 93);
  for (const uint32_t r : {1u, 2u}) {
    for (uint64_t i = 0; i < kCalls; ++i) clients_[r]->Post(Exchange(r, i));
  }
  for (uint32_t r = 0; r < kRanks; ++r) ExpectEvents(r, 0, kCalls - 1);
  const attach::Done done = DoneOf(clients_[0].get());
  EXPECT_EQ(done.status, 0) << done.text;
}

TEST_F(ListRoomTest, OneCallOfEachTeamHasRoom) {
  const auto [first, second] = Pair();
  for (const uint32_t r : {0u, 1u}) {
    const std::vector<ring::Block> list(2, {0, 0});
    PutList(r, kSendListAt + 512, list);
    PutList(r, kReceiveListAt + 512, list);
  }
  for (uint64_t i = 0; i < 20; ++i) clients_[0]->Post(Exchange(0, i));
  const ring::ListPlaces places{{0, 0, kSendListAt + 512}, {0, 0, kReceiveListAt + 512}};
  for (const auto& [rank, team] : {std::pair{0u, first}, {1u, second}}) {
    for (uint64_t value = 90; value < 93; ++value) {
      ring::DqSlot slot = Exchange(rank, value);
      slot.entry.team = team;
      memcpy(slot.entry.payload, &places, sizeof(places));
      clients_[rank]->Post(slot);
    }
  }
  for (const uint32_t r : {0u, 1u}) ExpectEvents(r, 90, 92);
}

}  // namespace
}  // namespace copse::daemon
