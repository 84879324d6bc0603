// SPDX-License-Identifier: Apache-2.0
//
// Holds an engine's ports by their ids.
#ifndef COPSE_OFFLOAD_EMU_PORT_TABLE_H_
#define COPSE_OFFLOAD_EMU_PORT_TABLE_H_

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "offload_emu/pool.h"
#include "offload_emu/port.h"
#include "offload_emu/ready_queue.h"

namespace copse::emu {

// A PortTable owns ports. An id is never used twice: its generation tells apart the ports that had the same index.
// Thread-compatible.
class PortTable {
 public:
  // Opens a port whose eager buffers come from `*buffers` and whose sequences become ready in `*ready`; both must
  // outlive the port.
  PortId Open(const PortOptions& options, PortSink* sink, BufferPool* buffers, ReadyQueue* ready);
  // Returns null if there is no such port.
  Port* Find(PortId id) const;
  // Removes the port, which must be open. It lives until Reap, as a running sequence may still refer to it.
  void Close(PortId id);
  void Reap(ReadyQueue* ready);

  // Returns the open ports, by index.
  std::vector<Port*> open() const;
  uint32_t open_count() const { return open_count_; }
  bool has_closed() const { return !closed_.empty(); }

 private:
  struct Entry {
    std::unique_ptr<Port> port;
    uint32_t generation = 0;
  };

  std::vector<Entry> entries_;
  std::list<uint32_t> free_;  // indices of closed ports, longest closed first
  std::vector<std::unique_ptr<Port>> closed_;
  uint32_t open_count_ = 0;
  uint64_t next_owner_ = 1;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_PORT_TABLE_H_
