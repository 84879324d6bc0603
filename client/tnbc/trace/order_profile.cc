// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/trace/order_profile.h"

#include <utility>

#include "client/tnbc/trace/record_line.h"

namespace copse::tnbc {
namespace {

constexpr char kWord[] = "copse-profile";
// Limits the fragments of one call. It exceeds the cores of any machine and the segments of any call.
constexpr uint64_t kPartsMax = 1 << 16;

// The hash is FNV-1a, byte by byte.
constexpr uint64_t kHashStart = 0xcbf29ce484222325, kHashFactor = 0x100000001b3;
uint64_t Mixed(uint64_t hash, unsigned char byte) { return (hash ^ byte) * kHashFactor; }

bool IsPermutation(const std::vector<uint32_t>& order, uint64_t parts) {
  std::vector<bool> seen(parts);
  for (const uint32_t part : order) {
    if (part >= parts || seen[part]) return false;
    seen[part] = true;
  }
  return order.size() == parts;
}

std::vector<uint32_t> ReadOrder(RecordReader* record, const std::string& key, uint64_t parts) {
  std::vector<uint32_t> order = record->Numbers(key);
  if (!record->error().empty() || IsPermutation(order, parts)) return order;
  std::string text;
  for (const uint32_t part : order) text += (text.empty() ? "" : ",") + std::to_string(part);
  record->Fail(key + ": not each part once (value=" + (text.empty() ? "-" : text) + ", parts=" + std::to_string(parts) +
               ")");
  return {};
}

uint64_t ReadFromOne(RecordReader* record, const std::string& key, uint64_t limit = UINT64_MAX) {
  const uint64_t value = record->Number(key, limit);
  if (value == 0) record->Fail(key + ": too small (value=0, limit=1)");
  return value;
}

std::string SlotKey(uint64_t slot) { return "slot" + std::to_string(slot); }

void ReadOrders(RecordReader* record, OrderProfile* profile) {
  if (record->word() != "order") return record->Fail("no such record");
  ProfileKey key;
  key.communicator = record->Hex("communicator");
  key.collective = record->Text("collective");
  key.length = static_cast<uint32_t>(record->Number("length", UINT32_MAX));
  key.parts = static_cast<uint32_t>(record->Number("parts", kPartsMax));
  ProfileOrders orders;
  orders.order = ReadOrder(record, "order", key.parts);
  if (record->Has("period")) {
    const uint64_t period = ReadFromOne(record, "period", kProfilePeriodMax);
    orders.first = ReadFromOne(record, "first");
    for (uint64_t slot = 0; slot < period; ++slot) {
      orders.slots.push_back(ReadOrder(record, SlotKey(slot), key.parts));
    }
  }
  if (!record->error().empty()) return;
  const std::string collective = key.collective;
  if (!profile->orders.emplace(std::move(key), std::move(orders)).second) {
    record->Fail("such calls have one before (value=" + collective + ")");
  }
}

}  // namespace

const std::vector<uint32_t>& ProfileOrders::Of(uint64_t call) const {
  return slots.empty() || call < first ? order : slots[(call - first) % slots.size()];
}

const std::vector<uint32_t>* OrderProfile::Find(const ProfileKey& key, uint64_t call) const {
  const auto found = orders.find(key);
  return found == orders.end() ? nullptr : &found->second.Of(call);
}

uint64_t OrderProfile::Hash() const {
  uint64_t hash = kHashStart;
  for (const char c : FormatProfile(*this)) hash = Mixed(hash, static_cast<unsigned char>(c));
  return hash >> 2 | 1;
}

uint64_t HashOf(const std::vector<int>& numbers) {
  uint64_t hash = kHashStart;
  for (const int number : numbers) {
    const auto value = static_cast<uint32_t>(number);
    for (int shift = 0; shift < 32; shift += 8) hash = Mixed(hash, static_cast<unsigned char>(value >> shift));
  }
  return hash;
}

std::string FormatProfile(const OrderProfile& profile) {
  std::string text = std::string(kWord) + " " + std::to_string(kProfileVersion) + "\n";
  for (const auto& [key, orders] : profile.orders) {
    RecordWriter record("order");
    record.AddHex("communicator", key.communicator)
        .Add("collective", key.collective)
        .Add("length", key.length)
        .Add("parts", key.parts)
        .Add("order", orders.order);
    if (!orders.slots.empty()) record.Add("period", orders.slots.size()).Add("first", orders.first);
    for (size_t slot = 0; slot < orders.slots.size(); ++slot) record.Add(SlotKey(slot), orders.slots[slot]);
    text += record.Finish();
  }
  return text;
}

std::string ParseProfile(std::string_view text, OrderProfile* profile) {
  *profile = OrderProfile();
  return ReadRecords(text, kWord, kProfileVersion, [&](RecordReader* record) { ReadOrders(record, profile); });
}

}  // namespace copse::tnbc
