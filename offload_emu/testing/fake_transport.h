// SPDX-License-Identifier: Apache-2.0
//
// A transport without a network: it keeps sent frames and delivers the frames that the test gives it.
#ifndef COPSE_OFFLOAD_EMU_TESTING_FAKE_TRANSPORT_H_
#define COPSE_OFFLOAD_EMU_TESTING_FAKE_TRANSPORT_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "base/process/lost_memory.h"
#include "offload_emu/packet.h"
#include "offload_emu/transport.h"

namespace copse::emu {

using Bytes = std::vector<uint8_t>;

// A record and its payload, taken from or to be put into a frame.
struct RecordAndPayload {
  Record record{};
  Bytes payload;
};

// Makes a frame as a peer would send it; a test may spoil fields before it is delivered.
inline Bytes MakeDataFrame(Incarnation from, Incarnation to, const std::vector<RecordAndPayload>& records) {
  Bytes frame(sizeof(FrameHeader));
  for (const RecordAndPayload& each : records) {
    const uint8_t* record = reinterpret_cast<const uint8_t*>(&each.record);
    frame.insert(frame.end(), record, record + sizeof(Record));
    frame.insert(frame.end(), each.payload.begin(), each.payload.end());
    frame.resize(sizeof(FrameHeader) + (frame.size() - sizeof(FrameHeader) + 7) / 8 * 8);
  }
  FrameHeader header{};
  header.version = 1;
  header.kind = static_cast<uint8_t>(FrameKind::kData);
  header.count = static_cast<uint16_t>(records.size());
  header.bytes = static_cast<uint32_t>(frame.size() - sizeof(header));
  header.source_incarnation = from.value();
  header.destination_incarnation = to.value();
  std::memcpy(frame.data(), &header, sizeof(header));
  return frame;
}

// Returns the records of the engine's own data frame, which is not checked.
inline std::vector<RecordAndPayload> RecordsOf(const Bytes& frame) {
  FrameHeader header;
  std::memcpy(&header, frame.data(), sizeof(header));
  std::vector<RecordAndPayload> records;
  if (header.kind != static_cast<uint8_t>(FrameKind::kData)) return records;
  size_t at = sizeof(header);
  for (uint16_t i = 0; i < header.count; ++i) {
    RecordAndPayload next;
    std::memcpy(&next.record, frame.data() + at, sizeof(Record));
    at += sizeof(Record);
    if (next.record.kind != static_cast<uint8_t>(RecordKind::kGet)) {
      next.payload.assign(frame.begin() + static_cast<ptrdiff_t>(at),
                          frame.begin() + static_cast<ptrdiff_t>(at + next.record.bytes));
      at += PaddedBytes(next.record.bytes);
    }
    records.push_back(std::move(next));
  }
  return records;
}

// A transport connected to every peer. Thread-compatible.
class FakeTransport final : public Transport {
 public:
  absl::Status Open() override { return opens; }
  std::string LocalAddress() const override { return "fake"; }
  absl::Status Connect(const PeerAddress&) override { return absl::OkStatus(); }
  void Disconnect(Incarnation) override {}
  absl::Status Send(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) override {
    if (!answer.ok()) return answer;
    if (head.size() + body.size() > kShortFrameBytesMax && !answer_to_long.ok()) return answer_to_long;
    if (sent.size() >= frames_max) return absl::ResourceExhaustedError("frames_max");
    Bytes frame(head.begin(), head.end());
    frame.insert(frame.end(), body.begin(), body.end());
    if (AnyMemoryLost() && IsMemoryLost(body.data(), body.size())) return absl::DataLossError("body");
    sent.emplace_back(peer, std::move(frame));
    return absl::OkStatus();
  }
  absl::Status opens;          // what Open returns
  bool offers_frames = false;  // calls TakeFrame first, like a network within its callbacks
  bool Progress(TransportSink* sink) override {
    const std::vector<Bytes> frames = std::exchange(to_deliver, {});
    const std::vector<Incarnation> down = std::exchange(to_lose, {});
    for (const Bytes& frame : frames) {
      if (offers_frames && sink->TakeFrame(frame)) continue;
      sink->OnFrame(frame);
    }
    for (const Incarnation peer : down) sink->OnPeerDown(peer, absl::UnavailableError("lost"));
    return !frames.empty() || !down.empty();
  }

  // Returns all records sent so far, in order, and forgets them.
  std::vector<RecordAndPayload> TakeRecords() {
    std::vector<RecordAndPayload> records;
    for (const auto& [peer, frame] : std::exchange(sent, {})) {
      for (RecordAndPayload& record : RecordsOf(frame)) records.push_back(std::move(record));
    }
    return records;
  }

  std::vector<std::pair<Incarnation, Bytes>> sent;
  std::vector<Bytes> to_deliver;
  std::vector<Incarnation> to_lose;
  absl::Status answer;           // returned by every Send
  absl::Status answer_to_long;   // returned by every Send of a frame that is not short
  size_t frames_max = SIZE_MAX;  // in `sent`; more: RESOURCE_EXHAUSTED
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TESTING_FAKE_TRANSPORT_H_
