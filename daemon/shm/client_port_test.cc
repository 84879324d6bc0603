// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/client_port.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/ids.h"
#include "daemon/shm/daemon_page.h"
#include "daemon/shm/memory_file.h"
#include "protocol/ring_layout.h"

namespace copse::daemon {
namespace {

constexpr PortSizes kSizes = {4, 2, 4096};

class ClientPortTest : public testing::Test {
 protected:
  void SetUp() override {
    page_ = *DaemonPage::Create(Incarnation(1));
    port_ = *ClientPort::Create(kSizes, &page_->group_wake());
    client_ = *Mapping::Map(port_->fd(), port_->total_bytes());
  }

  ring::PortHeader* header() { return reinterpret_cast<ring::PortHeader*>(client_.data()); }
  ring::EqEntry Event(uint64_t index) {
    return reinterpret_cast<ring::EqEntry*>(client_.data() + header()->eq_offset)[index % kSizes.eq_entries];
  }
  ring::FailureSlot Slot(uint32_t index) {
    return reinterpret_cast<ring::FailureSlot*>(client_.data() + header()->facts_offset)[index];
  }
  std::string Text(uint32_t index) {
    return reinterpret_cast<char*>(client_.data() + header()->text_offset + index * ring::kTextBytes);
  }
  void Post(uint64_t value) {
    const uint64_t tail = header()->dq_tail.load();
    auto* slots = reinterpret_cast<ring::DqSlot*>(client_.data() + header()->dq_offset);
    slots[tail % kSizes.dq_entries].entry.value = value;
    header()->dq_tail.store(tail + 1);
  }

