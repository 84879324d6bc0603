// SPDX-License-Identifier: Apache-2.0
//
// Wraps free(), realloc(), reallocarray() and mremap(): they wait until nothing of their memory is pending, since
// another thread may get it a moment later.
#include <dlfcn.h>
#include <sys/mman.h>

#include "client/preload/libc_next.h"
#include "client/preload/libc_wrapped.h"
#include "client/tnbc/pages/memory_end.h"

namespace copse::preload {
namespace {

using UsableSize = size_t (*)(void*);

// It is malloc_usable_size() of the program's heap, or null if that is not known.
UsableSize usable_size = nullptr;

const void* LibraryOf(void* function) {
  Dl_info info;
  return dladdr(function, &info) != 0 ? info.dli_fbase : nullptr;
}

void AwaitChunk(void* chunk) {
  if (chunk == nullptr || !IsAnythingPending()) return;
  if (usable_size != nullptr) {
    Await(chunk, usable_size(chunk));
  } else {
    AwaitAll();
  }
}

// Freed memory belongs to the heap, which may return it to the kernel and expects zeros when it uses it again. Remapped
// pages would keep their contents, so they become ordinary ones before.
void ReleaseChunk(void* chunk, tnbc::MemoryEnd end) {
  if (chunk == nullptr || usable_size == nullptr || !IsAnythingAdopted()) return;
  const size_t bytes = usable_size(chunk);
  const size_t least = TheMemoryHooks()->adopted_bytes_min;
  if (bytes >= least) Release(chunk, bytes, end);
}

}  // namespace

// The function has to be in the library that has free(): a heap other than libc's may lack it, and then libc's does not
// know that heap's chunks.
void FindHeap() {
  void* function = dlsym(RTLD_NEXT, "malloc_usable_size");
  void* free = NextLibcCall(LibcCall::free);
  if (function != nullptr && LibraryOf(function) == LibraryOf(free))
    usable_size = reinterpret_cast<UsableSize>(function);
}

void* KnownHeap() { return reinterpret_cast<void*>(usable_size); }

namespace wrapped {

void free(void* chunk) {
  AwaitChunk(chunk);
  ReleaseChunk(chunk, tnbc::MemoryEnd::kGoes);
  return Next<void(void*)>(LibcCall::free)(chunk);
}

void* realloc(void* chunk, size_t bytes) {
  AwaitChunk(chunk);
  ReleaseChunk(chunk, tnbc::MemoryEnd::kMoves);
  return Next<void*(void*, size_t)>(LibcCall::realloc)(chunk, bytes);
}

void* reallocarray(void* chunk, size_t count, size_t item_bytes) {
  AwaitChunk(chunk);
  ReleaseChunk(chunk, tnbc::MemoryEnd::kMoves);
  return Next<void*(void*, size_t, size_t)>(LibcCall::reallocarray)(chunk, count, item_bytes);
}

void* mremap(void* from, size_t from_bytes, size_t bytes, int flags, void* to) {
  if (IsAnythingPending()) {
    Await(from, from_bytes);
    if ((flags & MREMAP_FIXED) != 0) Await(to, bytes);
  }
  if (IsAnythingAdopted()) {
    Release(from, from_bytes, tnbc::MemoryEnd::kMoves);
    if ((flags & MREMAP_FIXED) != 0) Release(to, bytes, tnbc::MemoryEnd::kStays);
  }
  return Next<void*(void*, size_t, size_t, int, ...)>(LibcCall::mremap)(from, from_bytes, bytes, flags, to);
}

}  // namespace wrapped
}  // namespace copse::preload
