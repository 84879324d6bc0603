// SPDX-License-Identifier: Apache-2.0
//
// Makes the nonces that distinguish teams of one name.
#ifndef COPSE_CLIENT_PORT_NONCE_H_
#define COPSE_CLIENT_PORT_NONCE_H_

#include <cstdint>

namespace copse::client {

// Returns a random number that is not 0, which means none. Where the kernel refuses random bytes, as a filter of system
// calls may, the number is made of the time and the process.
uint64_t RandomNonce();

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_NONCE_H_
