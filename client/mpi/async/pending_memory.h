// SPDX-License-Identifier: Apache-2.0
//
// Waits for the program's pending memory: receive buffers whose data has not arrived, and send buffers whose data has
// not been sent.
#ifndef COPSE_CLIENT_MPI_ASYNC_PENDING_MEMORY_H_
#define COPSE_CLIENT_MPI_ASYNC_PENDING_MEMORY_H_

#include <cstdint>

#include "client/mpi/api/mpi_api.h"
#include "client/mpi/data/offload.h"
#include "client/mpi/session/communicator.h"
#include "client/tnbc/asynchronous_completion.h"
#include "client/tnbc/pages/page_guard.h"
#include "client/tnbc/pages/pending_ranges.h"

namespace copse::mpi {

// Memory of a call that has failed asynchronously is lost until the failure is reported to the program: it stays
// pending, although no data will arrive. The Await functions below wait until no memory but lost memory is pending, and
// return whether none of it is lost.

// SetPageGuard sets, at most once, the guard that protects memory, and ThePageGuard returns it. While it is null, no
// call completes asynchronously.
void SetPageGuard(tnbc::PageGuard* guard);
tnbc::PageGuard* ThePageGuard();
// Sets the object with which AwaitBuffers finds the buffers of a call; null: no call completes asynchronously.
void SetEarlyReturn(tnbc::AsynchronousCompletion* early_return);

// Returns whether any memory is pending. It is fast, as it is called before every MPI call with a buffer.
bool AnyPending();

// Lets MPI make progress while this thread waits for data, unless the thread may not call MPI or is within it.
void TurnWhileWaiting();

// Waits for all pending memory.
bool AwaitEverything();
// Waits for `count` elements of a type at `buffer`.
bool AwaitMessage(const void* buffer, int64_t count, MPI_Datatype type);
// Returns the memory of `count` elements of a type at `buffer`, from the lowest to the highest byte; all memory if MPI
// does not describe the type; an empty range for no elements and MPI_IN_PLACE.
tnbc::Range MemoryOf(const void* buffer, int64_t count, MPI_Datatype type);
bool AwaitRange(const tnbc::Range& memory);

// These are called within an intercepted collective, whose thread may call MPI. AwaitBuffers waits for the buffers of
// a call, or for all memory if they are not plain; AwaitEverythingInCall for all memory.
bool AwaitBuffers(const Communicator& communicator, const Offload& offload);
bool AwaitEverythingInCall();

// Calls whose buffers are lost memory fail with this text.
inline constexpr char kLostData[] =
    "the data of its buffer is lost: an asynchronous MPI call on another communicator has failed since";

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_ASYNC_PENDING_MEMORY_H_
