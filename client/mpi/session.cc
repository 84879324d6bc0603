// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "base/time_slice.h"
#include "client/mpi/async_calls.h"
#include "client/mpi/element_types.h"
#include "client/mpi/output_line.h"
#include "client/mpi/roll_call.h"

namespace copse::mpi {
namespace {

// Forming a team takes as long as some 60 calls by MPI, a few milliseconds. Programs that have many communicators have
// few calls of most; of MPI_COMM_WORLD there is one.
constexpr uint64_t kCallsBefore = 64;
constexpr uint64_t kCallsBeforeOfWorld = 4;
// The library copies what is sent and received through memory of which a process has 1 GiB.
constexpr uint64_t kMessageBytesMax = uint64_t{256} << 20;
// Each turn of an MPI moves a fragment or so of a long message. Where one takes longer than seconds of this, others
// have had the processor meanwhile, and want it.
constexpr int kTurnsOfProgress = 4;
constexpr double kLongTurn = 20e-6;
// Between turns a rank rests so many times as long as they take, within these seconds: a hundred ranks on a processor
// leave it half of its time, and none of few ranks rests longer than the least.
constexpr double kRestPerTurn = 200;
constexpr double kSliceMin = 1e-3;
constexpr double kSliceMax = 20e-3;
constexpr double kSliceWithWindows = 50e-6;
// What of a long turn is remembered at the next.
constexpr double kTurnDecay = 0.5;
constexpr int kReasonBytes = 512;
// What the kernel takes.
constexpr uint64_t kTimeSliceMinUs = 100;
constexpr uint64_t kTimeSliceMaxUs = 100'000;

std::atomic<Session*> the_session{nullptr};

void ForgetInChild() { the_session = nullptr; }

void Publish(Session* session) {
  pthread_atfork(nullptr, nullptr, ForgetInChild);
  the_session.store(session, std::memory_order_release);
}

// What this rank has to say of its settings, which most often are those of all ranks: one of them says it.
using Complaints = std::vector<std::string>;

void PrintAll(const Complaints& complaints) {
  for (const std::string& complaint : complaints) PrintLine("%s", complaint.c_str());
}

// COPSE_MPI_CALLS_BEFORE is for all communicators.
void SetCallsBefore(Session* session, Complaints* complaints) {
  session->calls_before = kCallsBefore;
  session->calls_before_of_world = kCallsBeforeOfWorld;
  const char* text = getenv("COPSE_MPI_CALLS_BEFORE");
  if (text == nullptr || *text == '\0') return;
  char* end = nullptr;
  const unsigned long long value = strtoull(text, &end, 10);
  if (*end != '\0' || text[0] == '-') {
    complaints->push_back(std::string("COPSE_MPI_CALLS_BEFORE: not a number of calls, so it is ignored (value=") +
                          text + ")");
    return;
  }
  session->calls_before = session->calls_before_of_world = std::min<uint64_t>(value, INT64_MAX);
  session->weighs_teams = false;
}

void SetOffload(Session* session, Complaints* complaints) {
  const char* text = getenv("COPSE_MPI_OFFLOAD");
  if (text == nullptr || *text == '\0' || strcmp(text, "faster") == 0) return;
  if (strcmp(text, "all") != 0) {
    complaints->push_back(std::string("COPSE_MPI_OFFLOAD: neither faster nor all, so it is ignored (value=") + text +
                          ")");
    return;
  }
  session->chooses_path = session->weighs_teams = false;
}

// Threads that compute while another one communicates may be stopped where the others do not expect it: that has to be
// asked for.
void SetAsyncMode(Session* session, Complaints* complaints) {
  Mpi().Query_thread(&session->thread_level);
  session->main_thread = syscall(SYS_gettid);
  AsyncMode mode = WantedAsyncMode(complaints);
  if (mode == AsyncMode::kAuto && session->thread_level > MPI_THREAD_FUNNELED) mode = AsyncMode::kOff;
  session->async_mode = static_cast<uint8_t>(mode);
  if (mode != AsyncMode::kOff) session->async = AsyncSettings::FromEnvironment(session->rank == 0);
}

// What COPSE_MPI_TIME_SLICE asks for, ns; 0: as the kernel has it.
uint64_t WantedTimeSlice(Complaints* complaints) {
  const char* text = getenv("COPSE_MPI_TIME_SLICE");
  if (text == nullptr || *text == '\0') return kShortSliceNs;
  char* end = nullptr;
  const unsigned long long value = strtoull(text, &end, 10);
  if (*end == '\0' && text[0] != '-' && (value == 0 || (value >= kTimeSliceMinUs && value <= kTimeSliceMaxUs))) {
    return value * 1000;
  }
  complaints->push_back(
      std::string("COPSE_MPI_TIME_SLICE: neither 0 nor microseconds from 100 to 100000, so it is ignored (value=") +
      text + ")");
  return kShortSliceNs;
}

// Of the thread that calls MPI_Init, and those that it starts from here on: ranks wait for each other, and beside
// others' work come to their turn sooner with short ones. Who has shorter ones keeps them.
void ShortenTimeSlice(uint64_t wanted_ns, Session* session) {
  const std::optional<uint64_t> before = TimeSlice();
  if (wanted_ns == 0 || !before.has_value() || *before <= wanted_ns || !SetTimeSlice(wanted_ns)) return;
  session->time_slice_before_ns = *before;
}

bool Flag(const char* name) {
  const char* text = getenv(name);
  return text != nullptr && *text != '\0' && strcmp(text, "0") != 0;
}

// As copse_init reads it, which has refused what is not a number.
double Timeout() {
  const char* text = getenv("COPSE_TIMEOUT");
  const double seconds = text == nullptr ? 0 : strtod(text, nullptr);
  return seconds > 0 ? seconds : -1;
}

// Rank 0 says what the first rank without a daemon was told. The others wait for nobody: where they poll, with more
// ranks than cores, each wait may take tens of milliseconds.
void WarnOfMissingDaemons(const Session& session, int first, char reason[kReasonBytes]) {
  int without = session.context == nullptr ? 1 : 0, missing = 0;
  Mpi().Reduce(&without, &missing, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  char text[kReasonBytes + 64] = "";
  if (session.rank == first) {
    char host[256] = "?";
    gethostname(host, sizeof(host) - 1);
    snprintf(text, sizeof(text), "%s: %s", host, reason);
  }
  if (first != 0 && session.rank == first) Mpi().Send(text, sizeof(text), MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  if (session.rank != 0) return;
  if (first != 0) {  // whatever the program sends comes later
    MPI_Request told = MPI_REQUEST_NULL;
    Mpi().Irecv(text, sizeof(text), MPI_CHAR, first, 0, MPI_COMM_WORLD, &told);
    Mpi().Wait(&told, MPI_STATUS_IGNORE);
  }
  PrintLine("nothing is offloaded: not all ranks have a daemon (missing=%d, ranks=%d, first=%d): %s", missing,
            session.size, first, text);
}

// All ranks take the smallest of the limits that any was given, so that they agree on calls. The first one that has
// complaints says them.
bool AgreeOnDaemons(Session* session, const Complaints& complaints, char reason[kReasonBytes]) {
  const bool attached = session->context != nullptr;
  long long mine[] = {attached ? session->size : session->rank,
                      static_cast<long long>(session->calls_before),
                      static_cast<long long>(session->calls_before_of_world),
                      static_cast<long long>(session->message_bytes_max),
                      session->weighs_teams,
                      session->chooses_path,
                      session->async_mode,
                      complaints.empty() ? session->size : session->rank,
                      0,
                      0,
                      0,
                      0,
                      0,
                      0};
  constexpr size_t kEarly = std::size(mine) - AsyncSettings::kNumbers;
  session->async.Tell(session->rank, session->size, mine + kEarly);
  long long least[std::size(mine)] = {};
  if (Mpi().Allreduce(mine, least, std::size(mine), MPI_LONG_LONG, MPI_MIN, MPI_COMM_WORLD) != MPI_SUCCESS) {
    return false;
  }
  session->calls_before = static_cast<uint64_t>(least[1]);
  session->calls_before_of_world = static_cast<uint64_t>(least[2]);
  session->message_bytes_max = static_cast<uint64_t>(least[3]);
  session->weighs_teams = least[4] != 0;
  session->chooses_path = least[5] != 0;
  session->async_mode = static_cast<uint8_t>(least[6]);
  if (least[7] == session->rank) PrintAll(complaints);
  if (session->async_mode != 0) session->async.Settle(session->rank, session->size, least + kEarly);
  if (least[0] == session->size) return true;
  WarnOfMissingDaemons(*session, static_cast<int>(least[0]), reason);
  return false;
}

}  // namespace

// Looking at a request that is not complete drives all there is, in both MPIs; a probe does not drive MPICH's sends. It
// changes nothing, so several threads may look at one request.
void Session::Progress() {
  int flag = 0;
  const double start = NowSeconds();
  double taken = 0;
  for (int turn = 0; turn < kTurnsOfProgress && taken < kLongTurn; ++turn) {
    Mpi().Request_get_status(never, &flag, MPI_STATUS_IGNORE);
    taken = NowSeconds() - start;
  }
  turn_s.store(std::max(taken, turn_s.load(std::memory_order_relaxed) * kTurnDecay), std::memory_order_relaxed);
}

double Session::slice() const {
  if (windows.load(std::memory_order_relaxed) > 0) return kSliceWithWindows;
  return std::clamp(kRestPerTurn * turn_s.load(std::memory_order_relaxed), kSliceMin, kSliceMax);
}

std::string Session::TimeIsOverText() const {
  return std::string(kTimeIsOver) + " (cause=" + copse_cause_string(COPSE_CAUSE_CALLER_TIME_OUT) +
         ", limit=" + std::to_string(std::llround(timeout_s * 1000)) +
         "); `copsectl coll list` tells which ranks are missing";
}

Session* TheSession() { return the_session.load(std::memory_order_acquire); }

void StartSession() {
  auto* session = new Session();
  Mpi().Comm_rank(MPI_COMM_WORLD, &session->rank);
  Mpi().Comm_size(MPI_COMM_WORLD, &session->size);
  Complaints complaints;
  SetCallsBefore(session, &complaints);
  SetOffload(session, &complaints);
  const uint64_t time_slice_ns = WantedTimeSlice(&complaints);
  session->keeps_times = Flag("COPSE_MPI_STATS");
  session->message_bytes_max = kMessageBytesMax;
  char reason[kReasonBytes] = "";
  const RollCall roll = CallTheRoll(session->rank, session->size);
  if (!roll.is_complete) {
    session->without_context = Reason::kNoLibrary;
    if (roll.speaks) {
      PrintAll(complaints);
      PrintLine("nothing is offloaded: not all ranks have libcopse-mpi.so (missing=%d, ranks=%d, first=%d)",
                roll.absent, session->size, roll.first_absent);
    }
    Publish(session);
    return;
  }
  // A program that runs alone, perhaps without a launcher, has nobody to talk to, and hears of no missing daemon.
  if (session->size == 1) {
    session->without_context = Reason::kOneRank;
    PrintAll(complaints);
    Publish(session);
    return;
  }
  if (copse_init(nullptr, &session->context) == COPSE_OK) {
    copse_context_attr_t attr{};
    attr.mask = COPSE_CONTEXT_ATTR_FIELD_MESSAGE_BYTES_MAX;
    if (copse_context_get_attr(session->context, &attr) == COPSE_OK) {
      session->message_bytes_max = std::min(kMessageBytesMax, attr.message_bytes_max);
    }
    session->timeout_s = Timeout();
    SetAsyncMode(session, &complaints);
  } else {
    session->context = nullptr;
    snprintf(reason, sizeof(reason), "%s", copse_last_error());
  }
  if (!AgreeOnDaemons(session, complaints, reason) && session->context != nullptr) {
    copse_fini(session->context);
    session->context = nullptr;
  }
  if (session->context == nullptr) session->without_context = Reason::kNoDaemons;
  LoadElementTypes();
  if (session->context != nullptr) {
    ShortenTimeSlice(time_slice_ns, session);
    Mpi().Comm_dup(MPI_COMM_SELF, &session->own);
    Mpi().Comm_set_errhandler(session->own, MPI_ERRORS_RETURN);
    Mpi().Irecv(nullptr, 0, MPI_BYTE, 0, 0, session->own, &session->never);
  }
  Publish(session);
}

copse_context_t* EndSession() {
  Session* session = the_session.exchange(nullptr);
  if (session == nullptr) return nullptr;
  if (session->keeps_times && session->rank == 0) session->statistics.Print(session->rank, session->size);
  if (session->context == nullptr) return nullptr;
  if (session->time_slice_before_ns != 0) SetTimeSlice(session->time_slice_before_ns);
  Mpi().Cancel(&session->never);
  Mpi().Wait(&session->never, MPI_STATUS_IGNORE);
  Mpi().Comm_free(&session->own);
  return session->context;
}

}  // namespace copse::mpi
