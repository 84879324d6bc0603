// SPDX-License-Identifier: Apache-2.0
//
// Defines vectors for tables of many megabytes that are read in random order.
#ifndef COPSE_BASE_PROCESS_HUGE_PAGES_H_
#define COPSE_BASE_PROCESS_HUGE_PAGES_H_

#include <cstddef>
#include <new>
#include <type_traits>
#include <vector>

namespace copse {

// Blocks of at least this size have a mapping of their own. Smaller blocks would waste most of a huge page.
inline constexpr size_t kLargeBlockBytes = size_t{4} << 20;

// MapLargeBlock maps a block, for which it asks the kernel for huge pages; UnmapLargeBlock unmaps it. `bytes` is the
// requested size, greater than 0 and the same for both. Dies if there is no memory. Thread-safe.
void* MapLargeBlock(size_t bytes);
void UnmapLargeBlock(void* block, size_t bytes);

// A HugePageAllocator is an allocator for such tables. In a table that is much larger than the reach of the processor's
// TLB, each access costs a walk through the page tables on top of the memory access: huge pages avoid most walks.
// Without huge pages the table is only slower. It is for plain values, since leak checkers do not search mappings for
// pointers.
template <typename T>
class HugePageAllocator {
 public:
  static_assert(std::is_trivially_copyable_v<T>);
  using value_type = T;

  HugePageAllocator() = default;
  template <typename U>
  HugePageAllocator(const HugePageAllocator<U>&) {}  // NOLINT: allocators convert

  T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes >= kLargeBlockBytes) return static_cast<T*>(MapLargeBlock(bytes));
    return static_cast<T*>(::operator new (bytes, std::align_val_t{alignof(T)}));
  }
  void deallocate(T* block, size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes >= kLargeBlockBytes) return UnmapLargeBlock(block, bytes);
    ::operator delete (block, std::align_val_t{alignof(T)});
  }
  friend bool operator==(const HugePageAllocator&, const HugePageAllocator&) { return true; }
};

template <typename T>
using LargeVector = std::vector<T, HugePageAllocator<T>>;

}  // namespace copse

#endif  // COPSE_BASE_PROCESS_HUGE_PAGES_H_
