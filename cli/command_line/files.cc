// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line/files.h"

#include <algorithm>
#include <fstream>
#include <iostream>

namespace copse::cli {

std::optional<std::string> ReadFile(const std::string& path, size_t bytes_max, bool or_input) {
  std::ifstream file;
  const bool is_input = or_input && path == "-";
  if (!is_input) file.open(path, std::ios::binary);
  std::istream& in = is_input ? std::cin : file;
  constexpr size_t kAtOnce = 1 << 20;
  std::string text;
  while (in && text.size() <= bytes_max) {
    const size_t before = text.size(), wanted = std::min(kAtOnce, bytes_max + 1 - before);
    text.resize(before + wanted);
    in.read(text.data() + before, static_cast<std::streamsize>(wanted));
    text.resize(before + static_cast<size_t>(in.gcount()));
  }
  if (text.size() <= bytes_max && (!in.eof() || in.bad())) return std::nullopt;
  return text;
}

bool WriteFile(const std::string& path, const std::string& text) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream << text;
  stream.close();
  return stream.good();
}

}  // namespace copse::cli
