// SPDX-License-Identifier: Apache-2.0
//
// The shared memory between a client and its daemon: one sealed memfd per virtual port, laid out as below, and one page
// of the daemon's state that all clients map read-only. docs/reference/ring-layout.md draws it. C++ without any
// library, as it is loaded into users' processes.
//
// Trust: the daemon writes `PortHeader` geometry once and never reads it back; from the memory that a client can write
// it reads only dq_tail, eq_head, eq_waiting (each checked against the ring's size) and DQ entries (each copied once,
// then validated, then acted on) and payload bytes, whose content can harm only the client's own call; and `early`,
// numbers that are only ever added up and shown.
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
inline constexpr uint32_t kTextBytes = 256;  // of one failure text, NUL-terminated
inline constexpr uint32_t kTextCount = 16;   // failure texts kept; an event has the index of its own
inline constexpr uint32_t kNoText = 0xffffffff;
inline constexpr uint32_t kPageBytes = 4096;

enum class Command : uint8_t {
  kNop = 0,         // answered by an event: measures the cost of a hop
  kCollective = 1,  // one call of a team
};

enum DqFlags : uint8_t {
  kSendInline = 1,    // the send buffer is `payload`; not for irregular collectives
  kInPlace = 2,       // the send buffer is the receive buffer (reduce at the root, allreduce, scan, exscan)
  kCountsKnown = 4,   // gatherv, scatterv: every rank gives all counts
  kReproducible = 8,  // reductions: bit-identical whatever the plan
  // alltoallv: `count` is the most that one node has for another, or for itself, which all ranks know; at most
  // kPairBoundMax bytes
  kPairsBounded = 16,
};
inline constexpr uint64_t kPairBoundMax = uint64_t{1} << 30;

// Bytes at `offset` of region `region`: 0 is the port's own data area, others were registered.
struct Place {
  uint32_t region;
  uint32_t reserved;
  uint64_t offset;
};

// A rank's block of a buffer, from the buffer's place on.
using copse::Block;
static_assert(sizeof(Block) == 16);

// The content of `payload` for the irregular collectives: the places of their lists, one Block per rank. Read when
// the entry is taken, and not after. Lists that the rank does not give are ignored.
struct ListPlaces {
  Place send;
  Place receive;
};
static_assert(sizeof(ListPlaces) <= kInlineBytes);

// One entry of the descriptor queue. 128 bytes.
struct DqEntry {
  uint8_t command;     // Command
  uint8_t collective;  // Collective
  uint8_t type;        // ElementType
  uint8_t op;          // ElementOp
  uint8_t flags;       // DqFlags
  // The call begins when at most this many of the client's calls of this team, itself included, are in flight; 0: no
  // limit. While it waits, so do the entries behind it.
  uint8_t under_way_max;
  uint8_t reserved[2];
  uint32_t team;   // handle from TeamReady
  uint32_t root;   // rank
  uint64_t count;  // elements, as in CallArguments; irregular: of the buffer that is one block
  uint64_t value;  // returned in the event
  Place send;      // contribution; for bcast at the root the message
  uint8_t payload[kInlineBytes];
};
static_assert(sizeof(DqEntry) == 112);

// The receive place comes in a second half so that an entry is two cache lines.
struct alignas(128) DqSlot {
  DqEntry entry;
  Place receive;
};
static_assert(sizeof(DqSlot) == 128);

// One entry of the event queue. 32 bytes.
struct EqEntry {
  uint64_t value;     // chosen by the poster
  uint64_t sequence;  // number of the call in its team
  int32_t status;     // 0 or a negative copse_status_t
  uint32_t text;      // index of the failure's text and facts, or kNoText
  // Facts of a failure, as in FailureFacts: here they are always this event's own.
  uint8_t cause;
  uint8_t has_rank;
  uint16_t reserved;
  uint32_t rank;
};
static_assert(sizeof(EqEntry) == 32);

