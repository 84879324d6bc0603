// SPDX-License-Identifier: Apache-2.0
#include "base/process/huge_pages.h"

#include <sys/mman.h>

#include "base/check.h"

namespace copse {
namespace {

// The mapping has whole huge pages: kernels from 6.7 on align such a mapping to them.
constexpr size_t kHugePageBytes = size_t{2} << 20;

size_t Rounded(size_t bytes) { return (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes; }

}  // namespace

void* MapLargeBlock(size_t bytes) {
  void* const block = mmap(nullptr, Rounded(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(block != MAP_FAILED);
  // Kernels without huge pages refuse this.
  (void)madvise(block, Rounded(bytes), MADV_HUGEPAGE);
  return block;
}

void UnmapLargeBlock(void* block, size_t bytes) { CHECK(munmap(block, Rounded(bytes)) == 0); }

}  // namespace copse
