// SPDX-License-Identifier: Apache-2.0
//
// Holds the memory that is shared with the daemon, beyond what it sent at the attach.
#ifndef COPSE_CLIENT_CONTEXT_REGIONS_H_
#define COPSE_CLIENT_CONTEXT_REGIONS_H_

#include <cstdint>
#include <string>

#include "client/context/attachment.h"
#include "client/copse.h"
#include "client/port/file_descriptor.h"

namespace copse::client {

// A Region is shared memory that the daemon was asked to register.
struct Region {
  Mapping mapping;
  uint32_t id = 0;  // 0: the daemon has refused to register the memory
  std::string why;  // the daemon's reason
};

// Allocates shared memory of `bytes` bytes, a multiple of the page size, and registers it with the daemon. A refusal is
// no error: id is 0 then. Errors: NO_MEMORY; NO_DAEMON; TIMED_OUT after 10 s. Thread-safe; called without the
// context's lock, as it waits for the daemon.
copse_status_t RegisterRegion(Attachment* attachment, uint64_t bytes, Region* region);

}  // namespace copse::client

#endif  // COPSE_CLIENT_CONTEXT_REGIONS_H_
