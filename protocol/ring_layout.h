// SPDX-License-Identifier: Apache-2.0
//
// Defines the shared memory between a client and its daemon: one sealed memfd per virtual port, laid out as below, and
// one page of the daemon's state that all clients map read-only. docs/reference/ring-layout.md draws it. This file uses
// no library but the language's, as it is loaded into users' processes.
//
// Trust: the daemon writes the geometry in `PortHeader` once and never reads it back. From the memory that a client can
// write it reads only dq_tail and eq_head (both checked against the ring's size), eq_waiting (any value is valid),
// entries of the submission queue (each copied once, then validated, then acted on), lists and payload, whose content
// can harm only the client's own call, and `early`, whose numbers are only added up and shown.
#ifndef COPSE_PROTOCOL_RING_LAYOUT_H_
#define COPSE_PROTOCOL_RING_LAYOUT_H_

#include <atomic>
#include <cstdint>

#include "base/failure.h"
#include "collectives/block.h"

namespace copse::ring {

inline constexpr uint32_t kMagic = 0x45535043;  // "CPSE"
inline constexpr uint32_t kLayoutVersion = 1;   // base/version.h's kRingLayoutVersion, for users without Abseil
inline constexpr uint32_t kInlineBytes = 64;
inline constexpr uint32_t kTextBytes = 256;  // one failure text, with its NUL
inline constexpr uint32_t kTextCount = 16;   // failure texts that are kept; a failed event has the index of its text
inline constexpr uint32_t kNoText = 0xffffffff;
inline constexpr uint32_t kPageBytes = 4096;

enum class Command : uint8_t {
  kNop = 0,         // completes at once: measures the round trip to the daemon
  kCollective = 1,  // one call of a team
};

enum DqFlags : uint8_t {
  kSendInline = 1,    // the send buffer is `payload`; not for irregular collectives
  kInPlace = 2,       // the send buffer is the receive buffer (reduce at the root, allreduce, scan, exscan)
  kCountsKnown = 4,   // gatherv, scatterv: every rank passes all counts
  kReproducible = 8,  // reductions: results are bit-identical for any plan
  // alltoallv: `count`, equal on all ranks, is the most elements that one node sends to another, or to itself; at most
  // kPairBoundMax bytes
  kPairsBounded = 16,
};
inline constexpr uint64_t kPairBoundMax = uint64_t{1} << 30;

// A Place is an address: `offset` bytes into region `region`. Region 0 is the port's own data area, others were
// registered.
struct Place {
  uint32_t region;
  uint32_t reserved;
  uint64_t offset;
};

// The offset of a rank's Block counts from the buffer's Place.
using copse::Block;
static_assert(sizeof(Block) == 16);

// ListPlaces is the content of `payload` for irregular collectives: the places of the lists, which have one Block per
// rank. The daemon reads the lists only while it takes the entry. Lists that this rank does not have to pass are
// ignored (GivesSendBlocks, GivesReceiveBlocks).
struct ListPlaces {
  Place send;
  Place receive;
};
static_assert(sizeof(ListPlaces) <= kInlineBytes);

// A DqEntry is one entry of the submission queue (DQ), without the place of the receive buffer.
struct DqEntry {
  uint8_t command;     // Command
  uint8_t collective;  // Collective
  uint8_t type;        // ElementType
  uint8_t op;          // ElementOp
  uint8_t flags;       // DqFlags
  // The call begins when at most this many of the rank's calls of this team, with this one, are in flight; 0: no limit.
  // While it waits, the rank's later calls of the team wait, too.
  uint8_t under_way_max;
  uint8_t reserved[2];
  uint32_t team;   // handle from TeamReady
  uint32_t root;   // rank
  uint64_t count;  // elements, as in CallArguments; irregular: elements of the buffer that is one block
  uint64_t value;  // returned in the event
  Place send;      // contribution; for bcast at the root the message
  uint8_t payload[kInlineBytes];
};
static_assert(sizeof(DqEntry) == 112);

// A DqSlot is an entry of the submission queue with the place of its receive buffer: two cache lines.
struct alignas(128) DqSlot {
  DqEntry entry;
  Place receive;
};
static_assert(sizeof(DqSlot) == 128);

// An EqEntry is one entry of the completion queue (EQ).
struct EqEntry {
  uint64_t value;     // DqEntry::value of the call
  uint64_t sequence;  // number of the call in its team
  int32_t status;     // 0 or a negative copse_status_t
  uint32_t text;      // index of the failure's text and facts, or kNoText
  // These are facts of a failure, as in FailureFacts. Unlike those in FailureSlot they always belong to this event.
  uint8_t cause;
  uint8_t has_rank;
  uint16_t reserved;
  uint32_t rank;
};
static_assert(sizeof(EqEntry) == 32);

// A FailureSlot holds the facts of the failed event that has the text of the same index. It belongs to a later event if
// `value` differs from the event's, since texts are reused in turn.
struct FailureSlot {
  uint64_t value;
  FailureFacts facts;
};

// An EarlyCount is the index, in PortHeader::early, of a statistic of the client's asynchronous completions. Times are
// in nanoseconds.
enum class EarlyCount : uint32_t {
  kCalls = 0,         // completed asynchronously
  kCallsWaited = 1,   // fragmented, but completed before they returned
  kPendingBytes = 2,  // bytes of results pending when calls returned
  kInsideNs = 3,      // time in asynchronous calls
  kBehindNs = 4,      // time from the starts of asynchronous calls to the arrival of their last data
  kTouches = 5,       // accesses to pending memory
  kTouchesNs = 6,     // time that threads waited in such accesses
  kFusesBlown = 7,    // tripped circuit breakers: kinds of calls that block from then on
};
inline constexpr uint32_t kEarlyCounts = 8;

// PortHeader is the start of the memfd; the rest follows at the offsets that it names. Indices of producers and
// consumers are not wrapped (they count modulo 2^64); entry i is stored at i mod entries, which is a power of two. An
// index is stored with release or stronger after its entry was written or read, and pairs with the acquire load of the
// other side; the seq_cst accesses belong to the two sleep protocols, at eq_waiting and at DaemonPage::sleeping.
struct PortHeader {
  // The daemon writes the geometry before the client gets the memfd.
  uint32_t magic;
  uint32_t ring_version;
  uint32_t dq_entries;
  uint32_t eq_entries;
  uint64_t dq_offset;
  uint64_t eq_offset;
  uint64_t text_offset;  // kTextCount texts of kTextBytes
  uint64_t data_offset;  // page-aligned
  uint64_t data_bytes;
  uint64_t total_bytes;

