// SPDX-License-Identifier: Apache-2.0
//
// Defines the interface through which an engine asks for whom it reserves memory.
#ifndef COPSE_OFFLOAD_EMU_MEMORY_OWNER_H_
#define COPSE_OFFLOAD_EMU_MEMORY_OWNER_H_

#include <cstdint>

#include "absl/status/status.h"

namespace copse::emu {

// A MemoryOwner is charged for the memory that its ports reserve of EngineOptions::memory_limit_bytes. The engine calls
// it from OpenPort, AddEdge, RemoveEdge and ClosePort, on its thread.
class MemoryOwner {
 public:
  virtual ~MemoryOwner() = default;
  // Charges `bytes`. RESOURCE_EXHAUSTED, and nothing is charged, if the owner may not have so many more.
  virtual absl::Status Charge(uint64_t bytes) = 0;
  // Takes back `bytes` that were charged.
  virtual void Discharge(uint64_t bytes) = 0;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_MEMORY_OWNER_H_