  std::unique_ptr<DaemonPage> page_;
  std::unique_ptr<ClientPort> port_;
  Mapping client_;
};

TEST_F(ClientPortTest, TellsTheClientItsGeometry) {
  const ring::Geometry geometry = ring::Lay(4, 2, 4096);
  EXPECT_EQ(header()->magic, ring::kMagic);
  EXPECT_EQ(header()->dq_entries, 4u);
  EXPECT_EQ(header()->eq_entries, 2u);
  EXPECT_EQ(header()->data_offset, geometry.data_offset);
  EXPECT_EQ(header()->total_bytes, geometry.total_bytes);
  port_->data()[0] = 7;
  EXPECT_EQ(client_.data()[geometry.data_offset], 7);
}

TEST_F(ClientPortTest, TakesEntriesInOrderAroundTheRing) {
  uint64_t posted = 0;
  for (uint64_t round = 0; round < 5; ++round) {
    for (int i = 0; i < 3; ++i) Post(posted++);
    ASSERT_TRUE(port_->HasPosts());
    EXPECT_EQ(*port_->Posted(), 3u);
    for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(port_->Take().entry.value, posted - 3 + i);
    EXPECT_FALSE(port_->HasPosts());
    EXPECT_EQ(header()->dq_head.load(), posted);
  }
}

TEST_F(ClientPortTest, NoticesImpossibleTails) {
  for (const uint64_t tail : {uint64_t{5}, ~uint64_t{0}, uint64_t{1} << 63}) {
    header()->dq_tail.store(tail);
    EXPECT_TRUE(absl::IsInvalidArgument(port_->Posted().status())) << tail;
  }
  header()->dq_tail.store(4);
  EXPECT_EQ(*port_->Posted(), 4u);
}

TEST_F(ClientPortTest, IgnoresWhatTheClientWritesIntoItsOwnFields) {
  memset(client_.data(), 0xa5, offsetof(ring::PortHeader, dq_tail));
  header()->dq_head.store(99);
  header()->eq_tail.store(99);
  header()->dq_tail.store(1);
  EXPECT_EQ(*port_->Posted(), 1u);
  port_->Take();
  EXPECT_EQ(header()->dq_head.load(), 1u);
  EXPECT_EQ(*port_->EventRoom(), 2u);
  port_->PutEvent(5, 0, {});
  EXPECT_EQ(header()->eq_tail.load(), 1u);
}

TEST_F(ClientPortTest, EventsCarryStatusAndText) {
  port_->PutEvent(42, 7, {Failure::kMemberLost, "rank 3 is gone", FailureCause::kProcessDied, "n2", Rank{3}, 9});
  EXPECT_EQ(header()->eq_tail.load(), 1u);
  EXPECT_EQ(header()->eq_futex.load(), 1u);
  EXPECT_EQ(Event(0).value, 42u);
  EXPECT_EQ(Event(0).sequence, 7u);
  EXPECT_EQ(Event(0).status, -6);
  EXPECT_EQ(Text(Event(0).text), "rank 3 is gone");
  EXPECT_EQ(Event(0).cause, static_cast<uint8_t>(FailureCause::kProcessDied));
  EXPECT_EQ(Event(0).has_rank, 1);
  EXPECT_EQ(Event(0).rank, 3u);
  const ring::FailureSlot slot = Slot(Event(0).text);
  EXPECT_EQ(slot.value, 42u);
  EXPECT_STREQ(slot.facts.node, "n2");
  EXPECT_EQ(slot.facts.limit, 9u);
  port_->PutEvent(43, 8, {});
  EXPECT_EQ(Event(1).text, ring::kNoText);
}

TEST_F(ClientPortTest, LongTextsAreCutAndOldOnesReplaced) {
  for (uint32_t i = 0; i <= ring::kTextCount; ++i) {
    header()->eq_head.store(i);
    port_->PutEvent(i, 0, {Failure::kInvalidArgument, std::string(1000, static_cast<char>('a' + i))});
    EXPECT_EQ(Event(i).text, i % ring::kTextCount);
    EXPECT_EQ(Text(Event(i).text), std::string(ring::kTextBytes - 1, static_cast<char>('a' + i)));
  }
}

TEST_F(ClientPortTest, CountsEventRoomAndNoticesImpossibleHeads) {
  EXPECT_EQ(*port_->EventRoom(), 2u);
  port_->PutEvent(1, 0, {});
  port_->PutEvent(2, 0, {});
  EXPECT_EQ(*port_->EventRoom(), 0u);
  header()->eq_head.store(1);
  EXPECT_EQ(*port_->EventRoom(), 1u);
  for (const uint64_t head : {uint64_t{3}, ~uint64_t{0}}) {
    header()->eq_head.store(head);
    EXPECT_TRUE(absl::IsInvalidArgument(port_->EventRoom().status())) << head;
  }
}

TEST_F(ClientPortTest, AClientIsWokenWhereItSleeps) {
  EXPECT_EQ(header()->wake_offset, offsetof(ring::DaemonPage, wake));
  EXPECT_EQ(header()->wake_bits, 1u);
  EXPECT_FALSE(port_->WakeIfWaiting());
  header()->eq_waiting.store(ring::kWaitsOnPort);
  EXPECT_TRUE(port_->WakeIfWaiting());
  EXPECT_EQ(page_->group_wake().Wake(), 0u);
  header()->eq_waiting.store(ring::kWaitsOnPage);
  EXPECT_TRUE(port_->WakeIfWaiting());
  EXPECT_EQ(page_->group_wake().Wake(), 1u);
  header()->eq_waiting.store(77);
  EXPECT_TRUE(port_->WakeIfWaiting());

  const absl::StatusOr<std::unique_ptr<ClientPort>> second = ClientPort::Create(kSizes, &page_->group_wake());
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(page_->group_wake().Take().bit, 2u) << "two seats are taken";
  port_.reset();
  EXPECT_EQ(page_->group_wake().Take().bit, 0u) << "a port that is gone has left its seat";
}

TEST_F(ClientPortTest, ClosingSaysSoAndChangesWhatASleeperWatches) {
  const uint32_t before = header()->eq_futex.load();
  port_->Close();
  EXPECT_EQ(header()->closed.load(), 1u);
  EXPECT_NE(header()->eq_futex.load(), before);
}

}  // namespace
}  // namespace copse::daemon
