// SPDX-License-Identifier: Apache-2.0
//
// Handles faults of shared memory: a memory error of the machine, or a file that ends before its mapping, raises SIGBUS
// in the process that accesses the page. This code replaces such a page and marks its mapping, so that only the owner
// of the mapping is affected.
#ifndef COPSE_BASE_PROCESS_LOST_MEMORY_H_
#define COPSE_BASE_PROCESS_LOST_MEMORY_H_

#include <atomic>
#include <cstdint>

#include "absl/status/statusor.h"

namespace copse {

// Limits the process's tracked mappings. The kernel's default limit of all mappings, vm.max_map_count, is 65,530.
inline constexpr uint32_t kTrackedMappingsMax = 49152;

// Handles SIGBUS from now on, for the process's lifetime. A fault outside of tracked memory goes to the handler that
// was installed before, or ends the process by the default action. Further calls do nothing. Thread-safe.
void CatchMemoryFaults();

namespace lost_memory_internal {
extern std::atomic<uint32_t> lost_mappings;
}  // namespace lost_memory_internal

// Returns whether any tracked mapping has lost a page. It costs one relaxed load, so hot paths may call it.
inline bool AnyMemoryLost() { return lost_memory_internal::lost_mappings.load(std::memory_order_relaxed) != 0; }
// Returns whether [address, address + bytes) overlaps a tracked mapping that has lost a page. The cost is linear in the
// number of mappings, so check AnyMemoryLost first. Async-signal-safe.
bool IsMemoryLost(const void* address, uint64_t bytes);

// A TrackedMemory is a mapping whose faults affect only its owner. A page of it that is lost becomes a private page of
// zeros, whose content other processes neither see nor change. So results computed from the mapping are invalid: check
// lost() after the access, not only before. Movable. Faults may come on any thread; the handler takes no lock and
// allocates nothing.
class TrackedMemory {
 public:
  TrackedMemory() = default;
  TrackedMemory(TrackedMemory&& other) noexcept;
  TrackedMemory& operator=(TrackedMemory&& other) noexcept;
  ~TrackedMemory();

  // Tracks [base, base + bytes), which must begin with a page and stay mapped until the returned object is destroyed.
  // RESOURCE_EXHAUSTED beyond kTrackedMappingsMax. Thread-safe.
  static absl::StatusOr<TrackedMemory> Track(const void* base, uint64_t bytes);

  bool lost() const;

 private:
  explicit TrackedMemory(int64_t slot) : slot_(slot) {}

  int64_t slot_ = -1;
};

}  // namespace copse

#endif  // COPSE_BASE_PROCESS_LOST_MEMORY_H_
