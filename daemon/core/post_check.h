// SPDX-License-Identifier: Apache-2.0
//
// Checks a rank's call before it gets a number.
#ifndef COPSE_DAEMON_CORE_POST_CHECK_H_
#define COPSE_DAEMON_CORE_POST_CHECK_H_

#include <cstdint>

#include "base/ids.h"
#include "daemon/core/client_interface.h"
#include "protocol/control.h"

namespace copse::daemon {

// kNone if `post` is one that rank `rank` of a team of `size` may start; else what is wrong with it, and the limit.
// A rank whose post is refused has not taken part in the call.
schedule::FailureReport CheckPost(const CallPost& post, Rank rank, uint32_t size);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_POST_CHECK_H_
