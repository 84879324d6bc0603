// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/session.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "base/process/time_slice.h"
#include "client/mpi/api/output_line.h"
#include "client/mpi/api/roll_call.h"
#include "client/mpi/data/element_types.h"
#include "client/mpi/session/agreement.h"
#include "client/mpi/session/complaints.h"
#include "client/mpi/session/report.h"

namespace copse::mpi {
namespace {

constexpr int kReasonBytes = 512;

std::atomic<Session*> the_session{nullptr};

void ForgetInChild() { the_session = nullptr; }

void Publish(Session* session) {
  pthread_atfork(nullptr, nullptr, ForgetInChild);
  // Release: pairs with the acquire of TheSession, so that other threads see the fields.
  the_session.store(session, std::memory_order_release);
}

// Usually all ranks have the same complaints, so this is called on one rank.
void PrintAll(const Complaints& complaints) {
  for (const std::string& complaint : complaints) PrintLine("%s", complaint.c_str());
}

// Attaches to the daemon. Returns false and sets `reason` if that fails.
bool Attach(Session* session, char reason[kReasonBytes]) {
  if (copse_init(nullptr, &session->context) != COPSE_OK) {
    session->context = nullptr;
    snprintf(reason, kReasonBytes, "%s", copse_last_error());
    return false;
  }
  copse_context_attr_t attr{};
  attr.mask = COPSE_CONTEXT_ATTR_FIELD_MESSAGE_BYTES_MAX;
  if (copse_context_get_attr(session->context, &attr) == COPSE_OK) {
    session->settings.message_bytes_max = std::min(session->settings.message_bytes_max, attr.message_bytes_max);
  }
  return true;
}

// Sets the mode of asynchronous completion. With auto it is off if several threads may call MPI, since memory accesses
// of any thread may then have to wait, where the program does not expect it.
void SetAsyncMode(Session* session, StartAsync start_async, Complaints* complaints) {
  AsyncMode mode = AsyncModeFromEnvironment(complaints);
  if (mode != AsyncMode::kOff) mode = start_async(mode, complaints);
  int thread_level = MPI_THREAD_SINGLE;
  Mpi().Query_thread(&thread_level);
  if (mode == AsyncMode::kAuto && thread_level > MPI_THREAD_FUNNELED) mode = AsyncMode::kOff;
  session->async_mode = mode;
  if (mode != AsyncMode::kOff) session->async = AsyncSettings::FromEnvironment(session->rank == 0);
}

// Shortens the kernel's time slice of the calling thread, and of threads that it starts later, so that ranks that wait
// for each other are scheduled sooner where cores are shared. A shorter slice stays as it is.
void ShortenTimeSlice(Session* session) {
  const uint64_t wanted_ns = session->settings.time_slice_ns;
  const std::optional<uint64_t> before = TimeSlice();
  if (wanted_ns == 0 || !before.has_value() || *before <= wanted_ns || !SetTimeSlice(wanted_ns)) return;
  session->time_slice_before_ns = *before;
}

// Rank 0 prints why the first rank without a daemon has none. The other ranks do not wait for that: with more ranks
// than cores, where MPIs poll, each wait may take tens of milliseconds.
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
  if (first != 0) {  // messages of the program with this tag come later, as MPI_Init has not returned
    MPI_Request received = MPI_REQUEST_NULL;
    Mpi().Irecv(text, sizeof(text), MPI_CHAR, first, 0, MPI_COMM_WORLD, &received);
    Mpi().Wait(&received, MPI_STATUS_IGNORE);
  }
  PrintLine("nothing is offloaded: not all ranks have a daemon (missing=%d, ranks=%d, first=%d): %s", missing,
            session.size, first, text);
}

// Lets all ranks agree on the settings, and returns whether all have a daemon. Also returns false if MPI fails.
bool AgreeOnDaemons(Session* session, const Complaints& complaints, char reason[kReasonBytes]) {
  Agreement agreement(session->rank, session->size);
  agreement.AddFirstRank(session->context == nullptr);
  agreement.AddFirstRank(!complaints.empty());
  session->settings.AddTo(&agreement);
  agreement.AddLeast(static_cast<long long>(session->async_mode));
  session->async.AddTo(&agreement);
  std::vector<long long> minima(agreement.numbers().size());
  if (Mpi().Allreduce(agreement.numbers().data(), minima.data(), static_cast<int>(minima.size()), MPI_LONG_LONG,
                      MPI_MIN, MPI_COMM_WORLD) != MPI_SUCCESS) {
    return false;
  }
  agreement.Settle(minima);
  const int first_without_daemon = agreement.TakeFirstRank();
  if (agreement.TakeFirstRank() == session->rank) PrintAll(complaints);
  session->settings.Apply(&agreement);
  session->async_mode = static_cast<AsyncMode>(agreement.TakeLeast());
  if (session->async_mode != AsyncMode::kOff) session->async.Apply(session->rank, session->size, &agreement);
  if (first_without_daemon == session->size) return true;
  WarnOfMissingDaemons(*session, first_without_daemon, reason);
  return false;
}

}  // namespace

Session* TheSession() { return the_session.load(std::memory_order_acquire); }  // pairs with the release of Publish

void StartSession(StartAsync start_async) {
  auto* session = new Session();
  Mpi().Comm_rank(MPI_COMM_WORLD, &session->rank);
  Mpi().Comm_size(MPI_COMM_WORLD, &session->size);
  Complaints complaints;
  session->settings = Settings::FromEnvironment(&complaints);
  const RollCall roll = CallTheRoll(session->rank, session->size);
  if (!roll.is_complete) {
    session->without_context = Reason::kNoLibrary;
    if (roll.speaks) {
      PrintAll(complaints);
      PrintLine("nothing is offloaded: not all ranks have libcopse-mpi.so (missing=%d, ranks=%d, first=%d)",
                roll.absent, session->size, roll.first_absent);
    }
    return Publish(session);
  }
  // A program that runs alone, perhaps without a launcher, needs no daemon, so a missing one is not reported.
  if (session->size == 1) {
    session->without_context = Reason::kOneRank;
    PrintAll(complaints);
    return Publish(session);
  }
  char reason[kReasonBytes] = "";
  if (Attach(session, reason)) SetAsyncMode(session, start_async, &complaints);
  if (!AgreeOnDaemons(session, complaints, reason) && session->context != nullptr) {
    copse_fini(session->context);
    session->context = nullptr;
  }
  if (session->context == nullptr) session->without_context = Reason::kNoDaemons;
  LoadElementTypes();
  if (session->context != nullptr) {
    ShortenTimeSlice(session);
    session->progress.Start();
  }
  Publish(session);
}

copse_context_t* EndSession() {
  Session* session = the_session.exchange(nullptr, std::memory_order_acq_rel);  // pairs with Publish
  if (session == nullptr) return nullptr;
  if (session->settings.keeps_times() && session->rank == 0) {
    Report(session->statistics.Figures(session->rank, session->size), session->settings,
           session->formation_times.worth_ns());
  }
  if (session->context == nullptr) return nullptr;
  if (session->time_slice_before_ns != 0) SetTimeSlice(session->time_slice_before_ns);
  session->progress.Stop();
  return session->context;
}

}  // namespace copse::mpi
