// SPDX-License-Identifier: Apache-2.0

#include "client/port/nonce.h"

#include <sys/random.h>
#include <unistd.h>

#include "base/hash.h"
#include "client/port/deadline.h"

namespace copse::client {

uint64_t RandomNonce() {
  uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce)) {
    nonce =
        Mix64(static_cast<uint64_t>(Clock::now().time_since_epoch().count()) ^ static_cast<uint64_t>(getpid()) << 32);
  }
  return nonce | 1;
}

}  // namespace copse::client