// The facts of a failed event beside its text; they belong to another event if `value` differs.
struct FailureSlot {
  uint64_t value;
  FailureFacts facts;
};

// A client's statistics of its asynchronous completions, by index in `early`. Times are nanoseconds.
enum class EarlyCount : uint32_t {
  kCalls = 0,         // completed asynchronously
  kCallsWaited = 1,   // fragmented, but blocking
  kPendingBytes = 2,  // bytes of results pending when calls returned
  kInsideNs = 3,      // time in asynchronous calls
  kBehindNs = 4,      // time from their starts to their last data
  kTouches = 5,       // accesses to pending memory
  kTouchesNs = 6,     // time that threads waited in them
  kFusesBlown = 7,    // tripped circuit breakers: kinds of calls that block from then on
};
inline constexpr uint32_t kEarlyCounts = 8;

// The start of the memfd; the rest follows at the offsets it names. Producer and consumer indices run freely (modulo
// 2^64); entry i lives at i mod entries, and entries are powers of two. An index is stored with release or stronger
// after its entry was written or read, and pairs with the acquire load of the other side; the seq_cst accesses belong
// to the two sleep protocols, at eq_waiting and at DaemonPage::sleeping.
struct PortHeader {
  // Geometry, written by the daemon before the client gets the memfd.
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
  std::atomic<uint32_t> eq_futex;             // daemon: low half of eq_tail, the word of a waiting client's futex
  alignas(64) std::atomic<uint64_t> eq_head;  // client: next to read
  std::atomic<uint32_t> eq_waiting;           // client: the word (kWaitsOn...) it sleeps on, or is about to
  alignas(64) std::atomic<uint32_t> closed;   // daemon: 1 when the port is gone (drained or refused); wakes the futex
  // Set by the daemon before the client gets the memfd: the offset in the daemon page of the word on which the client
  // may sleep, so that it is woken together with others, and its bits there. 0: none.
  uint32_t wake_offset;
  uint32_t wake_bits;
  uint64_t facts_offset;                                  // kTextCount FailureSlots; 0: none
  alignas(64) std::atomic<uint64_t> early[kEarlyCounts];  // client: by EarlyCount; 0 where it keeps no statistics
};
static_assert(sizeof(PortHeader) <= kPageBytes);
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

// Values of eq_waiting.
inline constexpr uint32_t kWaitsOnNothing = 0;
inline constexpr uint32_t kWaitsOnPort = 1;  // its own eq_futex
inline constexpr uint32_t kWaitsOnPage = 2;  // the daemon page's word at wake_offset

// A futex on its own cache line that several clients sleep on, each with bits of its own.
struct alignas(64) WakeWord {
  std::atomic<uint32_t> value;
};
inline constexpr uint32_t kWakeWords = 32;

// The daemon's page, read-only for clients.
struct DaemonPage {
  uint32_t magic;
  uint32_t ring_version;
  uint64_t incarnation;
  // 1 while the daemon sleeps (or is about to): only then a client rings its doorbell (an eventfd). The seq_cst
  // accesses of the two sides pair:
  // client: write entry, store dq_tail (seq_cst), load sleeping (seq_cst), ring if 1.
  // daemon: store sleeping = 1 (seq_cst), read all dq_tails again, sleep if nothing; store 0 when awake.
  alignas(64) std::atomic<uint32_t> sleeping;
  // Incremented with every turn of the daemon's loop, so a client that waits long can distinguish a stuck daemon from
  // a late peer.
  alignas(64) std::atomic<uint64_t> turns;
  // Each is incremented before its clients are woken (FUTEX_WAKE_BITSET).
  WakeWord wake[kWakeWords];
};
static_assert(sizeof(DaemonPage) <= kPageBytes);

inline constexpr uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

// Offsets for a geometry; both sides compute them the same way. `dq_entries`, `eq_entries` are powers of two.
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
