// SPDX-License-Identifier: Apache-2.0
//
// Sends an engine's records and control messages, and keeps the peers with their outboxes.
#ifndef COPSE_OFFLOAD_EMU_RECORD_SENDER_H_
#define COPSE_OFFLOAD_EMU_RECORD_SENDER_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "offload_emu/descriptor.h"
#include "offload_emu/engine_stats.h"
#include "offload_emu/packet.h"
#include "offload_emu/peer.h"
#include "offload_emu/pool.h"
#include "offload_emu/port.h"
#include "offload_emu/port_trace.h"
#include "offload_emu/ready_queue.h"
#include "offload_emu/transport.h"

namespace copse::emu {

// A RecordSender owns the peers. Records go into a peer's outbox, or out at once if they are long; Flush sends the
// outboxes, with the credit, asks and answers that are due. Sequences that cannot send wait at their edge until
// something changes there. Everything passed by pointer must outlive it. Thread-compatible.
class RecordSender {
 public:
  RecordSender(Transport* transport, Incarnation self, BufferPool* buffers, ReadyQueue* ready, PortTrace trace,
               EngineStats* stats)
      : transport_(transport), self_(self), buffers_(buffers), ready_(ready), trace_(trace), stats_(stats) {}

  Incarnation self() const { return self_; }
  const PortTrace& trace() const { return trace_; }

  // --- Peers ---
  // Returns the peer, which is made if there is none; it lives while an edge leads to it or a frame waits for it.
  Peer* PeerOf(Incarnation incarnation);
  // Returns null if there is no such peer.
  Peer* Find(Incarnation incarnation) const;
  // Drops what waits for the peer, which the transport has lost; sequences that waited for room fail or wait anew.
  void OnPeerDown(Incarnation incarnation);
  // Removes the edge from its peer.
  void Detach(Edge* edge);

  // --- Records ---
  // Returns whether the record of `descriptor` may be sent now. Asks the peer for credit if that is missing.
  bool MaySend(Edge* edge, const Descriptor& descriptor);
  // Puts the sequence, which MaySend refused, on the edge's list.
  void Wait(Edge* edge, Sequence* sequence);
  void StopWaiting(Edge* edge, Sequence* sequence);
  // Makes the sequences that wait for the edge ready again, in order.
  void WakeWaiting(Edge* edge);
  Record RecordFor(Edge* edge, RecordKind kind, MpHeader header);
  // Returns where the payload goes, to be written before the next call.
  uint8_t* AppendRecord(Edge* edge, const Record& record, uint32_t payload_bytes);
  // Sends a long record without the outbox, which saves a copy of its payload. Returns false if it was not sent, and
  // has to go through the outbox.
  bool SendAtOnce(Edge* edge, const Record& record, const uint8_t* payload);
  // Takes the edge's record back that was appended last, with so much payload.
  void Retract(Edge* edge, uint32_t payload_bytes) { edge->peer->outbox.Retract(edge->port->job->job, payload_bytes); }
  // Lets Flush send the edge's credit, ask and answers, once its label is known.
  void MarkDue(Edge* edge);

  // --- Control messages --- (see Engine::SendControl)
  absl::Status SendControl(Incarnation peer, uint16_t type, absl::Span<const uint8_t> message, ControlPlace place);

  void Flush();
  // Returns the losses that Flush has found since the last call.
  std::vector<std::pair<Incarnation, absl::Status>> TakeLost() { return std::exchange(lost_, {}); }
  // Removes the peers that nothing needs any more.
  void Reap();

  uint64_t frames_waiting() const;
  void CheckInvariants() const;

 private:
  // Returns whether the edge's job must not append a record with so much payload to the outbox now.
  static bool IsFull(const Edge& edge, uint32_t bytes);
  // Returns whether the outbox has room for what has waited longest at the edge.
  static bool MayWake(const Edge& edge);
  void MarkDirty(Peer* peer);
  void SendDue(Peer* peer);
  void SendDue(Edge* edge);
  void Answer(Edge* edge, const GetRequest& request);

  Transport* const transport_;
  const Incarnation self_;
  BufferPool* const buffers_;
  ReadyQueue* const ready_;
  const PortTrace trace_;
  EngineStats* const stats_;
  absl::flat_hash_map<Incarnation, std::unique_ptr<Peer>> peers_;  // looked up, never iterated in order
  std::vector<Peer*> dirty_;                                       // peers to flush, in order
  std::vector<Peer*> flushing_;                                    // Flush's scratch list, kept for its capacity
  std::vector<std::pair<Incarnation, absl::Status>> lost_;         // losses found by Flush, not yet reported
  std::vector<Incarnation> idle_;                                  // candidates for removal
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_RECORD_SENDER_H_