  alignas(64) std::atomic<uint64_t> dq_tail;  // client: next to write
  alignas(64) std::atomic<uint64_t> dq_head;  // daemon: next to read
  alignas(64) std::atomic<uint64_t> eq_tail;  // daemon: next to write
  std::atomic<uint32_t> eq_futex;             // daemon: low half of eq_tail (closed: plus 1), the futex of the client
  alignas(64) std::atomic<uint64_t> eq_head;  // client: next to read
  std::atomic<uint32_t> eq_waiting;           // client: the word (kWaitsOn...) on which it sleeps, or is about to
  alignas(64) std::atomic<uint32_t> closed;   // daemon: 1 when it has closed the port; it then wakes the client
  // The daemon sets these before the client gets the memfd: the offset in the daemon page of the WakeWord on which the
  // client may sleep, so that it is woken together with others, and the client's bits of that word. 0: none.
  uint32_t wake_offset;
  uint32_t wake_bits;
  uint64_t facts_offset;                                  // kTextCount FailureSlots; 0: none
  alignas(64) std::atomic<uint64_t> early[kEarlyCounts];  // client: by EarlyCount; 0 where it keeps no statistics
};
static_assert(sizeof(PortHeader) <= kPageBytes);
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

// These are the values of eq_waiting.
inline constexpr uint32_t kWaitsOnNothing = 0;
inline constexpr uint32_t kWaitsOnPort = 1;  // the port's eq_futex
inline constexpr uint32_t kWaitsOnPage = 2;  // the daemon page's word at wake_offset

// A WakeWord is a futex, alone on a cache line, on which several clients sleep, each with bits of its own.
struct alignas(64) WakeWord {
  std::atomic<uint32_t> value;
};
inline constexpr uint32_t kWakeWords = 32;

// DaemonPage is the daemon's state that all its clients can read.
struct DaemonPage {
  uint32_t magic;
  uint32_t ring_version;
  uint64_t incarnation;
  // It is 1 while the daemon sleeps (or is about to): only then does a client ring the doorbell (an eventfd). The
  // seq_cst accesses of the two sides pair, so that either the daemon sees the entry or the client sees it sleeping:
  // - client: writes the entry, stores dq_tail (seq_cst), loads sleeping (seq_cst), rings if it is 1;
  // - daemon: stores sleeping = 1 (seq_cst), reads all dq_tails again, sleeps if none has changed; stores 0 when awake.
  alignas(64) std::atomic<uint32_t> sleeping;
  // It is incremented in every iteration of the daemon's loop, so that a client which waits for long can distinguish a
  // stuck daemon from a late peer.
  alignas(64) std::atomic<uint64_t> turns;
  // A word is incremented before its clients are woken (FUTEX_WAKE_BITSET).
  WakeWord wake[kWakeWords];
};
static_assert(sizeof(DaemonPage) <= kPageBytes);

inline constexpr uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

// A Geometry holds the offsets in a port's memfd, and its length. Both sides compute it by Lay, whose `dq_entries` and
// `eq_entries` must be powers of two; `data_bytes` is the length of the data area.
struct Geometry {
  uint64_t dq_offset, eq_offset, text_offset, facts_offset, data_offset, total_bytes;
};
inline constexpr Geometry Lay(uint32_t dq_entries, uint32_t eq_entries, uint64_t data_bytes) {
  Geometry g{};
  g.dq_offset = kPageBytes;
  g.eq_offset = RoundUp(g.dq_offset + uint64_t{dq_entries} * sizeof(DqSlot), 64);
  g.text_offset = RoundUp(g.eq_offset + uint64_t{eq_entries} * sizeof(EqEntry), 64);
  g.facts_offset = g.text_offset + uint64_t{kTextCount} * kTextBytes;
  g.data_offset = RoundUp(g.facts_offset + uint64_t{kTextCount} * sizeof(FailureSlot), kPageBytes);
  g.total_bytes = RoundUp(g.data_offset + data_bytes, kPageBytes);
  return g;
}

}  // namespace copse::ring

#endif  // COPSE_PROTOCOL_RING_LAYOUT_H_
