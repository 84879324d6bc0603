// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/async/allocated_memory.h"

#include <string.h>
#include <sys/mman.h>

#include <map>
#include <mutex>
#include <vector>

#include "client/mpi/api/inside_mpi.h"
#include "client/mpi/async/async_calls.h"
#include "client/mpi/async/pending_memory.h"
#include "client/mpi/session/session.h"

namespace copse::mpi {
namespace {

// Blocks of at least this length are allocated from Copse. Shorter results are copied in the time that protecting pages
// takes.
constexpr MPI_Aint kBytesMin = 64 << 10;

// AllocatedBlocks lists the blocks of this process. It is never destroyed, so the order of exit handlers does not
// matter.
struct AllocatedBlocks {
  std::mutex mutex;
  std::map<void*, size_t> bytes;       // by address
  copse_context_t* context = nullptr;  // the context of all blocks; null after KeepAllocatedMemory
};
AllocatedBlocks& TheBlocks() {
  static auto* const blocks = new AllocatedBlocks;
  return *blocks;
}

void* Allocate(MPI_Aint bytes) {
  AsyncCalls* const async = TheAsyncCalls();
  if (async == nullptr || bytes < kBytesMin || InsideMpi::IsNested()) return nullptr;
  copse_context_t* const context = TheSession()->context;
  void* memory = nullptr;
  if (copse_alloc(context, static_cast<uint64_t>(bytes), &memory) != COPSE_OK) return nullptr;
  if (async->early_return().Reaches(memory, static_cast<uint64_t>(bytes))) return memory;
  copse_free(context, memory);
  return nullptr;
}

}  // namespace

int Alloc_mem(MPI_Aint bytes, MPI_Info info, void* base) {
  void* const memory = Allocate(bytes);
  if (memory == nullptr) return Mpi().Alloc_mem(bytes, info, base);
  {
    const std::lock_guard lock(TheBlocks().mutex);
    TheBlocks().bytes[memory] = static_cast<size_t>(bytes);
    TheBlocks().context = TheSession()->context;
  }
  memcpy(base, &memory, sizeof(memory));
  return MPI_SUCCESS;
}

int Free_mem(void* base) {
  AllocatedBlocks& blocks = TheBlocks();
  std::unique_lock lock(blocks.mutex);
  const auto block = blocks.bytes.find(base);
  if (block == blocks.bytes.end()) {
    lock.unlock();
    return Mpi().Free_mem(base);
  }
  const size_t bytes = block->second;
  blocks.bytes.erase(block);
  copse_context_t* const context = blocks.context;
  lock.unlock();
  AwaitMessage(base, static_cast<int64_t>(bytes), MPI_BYTE);
  if (context != nullptr) copse_free(context, base);
  if (context == nullptr) munmap(base, bytes);
  return MPI_SUCCESS;
}

void KeepAllocatedMemory(copse_context_t* context) {
  AllocatedBlocks& blocks = TheBlocks();
  const std::lock_guard lock(blocks.mutex);
  for (const auto& [address, bytes] : blocks.bytes) {
    const auto* const data = static_cast<const char*>(address);
    const std::vector<char> contents(data, data + bytes);
    copse_free(context, address);
    void* const pages = mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (pages == address) memcpy(pages, contents.data(), bytes);
  }
  blocks.context = nullptr;
}

}  // namespace copse::mpi
