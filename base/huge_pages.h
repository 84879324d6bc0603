// SPDX-License-Identifier: Apache-2.0
//
// Vectors for tables of many megabytes that are read here and there.
#ifndef COPSE_BASE_HUGE_PAGES_H_
#define COPSE_BASE_HUGE_PAGES_H_

#include <cstddef>
#include <new>
#include <type_traits>
#include <vector>

namespace copse {

// From so much on a block has a mapping of its own. Huge pages are larger than what smaller ones would need.
inline constexpr size_t kLargeBlockBytes = size_t{4} << 20;

// A mapping for which the kernel is asked for huge pages, and its end. `bytes` is what was asked for, and greater than
// 0. Dies if there is no memory.
void* MapLargeBlock(size_t bytes);
void UnmapLargeBlock(void* block, size_t bytes);

// Of a table that is much larger than what the processor's translations of addresses cover, each look costs a walk
// through page tables on top of the memory itself: huge pages spare most of that. A kernel without them makes it
// slower, nothing else. For plain values only: leak checkers do not look for pointers in mappings.
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

#endif  // COPSE_BASE_HUGE_PAGES_H_
