// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/port_table.h"

#include <utility>

#include "base/check.h"

namespace copse::emu {

PortId PortTable::Open(const PortOptions& options, PortSink* sink, BufferPool* buffers, ReadyQueue* ready) {
  PortId id;
  if (free_.empty()) {
    id.index = static_cast<uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    id.index = free_.front();
    free_.pop_front();
  }
  Entry& entry = entries_[id.index];
  id.generation = ++entry.generation;
  entry.port = std::make_unique<Port>(id, next_owner_++, options, sink, buffers);
  entry.port->job = ready->AddPort(options.job);
  ++open_count_;
  return id;
}

Port* PortTable::Find(PortId id) const {
  if (id.index >= entries_.size() || entries_[id.index].generation != id.generation) return nullptr;
  return entries_[id.index].port.get();
}

void PortTable::Close(PortId id) {
  CHECK(Find(id) != nullptr);
  closed_.push_back(std::move(entries_[id.index].port));
  free_.push_back(id.index);
  --open_count_;
}

void PortTable::Reap(ReadyQueue* ready) {
  for (const std::unique_ptr<Port>& port : closed_) ready->RemovePort(port->job);
  closed_.clear();
}

std::vector<Port*> PortTable::open() const {
  std::vector<Port*> ports;
  for (const Entry& entry : entries_) {
    if (entry.port != nullptr) ports.push_back(entry.port.get());
  }
  return ports;
}

}  // namespace copse::emu
