// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iostream>

namespace copse {

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

bool ReplaceFile(const std::string& path, const std::string& text, mode_t mode) {
  const std::string unfinished = path + ".tmp" + std::to_string(getpid());
  unlink(unfinished.c_str());
  const int fd = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (fd < 0) return false;
  size_t written = 0;
  ssize_t bytes = 0;
  while (written < text.size() && (bytes = write(fd, text.data() + written, text.size() - written)) > 0) {
    written += static_cast<size_t>(bytes);
  }
  const bool closed = close(fd) == 0;
  if (closed && written == text.size() && rename(unfinished.c_str(), path.c_str()) == 0) return true;
  const int error = errno;
  unlink(unfinished.c_str());
  errno = error;
  return false;
}

}  // namespace copse
