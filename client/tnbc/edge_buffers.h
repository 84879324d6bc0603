// SPDX-License-Identifier: Apache-2.0
//
// Holds the staging buffers of the call that carries a fragmentation's edges.
#ifndef COPSE_CLIENT_TNBC_EDGE_BUFFERS_H_
#define COPSE_CLIENT_TNBC_EDGE_BUFFERS_H_

#include <string.h>

#include <cstdint>
#include <vector>

#include "client/tnbc/fragmentation.h"

namespace copse::tnbc {

// EdgeBuffers holds the packed edges that a rank sends and receives. Thread-compatible.
class EdgeBuffers {
 public:
  // Allocates the buffers and packs the edges of `whole`, the program's send buffer, for sending. At a broadcast's root
  // `whole` is the receive buffer, and its edges are packed into receive().
  void Pack(const Fragmentation& fragmentation, const uint8_t* whole) {
    const Edges& edges = fragmentation.edges;
    send_.resize(edges.send_bytes);
    receive_.resize(edges.receive_bytes);
    uint8_t* const packed = fragmentation.is_source ? receive_.data() : send_.data();
    for (const Move& move : edges.pack) memcpy(packed + move.to, whole + move.from, move.bytes);
  }
  // Copies received edges to `whole`, the program's receive buffer, of which no page may be inaccessible.
  void Unpack(const Fragmentation& fragmentation, uint8_t* whole) const {
    for (const Move& move : fragmentation.edges.unpack)
      memcpy(whole + move.to, receive_.data() + move.from, move.bytes);
  }

  uint8_t* send() { return send_.data(); }
  uint8_t* receive() { return receive_.data(); }

 private:
  std::vector<uint8_t> send_, receive_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_EDGE_BUFFERS_H_
