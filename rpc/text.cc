// SPDX-License-Identifier: Apache-2.0
#include "rpc/text.h"

#include <algorithm>
#include <cstdint>

namespace copse::rpc {
namespace {

// Returns the length of the well-formed character at the start of `text`, or 0 (Unicode, table 3-7).
size_t CharacterBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t bytes = first >= 0xc2 && first <= 0xdf   ? 2
                       : (first & 0xf0) == 0xe0         ? 3
                       : first >= 0xf0 && first <= 0xf4 ? 4
                                                        : 0;
  if (bytes == 0 || text.size() < bytes) return 0;
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (first == 0xe0 && byte(1) < 0xa0) return 0;  // overlong
  if (first == 0xed && byte(1) > 0x9f) return 0;  // surrogates
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) > 0x8f) return 0;  // beyond Unicode
  return bytes;
}

}  // namespace

std::string ToUtf8(std::string_view text, size_t bytes_max) {
  // Nearly all texts are names, and lists have them by the ten thousand.
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
  if (is_plain) return std::string(text.substr(0, bytes_max));
  std::string out;
  while (!text.empty()) {
    const size_t bytes = CharacterBytes(text);
    if (out.size() + (bytes == 0 ? 1 : bytes) > bytes_max) break;
    const uint8_t first = static_cast<uint8_t>(text[0]);
    if (bytes == 0) {
      out += '?';
    } else if (first < 0x20 || first == 0x7f) {
      out += ' ';
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

}  // namespace copse::rpc
