// SPDX-License-Identifier: Apache-2.0
//
// Uses Hydra's PMI version 1 on the socket that MPICH also uses. Each request and each reply is one line of words
// `key=value`. MPICH sends its own init request in MPI_Init, which Hydra accepts again. Entries are visible to all
// ranks after a PMI barrier, of which MPI_Init makes several. MPICH uses the socket only in MPI_Init, when processes
// are spawned, and in MPI_Finalize.
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "client/mpi/api/launcher_notes.h"

namespace copse::mpi {
namespace {

// A reply, which comes from a process on this host, times out after this time.
constexpr int kPatienceMs = 10'000;
constexpr size_t kAnswerBytesMax = 4096;

int the_socket = -1;    // < 0: there is none, or it has failed
std::string the_space;  // name of the key-value space

bool Write(std::string_view line) {
  while (!line.empty()) {
    const ssize_t bytes = write(the_socket, line.data(), line.size());
    if (bytes < 0 && errno != EINTR) return false;
    if (bytes > 0) line.remove_prefix(static_cast<size_t>(bytes));
  }
  return true;
}

bool ReadLine(std::string* line) {
  line->clear();
  for (char next = 0; line->size() < kAnswerBytesMax;) {
    pollfd readable = {the_socket, POLLIN, 0};
    const int ready = poll(&readable, 1, kPatienceMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t bytes = read(the_socket, &next, 1);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes != 1) return false;
    if (next == '\n') return true;
    *line += next;
  }
  return false;
}

// Returns the value of the word `key=value` in a line; empty if there is none.
std::string ValueOf(const std::string& line, const std::string& key) {
  const size_t at = (" " + line).find(" " + key + "=");
  if (at == std::string::npos) return "";
  const size_t begin = at + key.size() + 1;
  return line.substr(begin, line.find(' ', begin) - begin);
}

// Sends a request and returns the reply. Returns an empty string if the socket fails or the reply is of another kind;
// the socket is not used again then.
std::string Ask(const std::string& question, const std::string& answer_name) {
  std::string answer;
  if (the_socket >= 0 && Write(question + "\n") && ReadLine(&answer) && ValueOf(answer, "cmd") == answer_name) {
    return answer;
  }
  the_socket = -1;
  return "";
}

std::string KeyOf(int rank) { return "copse-" + std::to_string(rank); }

}  // namespace

void LauncherNotes::Leave() {
  // Other launchers may use another version of PMI, and would bind the process to the version that they receive first.
  const char* const is_hydra = getenv("HYDI_CONTROL_FD");
  const char* const number = getenv("PMI_FD");
  const char* const rank = getenv("PMI_RANK");
  if (is_hydra == nullptr || number == nullptr || rank == nullptr) return;
  the_socket = atoi(number);
  if (ValueOf(Ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init"), "rc") != "0") the_socket = -1;
  the_space = ValueOf(Ask("cmd=get_my_kvsname", "my_kvsname"), "kvsname");
  const std::string put = "cmd=put kvsname=" + the_space + " key=" + KeyOf(atoi(rank)) + " value=1";
  if (ValueOf(Ask(put, "put_result"), "rc") != "0") the_socket = -1;
}

bool LauncherNotes::AreThere() { return the_socket >= 0; }

bool LauncherNotes::IsThere(int rank) {
  return ValueOf(Ask("cmd=get kvsname=" + the_space + " key=" + KeyOf(rank), "get_result"), "rc") == "0";
}

void LauncherNotes::End() { the_socket = -1; }

}  // namespace copse::mpi
