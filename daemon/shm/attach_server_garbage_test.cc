// SPDX-License-Identifier: Apache-2.0
//
// A client that writes anything into its shared memory and its socket. The daemon lives, and serves
// others.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/prng.h"
#include "daemon/shm/testing/attach_fixture.h"
#include "daemon/shm/testing/raw_client.h"

namespace copse::daemon {
namespace {

constexpr int kRounds = 1000;

class AttachServerGarbageTest : public AttachFixture {
 protected:
  std::unique_ptr<RawClient> AttachedBriefly() {
    attach::AttachRequest request = RawClient::Request();
    request.dq_entries = 16;
    request.eq_entries = 16;
    request.data_bytes = 128 * 1024;
    return Attached(request);
  }

  Prng prng_{20240229};
};

TEST_F(AttachServerGarbageTest, InSharedMemory) {
  const auto good = AttachedBriefly();
  std::unique_ptr<RawClient> bad;
  for (int round = 0; round < kRounds; ++round) {
    if (bad == nullptr || round % 8 == 0) {
      bad = AttachedBriefly();
      bad->AskTeam(1, "alone", 0, 1);
      ASSERT_EQ(bad->AwaitTeam().status, 0);
    }
    // Bytes anywhere: header, queues, texts, data; now and then all of the entries, with the team's
    // handle.
    uint8_t* const memory = bad->port().data();
    const uint64_t begin = prng_.Below(bad->port().bytes());
    const uint64_t most = prng_.Chance(0.5) ? 16 : 8192;
    for (uint64_t i = begin; i < std::min(begin + most, bad->port().bytes()); ++i) {
      memory[i] = static_cast<uint8_t>(prng_.Next());
    }
    const ring::Geometry geometry = ring::Lay(16, 16, 128 * 1024);
    for (uint64_t i = geometry.dq_offset; i < geometry.eq_offset; ++i) memory[i] = static_cast<uint8_t>(prng_.Next());
    for (int i = 0; i < 16; ++i) {
      auto* const slot = reinterpret_cast<ring::DqSlot*>(memory + geometry.dq_offset) + i;
      slot->entry.command = static_cast<uint8_t>(prng_.Below(2));
      slot->entry.collective %= 17;  // one more than there are, and so on
      slot->entry.type %= 21;
      slot->entry.op %= 13;
      if (prng_.Chance(0.8)) slot->entry.team = 1;
      if (prng_.Chance(0.8)) slot->entry.root = 0;
      if (prng_.Chance(0.8)) slot->entry.count %= 70000;
      if (prng_.Chance(0.8)) slot->entry.send.region = slot->receive.region = 0;
      if (prng_.Chance(0.8)) slot->entry.send.offset %= 140000;
      if (prng_.Chance(0.8)) slot->receive.offset %= 140000;
    }
    switch (prng_.Below(4)) {
      case 0:
        bad->header()->dq_tail.store(prng_.Next());
        break;
      case 1:
        bad->header()->eq_head.store(prng_.Next());
        break;
      default:
        bad->header()->eq_head.store(bad->header()->eq_tail.load());
        bad->header()->dq_tail.store(bad->header()->dq_head.load() + prng_.Below(18));
    }
    for (uint32_t i = 0; i < ring::kEarlyCounts; ++i) bad->header()->early[i].store(prng_.Next() >> prng_.Below(64));
    const uint64_t before = EarlyCalls();
    for (int i = 0; i < 4; ++i) daemon_->Turn();
    ASSERT_GE(EarlyCalls(), before) << round;  // of a client that is dropped, too
    ASSERT_TRUE(AnswersNop(good.get())) << round;
  }
}

TEST_F(AttachServerGarbageTest, InMessages) {
  const auto good = AttachedBriefly();
  for (int round = 0; round < kRounds; ++round) {
    RawClient bad = Connect();
    const bool attached = prng_.Chance(0.7);
    if (attached) {
      ASSERT_EQ(bad.Attach().status, 0);
    }
    for (int i = 0; i < 3; ++i) {
      std::vector<uint8_t> bytes(1 + prng_.Below(1100));
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(prng_.Next() >> prng_.Below(64));
      const auto head = NewMessage<attach::TeamDestroy>(static_cast<attach::MessageType>(prng_.Below(12)), round).head;
      constexpr size_t kSizes[] = {sizeof(attach::AttachRequest), sizeof(attach::TeamCreate),
                                   sizeof(attach::TeamDestroy), sizeof(attach::RegisterMemory),
                                   sizeof(attach::DeregisterMemory)};
      if (prng_.Chance(0.8)) bytes.resize(kSizes[prng_.Below(5)]);
      if (prng_.Chance(0.9) && bytes.size() >= sizeof(head)) memcpy(bytes.data(), &head, sizeof(head));
      if (prng_.Chance(0.2)) {
        bad.SendRaw(bytes, {STDERR_FILENO});
      } else {
        bad.SendRaw(bytes);
      }
    }
    for (int i = 0; i < 3; ++i) daemon_->Turn();
    ASSERT_TRUE(AnswersNop(good.get())) << round;
  }
  ASSERT_TRUE(AwaitClients(1));
}

}  // namespace
}  // namespace copse::daemon
