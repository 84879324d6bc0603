// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/async/persistent_messages.h"

#include <mutex>
#include <unordered_map>

#include "client/mpi/async/async_calls.h"
#include "client/mpi/async/pending_memory.h"
#include "client/tnbc/pages/pending_ranges.h"

namespace copse::mpi {
namespace {

// A PersistentMessage keeps the memory of the buffer and not its type, which the program may free before the start.
struct PersistentMessage {
  tnbc::Range memory;
  MPI_Comm comm;
};

std::mutex mutex;  // guards `messages`
std::unordered_map<uintptr_t, PersistentMessage>* messages = nullptr;

}  // namespace

void RememberMessage(MPI_Request request, const void* buffer, int64_t count, MPI_Datatype type, MPI_Comm comm) {
  if (TheAsyncCalls() == nullptr) return;
  const tnbc::Range memory = MemoryOf(buffer, count, type);
  const std::lock_guard lock(mutex);
  if (messages == nullptr) messages = new std::unordered_map<uintptr_t, PersistentMessage>;
  messages->insert_or_assign(Key(request), PersistentMessage{memory, comm});
}

void ForgetMessage(MPI_Request request) {
  const std::lock_guard lock(mutex);
  if (messages != nullptr) messages->erase(Key(request));
}

bool AwaitMessageOf(MPI_Request request, MPI_Comm* comm) {
  tnbc::Range memory;
  {
    const std::lock_guard lock(mutex);
    if (messages == nullptr) return true;
    const auto found = messages->find(Key(request));
    if (found == messages->end()) return true;
    memory = found->second.memory;
    *comm = found->second.comm;
  }
  return AwaitRange(memory);
}

}  // namespace copse::mpi
