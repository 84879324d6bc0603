// SPDX-License-Identifier: Apache-2.0
//
// copsectl is the command-line client for administrators.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cli/ctl/copsectl.h"
#include "rpc/prepare_grpc.h"

namespace {

size_t TerminalWidth() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

int main(int argc, char** argv) {
  copse::rpc::PrepareGrpc();
  const auto print = [](const std::string& text) {
    return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  };
  const copse::ctl::ProgressOutput progress = {
      .write = [](const std::string& text) { std::fputs(text.c_str(), stderr); },
      .terminal = isatty(STDERR_FILENO) == 1};
  const copse::ctl::Outcome outcome =
      copse::ctl::RunCopsectl(std::vector<std::string>(argv + 1, argv + argc), TerminalWidth(), print, progress);
  std::fputs(outcome.out.c_str(), stdout);
  if (std::fflush(stdout) != 0) {
    std::fprintf(stderr, "copsectl: cannot write the answer: %s\n", std::strerror(errno));
    return 1;
  }
  std::fputs(outcome.err.c_str(), stderr);
  return outcome.exit_code;
}
