// SPDX-License-Identifier: Apache-2.0

#include "base/testing/mutation.h"

#include <cstddef>

namespace copse {
namespace {

constexpr uint64_t kPartMax = 40;  // bytes

std::string PartOf(const std::string& text, Prng& prng) {
  return text.empty() ? "" : text.substr(prng.Below(text.size()), 1 + prng.Below(kPartMax));
}

}  // namespace

std::string Mutated(std::string text, const std::vector<std::string>& pieces, uint64_t changes, Prng& prng) {
  for (uint64_t c = 0; c < changes; ++c) {
    const size_t at = prng.Below(text.size() + 1);
    switch (prng.Below(6)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(prng.Below(256));
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << prng.Below(8)));
        break;
      case 2:
        text.erase(at, 1 + prng.Below(12));
        break;
      case 3:
        text.insert(at, PartOf(text, prng));
        break;
      case 4: {
        const std::string& piece = pieces[prng.Below(pieces.size())];
        text.insert(at, piece.size() <= kPartMax ? piece : PartOf(piece, prng));
        break;
      }
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

}  // namespace copse
