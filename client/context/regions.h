// SPDX-License-Identifier: Apache-2.0
//
// Memory that is shared with the daemon, beyond what it sent at the attach.
#ifndef COPSE_CLIENT_CONTEXT_REGIONS_H_
#define COPSE_CLIENT_CONTEXT_REGIONS_H_

#include <cstdint>
#include <string>

#include "client/context/attachment.h"
#include "client/copse.h"
#include "client/port/file_descriptor.h"

namespace copse::client {

struct Region {
  Mapping mapping;
  uint32_t id = 0;  // 0: the daemon refuses it
  std::string why;  // the daemon's reason
};

// Makes memory of `bytes`, whole pages, and registers it. Errors: NO_MEMORY; NO_DAEMON; TIMED_OUT.
copse_status_t RegisterRegion(Attachment* attachment, uint64_t bytes, Region* region);

}  // namespace copse::client

#endif  // COPSE_CLIENT_CONTEXT_REGIONS_H_
