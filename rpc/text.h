// SPDX-License-Identifier: Apache-2.0
//
// Converts texts of users and peers to valid protocol buffer strings.
#ifndef COPSE_RPC_TEXT_H_
#define COPSE_RPC_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace copse::rpc {

// Returns `text` as UTF-8 without ASCII control characters, of at most `bytes_max` bytes: a byte that is not part of a
// well-formed character becomes '?', an ASCII control character a blank; the text is truncated after a whole character.
std::string ToUtf8(std::string_view text, size_t bytes_max = 4096);

}  // namespace copse::rpc

#endif  // COPSE_RPC_TEXT_H_
