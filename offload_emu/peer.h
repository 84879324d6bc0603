// SPDX-License-Identifier: Apache-2.0
//
// Holds an engine's state of another daemon.
#ifndef COPSE_OFFLOAD_EMU_PEER_H_
#define COPSE_OFFLOAD_EMU_PEER_H_

#include <vector>

#include "base/ids.h"
#include "offload_emu/frames/frame_outbox.h"
#include "offload_emu/pool.h"

namespace copse::emu {

struct Edge;

// A Peer is another daemon, kept while an edge leads to it or a frame waits to be sent to it.
struct Peer {
  Peer(Incarnation self, Incarnation incarnation, BufferPool* pool)
      : incarnation(incarnation), outbox(self, incarnation, pool) {}

  const Incarnation incarnation;
  FrameOutbox outbox;
  std::vector<Edge*> edges;  // in order of creation
  std::vector<Edge*> due;    // edges with credit, an ask or answers to send
  bool dirty = false;        // on the engine's list of peers to flush
  bool lost = false;         // its loss was reported, and no frame has come from it or gone to it since
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_PEER_H_
