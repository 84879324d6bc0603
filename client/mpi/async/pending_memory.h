// SPDX-License-Identifier: Apache-2.0
//
// The program's memory whose data has yet to come, or has yet to be sent: what has to wait for it.
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

// Memory of a call that fails asynchronously is lost until the program knows of the failure: it stays pending, and no
// data comes. Functions below wait until nothing but lost memory is pending, and return whether none is lost.

// Where memory is protected; null, the default, where no call completes asynchronously. Set once.
void SetPageGuard(tnbc::PageGuard* guard);
tnbc::PageGuard* ThePageGuard();
// What knows which memory a call's arguments describe; null: no call completes asynchronously.
void SetEarlyReturn(tnbc::AsynchronousCompletion* early_return);

// Returns whether any memory is pending: the question before every call that passes a buffer on.
bool AnyPending();

// Gives MPI a turn while this thread waits for data, unless the thread may not call it or is in it already.
void TurnWhileWaiting();

// Waits for all memory.
bool AwaitEverything();
// Waits for `count` elements of a type at `buffer`.
bool AwaitMessage(const void* buffer, int64_t count, MPI_Datatype type);
// The memory that such elements are in; all memory, if MPI does not describe the type.
tnbc::Range MemoryOf(const void* buffer, int64_t count, MPI_Datatype type);
bool AwaitRange(const tnbc::Range& memory);

// The same within an intercepted collective, whose thread may call MPI: for the buffers of a call, or for all memory if
// the elements have gaps; and for all memory.
bool AwaitBuffers(const Communicator& communicator, const Offload& offload);
bool AwaitEverythingInCall();

// Why calls fail that are given lost memory, one line.
inline constexpr char kLostData[] =
    "the data of its buffer is lost: an asynchronous MPI call on another communicator has failed since";

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_ASYNC_PENDING_MEMORY_H_
