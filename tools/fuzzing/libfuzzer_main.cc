// SPDX-License-Identifier: Apache-2.0
//
// A fuzz target as libFuzzer wants it. Seeds go into the first folder on the command line, which is the corpus.
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tools/fuzzing/target.h"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i) {
    const std::string folder = (*argv)[i];
    struct stat status;
    if (folder[0] == '-' || stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) continue;
    const std::vector<std::string> seeds = copse::fuzzing::Seeds();
    for (size_t s = 0; s < seeds.size(); ++s) {
      std::ofstream(folder + "/seed-" + std::to_string(s), std::ios::binary) << seeds[s];
    }
    break;
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  copse::fuzzing::OneInput(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
