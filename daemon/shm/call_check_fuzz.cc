// SPDX-License-Identifier: Apache-2.0
//
// What a client puts into its descriptor queue, and lists of blocks in its data area. The input: one slot, then what
// the data area begins with. Whatever passes both checks may touch no byte outside the data area.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "collectives/call_arguments.h"
#include "daemon/accounts/accounts.h"
#include "daemon/shm/call_check.h"
#include "daemon/shm/region_table.h"
#include "schedule/plan.h"
#include "tools/fuzzing/target.h"

namespace copse::fuzzing {
namespace {

using daemon::CallPost;

constexpr uint64_t kDataBytes = 8192;
constexpr uint32_t kSize = 5;
constexpr uint64_t kSendList = 0;
constexpr uint64_t kReceiveList = kSize * sizeof(ring::Block);

std::string Seed(Collective collective, uint32_t count, uint8_t flags) {
  ring::DqSlot slot{};
  slot.entry.command = static_cast<uint8_t>(ring::Command::kCollective);
  slot.entry.collective = static_cast<uint8_t>(collective);
  slot.entry.type = static_cast<uint8_t>(ElementType::kInt32);
  slot.entry.flags = flags;
  slot.entry.root = 1;
  slot.entry.count = count;
  slot.entry.send.offset = 1024;
  slot.receive.offset = 2048;
  ring::Block lists[2 * kSize] = {};
  for (uint32_t i = 0; i < kSize; ++i) {
    // Every rank's block is as long as the one that is posted, but one.
    lists[i] = lists[kSize + i] = {uint64_t{i} * 4 * count, i == 4 ? 0 : uint64_t{count} * 4};
  }
  if (IsIrregular(collective)) {
    const ring::ListPlaces places{{0, 0, kSendList}, {0, 0, kReceiveList}};
    memcpy(slot.entry.payload, &places, sizeof(places));
  }
  return std::string(reinterpret_cast<const char*>(&slot), sizeof(slot)) +
         std::string(reinterpret_cast<const char*>(lists), sizeof(lists));
}

void CheckInside(const uint8_t* data, const uint8_t* begin, uint64_t bytes) {
  if (bytes == 0) return;
  CHECK(begin >= data);
  CHECK(begin <= data + kDataBytes);
  CHECK_LE(bytes, kDataBytes - static_cast<uint64_t>(begin - data));
}

// What the core may touch of a buffer.
void CheckBuffer(const uint8_t* data, BufferKind buffer, const uint8_t* address, uint64_t bytes, uint64_t block_bytes,
                 const BlockList* blocks) {
  if (buffer == BufferKind::kNone) return;
  if (buffer == BufferKind::kOne) return CheckInside(data, address, bytes);
  if (blocks == nullptr) return CheckInside(data, address, block_bytes * kSize);
  CHECK_EQ(blocks->size(), kSize);
  for (const Block& block : *blocks) {
    if (block.bytes > 0) CheckInside(data, address + block.offset, block.bytes);
  }
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (int i = 0; i < kCollectiveCount; ++i) {
    const auto collective = static_cast<Collective>(i);
    seeds.push_back(Seed(collective, 3, 0));
    seeds.push_back(Seed(collective, 20, ring::kCountsKnown | ring::kReproducible));
    seeds.push_back(Seed(collective, 7, ring::kInPlace));
    seeds.push_back(Seed(collective, 2, ring::kSendInline));
  }
  return seeds;
}

void OneInput(std::string_view bytes) {
  ring::DqSlot slot{};
  if (bytes.size() < sizeof(slot)) return;
  memcpy(static_cast<void*>(&slot), bytes.data(), sizeof(slot));
  bytes.remove_prefix(sizeof(slot));
  std::vector<uint8_t> data(kDataBytes);
  memcpy(data.data(), bytes.data(), std::min<size_t>(bytes.size(), kDataBytes));
  daemon::Accounts accounts;
  const daemon::RegionTable regions(data.data(), kDataBytes, {}, accounts.Open(/*uid=*/0, ""));
  for (uint32_t rank = 0; rank < 3; ++rank) {
    const absl::StatusOr<daemon::CheckedCall> call = daemon::CheckCall(slot, {rank, kSize}, regions);
    if (!call.ok()) continue;
    const CallPost& post = call->post;
    const CallArguments& a = post.arguments;
    CHECK_LE(a.bytes(), schedule::kCallBytesMax);
    if (post.send_is_inline) {
      CHECK_LE(post.send_bytes, ring::kInlineBytes);
    } else {
      CheckBuffer(data.data(), SendBuffer(a.collective, rank, a.root), post.send, post.send_bytes, a.bytes(),
                  post.send_blocks.get());
    }
    CheckBuffer(data.data(), ReceiveBuffer(a.collective, rank, a.root), post.receive, post.receive_bytes, a.bytes(),
                post.receive_blocks.get());
  }
}

}  // namespace copse::fuzzing
