// SPDX-License-Identifier: Apache-2.0
//
// Defines the wire format between two engines: frames, and the records that they carry. docs/reference/packets.md draws
// the bytes. All fields are little-endian and naturally aligned.
#ifndef COPSE_OFFLOAD_EMU_PACKET_H_
#define COPSE_OFFLOAD_EMU_PACKET_H_

#include <cstddef>
#include <cstdint>

namespace copse::emu {

// An MP packet is 128 bytes: 8 of header and 120 of payload (papers: triggered operations, section on the MPQ).
inline constexpr uint32_t kMpPacketBytes = 128;
inline constexpr uint32_t kMpPayloadBytes = 120;

// A frame is at most this long, in bytes. A longer message is sent as segments, each of which fits into a frame.
inline constexpr uint32_t kFrameBytesMax = 64 * 1024;

// A Label identifies an incoming edge. The receiver issued it when it added the edge, and only the receiver interprets
// it.
enum class Label : uint32_t {};
inline constexpr Label kNoLabel{0};

// An MpHeader is the 8 bytes of header of an MP packet.
struct MpHeader {
  uint32_t label;     // Label, issued by the receiver: implies team, epoch and edge
  uint16_t sequence;  // the call's number, modulo 2^16
  uint16_t hash;      // hash of the call's arguments (collective, operation, type, count)
};
static_assert(sizeof(MpHeader) == 8);

struct MpPacket {
  MpHeader header;
  uint8_t payload[kMpPayloadBytes];
};
static_assert(sizeof(MpPacket) == kMpPacketBytes);

enum class FrameKind : uint8_t {
  kData = 1,     // `count` records, each a Record and its payload padded to 8 bytes
  kControl = 2,  // one message between the two daemons, opaque to the engine
};

// A FrameHeader begins every frame. UCX carries a frame as one active message.
struct FrameHeader {
  uint8_t version;                   // kPacketVersion
  uint8_t kind;                      // FrameKind
  uint16_t count;                    // records in a data frame; the control message's type in a control frame
  uint32_t bytes;                    // length after this header
  uint64_t source_incarnation;       // the sender; a label's records from another daemon are dropped
  uint64_t destination_incarnation;  // the receiver; a restarted daemon drops frames for its predecessor
  uint64_t mac;                      // reserved for message authentication; zero
};
static_assert(sizeof(FrameHeader) == 32);

enum class RecordKind : uint8_t {
  kPacket = 1,    // an MP packet: payload of at most kMpPayloadBytes
  kPut = 2,       // payload goes to (region, offset) of the label's port
  kGet = 3,       // asks for `bytes` of (region, offset); the answer is a kPut with label `reply_label`
  kCredit = 4,    // no payload: `credit` alone
  kCreditAsk = 5  // a sender that lacks credit for `header.sequence` asks for it
};

enum RecordFlags : uint8_t {
  kRecordTrigger = 1,  // increments the receiver's counter; other records only deliver payload
  kRecordError = 2,    // counts a failure: the payload could not be computed
  kRecordReply = 4,    // kPut: answers a kGet; `region` repeats its reply_region
};

// A Record, 40 bytes, precedes its payload in a data frame. Neither a kGet nor an error record has a payload.
struct Record {
  MpHeader header;
  uint8_t kind;           // RecordKind
  uint8_t flags;          // RecordFlags
  uint16_t credit;        // calls that the sender has finished in the label's team, modulo 2^16 (returns credit)
  uint32_t bytes;         // length of the payload (kGet: of the requested bytes)
  uint32_t counter;       // index of the counter within the call's slot
  uint32_t region;        // kPut, kGet: the port's region; kCellOfEdge: the eager buffer of the label's edge
  uint64_t offset;        // bytes into the region or eager buffer; kPacket always goes to the eager buffer
  uint32_t reply_label;   // kGet: the label of the edge at the requesting side
  uint32_t reply_region;  // kGet: the requester's number for the request, opaque to the peer
};
static_assert(sizeof(Record) == 40);

// These limit the payload of one record and of one control message: a frame without its headers.
inline constexpr uint32_t kPutBytesMax = kFrameBytesMax - sizeof(FrameHeader) - sizeof(Record);
inline constexpr uint32_t kControlBytesMax = kFrameBytesMax - sizeof(FrameHeader);

inline constexpr uint32_t kCellOfEdge = 0xffffffff;

inline constexpr uint32_t PaddedBytes(uint32_t bytes) { return (bytes + 7u) & ~7u; }

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_PACKET_H_
