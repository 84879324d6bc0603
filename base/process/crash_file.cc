// SPDX-License-Identifier: Apache-2.0
#include "base/process/crash_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <iterator>

#include "base/check.h"

namespace copse {
namespace {

constexpr int kSignals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};

// What the handler needs. It is complete before a handler is installed, and never changes.
struct Crash {
  std::string path;
  WriteCrash write = nullptr;
  const void* context = nullptr;
  std::array<struct sigaction, std::size(kSignals)> earlier;
};
Crash* crash = nullptr;
std::atomic<bool> is_written = false;

void WriteOnce(int number) {
  if (is_written.exchange(true, std::memory_order_relaxed)) return;
  unlink(crash->path.c_str());
  const int fd = open(crash->path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  CrashWriter writer(fd);
  crash->write(writer, number, crash->context);
  close(fd);
  CrashWriter log(STDERR_FILENO);
  log.Text("this process dies of signal ");
  log.Number(static_cast<uint64_t>(number));
  log.Text("; what it did last is in ");
  log.Text(crash->path.c_str());
  log.Text("\n");
}

void OnSignal(int number, siginfo_t* info, void*) {
  const int error = errno;
  WriteOnce(number);
  const auto place = static_cast<size_t>(std::find(std::begin(kSignals), std::end(kSignals), number) - kSignals);
  sigaction(number, &crash->earlier[place], nullptr);
  // A faulting access is repeated when this returns; a signal that was sent has to be sent again.
  if (info->si_code <= 0) raise(number);
  errno = error;
}

}  // namespace

void CrashWriter::Bytes(const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(fd_, next, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    next += written;
    bytes -= static_cast<size_t>(written);
  }
}

void CrashWriter::Text(const char* text) { Bytes(text, std::strlen(text)); }

void CrashWriter::Number(uint64_t number) {
  char digits[20];
  char* first = std::end(digits);
  do {
    *--first = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  Bytes(first, static_cast<size_t>(std::end(digits) - first));
}

void WriteFileOnCrash(const std::string& path, WriteCrash write, const void* context) {
  CHECK(crash == nullptr);
  crash = new Crash{path, write, context, {}};
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    struct sigaction action = {};
    action.sa_sigaction = OnSignal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    // The earlier action is read after a signal only.
    CHECK(sigaction(kSignals[i], &action, &crash->earlier[i]) == 0);
  }
}

}  // namespace copse
