// SPDX-License-Identifier: Apache-2.0
//
// A fuzz target as a test: its seeds, and mutations of them by a seeded generator, the same in every run. A failure
// dies in OneInput; the input is printed before.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/prng.h"
#include "base/testing/mutation.h"
#include "tools/fuzzing/target.h"

namespace copse::fuzzing {
namespace {

std::string current;  // for the handler below

void PrintCurrent(int) {
  fprintf(stderr, "the input was:");
  for (const char c : current) fprintf(stderr, " %02x", static_cast<unsigned char>(c));
  fprintf(stderr, "\n");
  signal(SIGABRT, SIG_DFL);
}

int Main(int mutations) {
  signal(SIGABRT, PrintCurrent);
  const std::vector<std::string> seeds = Seeds();
  CHECK(!seeds.empty());
  for (const std::string& seed : seeds) OneInput(current = seed);
  OneInput(current = "");
  Prng prng(20240604);
  for (int i = 0; i < mutations; ++i) {
    const std::string& seed = seeds[prng.Below(seeds.size())];
    OneInput(current = Mutated(seed, seeds, 1 + prng.Below(6), prng));
  }
  printf("%zu seeds and %d mutations\n", seeds.size(), mutations);
  return 0;
}

}  // namespace
}  // namespace copse::fuzzing

int main(int argc, char** argv) {
  CHECK_EQ(argc, 2);
  return copse::fuzzing::Main(std::atoi(argv[1]));
}
