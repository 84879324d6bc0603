// SPDX-License-Identifier: Apache-2.0
//
// Holds the buffers of a fragmented call: the program's, and those of the call that carries the edges.
#ifndef COPSE_CLIENT_TNBC_CALL_BUFFERS_H_
#define COPSE_CLIENT_TNBC_CALL_BUFFERS_H_

#include <string.h>

#include <cstdint>
#include <vector>

#include "client/copse.h"
#include "client/tnbc/fragmentation.h"

namespace copse::tnbc {

// CallBuffers knows the buffers that the program has passed, and holds the packed edges that a rank sends and receives.
// Thread-compatible.
class CallBuffers {
 public:
  // `*fragmentation`, which is that of the call `args`, must outlive this object.
  CallBuffers(const copse_coll_args_t& args, const Fragmentation* fragmentation)
      : fragmentation_(*fragmentation),
        receive_(args.recv == COPSE_IN_PLACE ? nullptr : static_cast<uint8_t*>(args.recv)),
        send_(fragmentation->sends_received ? receive_ + fragmentation->send_at
                                            : static_cast<const uint8_t*>(args.send)) {}

  const uint8_t* send() const { return send_; }
  uint8_t* receive() const { return receive_; }

  // Allocates the packed edges, and packs those of the send buffer. A broadcast's root sends from its receive buffer.
  void PackEdges() {
    const Edges& edges = fragmentation_.edges;
    sent_edges_.resize(edges.send_bytes);
    received_edges_.resize(edges.receive_bytes);
    const bool is_source = fragmentation_.is_source;
    uint8_t* const packed = is_source ? received_edges_.data() : sent_edges_.data();
    const uint8_t* const whole = is_source ? receive_ : send_;
    for (const Move& move : edges.pack) memcpy(packed + move.to, whole + move.from, move.bytes);
  }
  uint8_t* sent_edges() { return sent_edges_.data(); }
  uint8_t* received_edges() { return received_edges_.data(); }
  // Copies received edges to the receive buffer, of which no page may be inaccessible.
  void UnpackEdges() const {
    for (const Move& move : fragmentation_.edges.unpack)
      memcpy(receive_ + move.to, received_edges_.data() + move.from, move.bytes);
  }
  // Copies this rank's own block from the send buffer to the receive buffer.
  void CopyOwn() const {
    const Move& own = fragmentation_.own;
    if (own.bytes > 0) memcpy(receive_ + own.to, send_ + own.from, own.bytes);
  }

 private:
  const Fragmentation& fragmentation_;
  uint8_t* const receive_;  // null: none
  const uint8_t* const send_;
  std::vector<uint8_t> sent_edges_, received_edges_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_CALL_BUFFERS_H_
