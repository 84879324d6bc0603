// SPDX-License-Identifier: Apache-2.0
//
// Wraps C11's thrd_create(), in which libc does not call its own pthread_create().
#include <threads.h>

#include "client/preload/libc_next.h"
#include "client/preload/libc_wrapped.h"

namespace copse::preload::wrapped {

int thrd_create(thrd_t* thread, thrd_start_t run, void* argument) {
  BeforeThread();
  return Next<int(thrd_t*, thrd_start_t, void*)>(LibcCall::thrd_create)(thread, run, argument);
}

}  // namespace copse::preload::wrapped
