// SPDX-License-Identifier: Apache-2.0
//
// Shared memory of other processes may become unreadable: a memory error of the machine, or a file that ends before its
// mapping, raises SIGBUS in whatever process accesses the page. Here such a page is replaced, and its mapping marked,
// so that it costs its owner and nobody else.
#ifndef COPSE_BASE_LOST_MEMORY_H_
#define COPSE_BASE_LOST_MEMORY_H_

#include <atomic>
#include <cstdint>

#include "absl/status/statusor.h"

namespace copse {

// Tracked mappings of the process at most. The kernel's default limit of mappings, vm.max_map_count, is 65,530.
inline constexpr uint32_t kTrackedMappingsMax = 49152;

// Handles SIGBUS from now on, for the process's lifetime. A fault outside of tracked memory goes to the handler that
// was there before, or ends the process as it would have. Idempotent, thread-safe.
void CatchMemoryFaults();

namespace lost_memory_internal {
extern std::atomic<uint32_t> lost_mappings;
}  // namespace lost_memory_internal

// Whether any tracked mapping has lost a page. One relaxed load: for hot paths.
inline bool AnyMemoryLost() { return lost_memory_internal::lost_mappings.load(std::memory_order_relaxed) != 0; }
// Whether [address, address + bytes) meets a tracked mapping that has lost a page. Linear in the mappings, so ask
// AnyMemoryLost first.
bool IsMemoryLost(const void* address, uint64_t bytes);

// A mapping whose faults cost it alone. Once a page of it is lost, reads of that page give zeros and writes to it go
// nowhere, so nothing that was computed from the mapping may be used any more: ask after the access, not only before.
// Movable. Faults may come on any thread; they are handled without locks and without memory, in the handler.
class TrackedMemory {
 public:
  TrackedMemory() = default;
  TrackedMemory(TrackedMemory&& other) noexcept;
  TrackedMemory& operator=(TrackedMemory&& other) noexcept;
  ~TrackedMemory();

  // [base, base + bytes), whole pages from a page's begin, mapped until after the end of this object.
  // RESOURCE_EXHAUSTED beyond kTrackedMappingsMax.
  static absl::StatusOr<TrackedMemory> Track(const void* base, uint64_t bytes);

  bool lost() const;

 private:
  explicit TrackedMemory(int64_t slot) : slot_(slot) {}

  int64_t slot_ = -1;
};

}  // namespace copse

#endif  // COPSE_BASE_LOST_MEMORY_H_
