// SPDX-License-Identifier: Apache-2.0
//
// A fuzz target as a test: its seeds, and mutations of them by a seeded generator, the same in every run. A failure
// dies in OneInput; the input is printed before.
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/prng.h"
#include "tools/fuzzing/target.h"

namespace copse::fuzzing {
namespace {

constexpr int kMutations = 5000;

std::string current;  // for the handler below

void PrintCurrent(int) {
  fprintf(stderr, "the input was:");
  for (const char c : current) fprintf(stderr, " %02x", static_cast<unsigned char>(c));
  fprintf(stderr, "\n");
  signal(SIGABRT, SIG_DFL);
}

std::string Mutated(const std::vector<std::string>& seeds, Prng& prng) {
  std::string text = seeds[prng.Below(seeds.size())];
  const uint64_t changes = 1 + prng.Below(6);
  for (uint64_t c = 0; c < changes; ++c) {
    const size_t at = prng.Below(text.size() + 1);
    switch (prng.Below(5)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(prng.Below(256));
        break;
      case 1:
        text.erase(at, 1 + prng.Below(16));
        break;
      case 2: {
        const std::string& other = seeds[prng.Below(seeds.size())];
        if (!other.empty()) text.insert(at, other.substr(prng.Below(other.size()), 1 + prng.Below(32)));
        break;
      }
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << prng.Below(8)));
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

int Main() {
  signal(SIGABRT, PrintCurrent);
  const std::vector<std::string> seeds = Seeds();
  CHECK(!seeds.empty());
  for (const std::string& seed : seeds) OneInput(current = seed);
  OneInput(current = "");
  Prng prng(20240604);
  for (int i = 0; i < kMutations; ++i) OneInput(current = Mutated(seeds, prng));
  printf("%zu seeds and %d mutations\n", seeds.size(), kMutations);
  return 0;
}

}  // namespace
}  // namespace copse::fuzzing

int main() { return copse::fuzzing::Main(); }
