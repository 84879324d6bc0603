// SPDX-License-Identifier: Apache-2.0
//
// Texts of users and peers as protocol buffers' `string` wants them.
#ifndef COPSE_RPC_TEXT_H_
#define COPSE_RPC_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace copse::rpc {

// `text` as UTF-8 without control characters, of at most `bytes_max` bytes: a byte that is not part of a well-formed
// character becomes '?', a control character a blank; what is cut ends at a character.
std::string ToUtf8(std::string_view text, size_t bytes_max = 4096);

}  // namespace copse::rpc

#endif  // COPSE_RPC_TEXT_H_
