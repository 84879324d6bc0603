// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/async/async_calls.h"

#include <stdlib.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include "client/mpi/api/inside_mpi.h"
#include "client/mpi/api/output_line.h"
#include "client/mpi/api/wait_time.h"
#include "client/mpi/async/async_hooks.h"
#include "client/mpi/async/pending_memory.h"
#include "client/mpi/async/team_caller.h"
#include "client/tnbc/pages/memory_kind.h"
#include "client/tnbc/send_snapshot.h"

namespace copse::mpi {
namespace {

// Limits the copies of buffers in flight, in bytes. A call that would exceed it does not return early.
constexpr uint64_t kCopyBytesMax = uint64_t{1} << 30;

AsyncCalls* the_async_calls = nullptr;

tnbc::AsynchronousCompletion::Options Options() {
  const AsyncMeans& means = TheAsyncMeans();
  return {.copy_bytes_max = kCopyBytesMax,
          .way = means.snapshots_at_once ? tnbc::SendSnapshot::Way::kAtOnce : tnbc::SendSnapshot::Way::kInPieces,
          .remaps = means.remaps,
          .on_wait = TurnWhileWaiting};
}

bool MayDivide(const Communicator& communicator, const Offload& offload) {
  return offload.is_divisible() && tnbc::MayFragment(offload.args, static_cast<uint32_t>(communicator.size()));
}

// Returns why a call is not fragmented that MayDivide.
BlockReason WhyWhole(const Communicator& communicator, const Offload& offload, const tnbc::CallKind& kind) {
  if (tnbc::NeedsAgreement(offload.args.collective) && !kind.agreement.fragments) return BlockReason::kTooShort;
  return communicator.stream() == nullptr ? BlockReason::kMemory : BlockReason::kDoesNotPay;
}

}  // namespace

AsyncCalls* TheAsyncCalls() { return TheSession() == nullptr ? nullptr : the_async_calls; }

void StartAsyncCalls(Session* session) {
  if (session->async_mode == AsyncMode::kOff) {
    const char* folder = getenv("COPSE_TNBC_TRACE");
    if (folder != nullptr && *folder != '\0' && session->rank == 0) {
      PrintLine("COPSE_TNBC_TRACE: no call returns early, so there is nothing to record (value=%s)", folder);
    }
    return;
  }
  try {
    the_async_calls = new AsyncCalls(session, ThePageGuard());
  } catch (const std::system_error& error) {
    PrintLine("no call returns early: no thread (%s)", error.what());
    return;
  }
  GuardProcess(the_async_calls->early_return().remapped());
}

void StopAsyncCalls() {
  if (the_async_calls == nullptr) return;
  the_async_calls->Drain();
  the_async_calls->WriteTrace();
  the_async_calls->Print();
  TheSession()->statistics.SetEarly(the_async_calls->Figures());
  delete std::exchange(the_async_calls, nullptr);
}

AsyncCalls::AsyncCalls(Session* session, tnbc::PageGuard* guard)
    : session_(session), early_return_(session->context, guard, Options()) {
  copse_context_attr_t attr{};
  attr.mask = COPSE_CONTEXT_ATTR_FIELD_NODE;
  copse_context_get_attr(session->context, &attr);
  node_ = std::hash<std::string_view>()(attr.node);
  if (!session->async.trace_folder.empty()) recorder_ = new tnbc::CallRecorder(guard, session->async.launch);
  SetEarlyReturn(&early_return_);
}

AsyncCalls::~AsyncCalls() { SetEarlyReturn(nullptr); }

bool AsyncCalls::IsFragmented(Communicator* communicator, const Offload& offload, const void* site,
                              tnbc::Fragmentation* division) {
  if (!MayDivide(*communicator, offload)) {
    CountBlocked(offload.is_divisible() ? BlockReason::kTooShort : BlockReason::kCombined);
    return false;
  }
  early_return_.Reap();  // learns the costs of calls that have ended
  tnbc::TeamCalls* const calls = communicator->DividedCalls(node_);
  AgreementTeam team(session_, communicator, offload);
  tnbc::CallKind* const kind = communicator->AsyncKindOf(offload);
  const bool was_whole = kind->trial.is_whole();
  const bool divides = calls->FragmentCall(offload.args, kind, site, &team, division);
  if (!was_whole && kind->trial.is_whole()) early_return_.CountTrips(1);
  if (!divides) CountBlocked(WhyWhole(*communicator, offload, *kind));
  return divides;
}

void AsyncCalls::CountWhole(Communicator* communicator, const Offload& offload, uint64_t nanoseconds) {
  if (MayDivide(*communicator, offload)) communicator->AsyncKindOf(offload)->CountWhole(nanoseconds);
}

tnbc::RecordedCall* AsyncCalls::Record(Communicator* communicator, const Offload& offload,
                                       const tnbc::Fragmentation& division, const void* site, uint64_t number) {
  if (recorder_ == nullptr) return nullptr;
  tnbc::RecordedCall* const record = recorder_->Begin(communicator->DescribeKind(offload), site, number);
  if (record == nullptr) return nullptr;
  record->call.order = tnbc::OrderOf(division);
  record->call.parts = static_cast<uint32_t>(record->call.order.size());
  return record;
}

std::optional<BlockReason> AsyncCalls::WhyBlocks(const Communicator& communicator, const Offload& offload,
                                                 const tnbc::Fragmentation& division, const tnbc::CallSite& site,
                                                 bool waits_idly) {
  const bool is_auto = session_->async_mode == AsyncMode::kAuto;
  const uint64_t blown = site.breaker->trips();
  const bool pays = !is_auto || site.breaker->MayReturnEarly();
  early_return_.CountTrips(site.breaker->trips() - blown);
  if (!pays) return BlockReason::kDoesNotPay;
  // Devices read pending memory without waiting, and a late failure may end a job that handles errors. With auto the
  // user has not accepted these risks.
  if (is_auto && (tnbc::DevicesMayKnowPages() || !communicator.EndsOnErrors())) return BlockReason::kNotSafe;
  // Other ranks access the memory of windows without a call of this rank that could wait for pending data.
  if ((waits_idly && !division.announces) || session_->progress.has_windows()) return BlockReason::kNotSafe;
  if (!offload.has_plain_result()) return BlockReason::kMemory;
  return std::nullopt;
}

copse_status_t AsyncCalls::Run(Communicator* communicator, Offload* offload, const tnbc::Fragmentation& division,
                               const Origin& origin, std::string* error, uint64_t* waited_ns) {
  // This thread takes locks that the completion thread needs, so none of its system calls may wait for data.
  const OffSyscallGuard off(/*always=*/true);
  tnbc::CallKind* const kind = communicator->AsyncKindOf(*offload);
  {
    const std::lock_guard lock(kind->mutex);
    *waited_ns = std::exchange(kind->waited_ns, 0);
  }
  const tnbc::CallSite site = kind->At(origin.site);
  const bool is_multiple = session_->progress.thread_level() == MPI_THREAD_MULTIPLE;
  const bool waits_idly = !is_multiple && ProgramHasThreads();
  const std::optional<BlockReason> blocks = WhyBlocks(*communicator, *offload, division, site, waits_idly);
  const auto caller = std::make_shared<TeamCaller>(session_, communicator, origin.name, site);
  tnbc::RecordedCall* const record = Record(communicator, *offload, division, origin.site, kind->calls);
  const bool has_messages = is_multiple || the_program_makes_requests.load(std::memory_order_relaxed);
  const uint64_t since = NowNanoseconds();
  bool returned_early = false;
  copse_status_t status = offload->Pack();
  if (status == COPSE_OK) {
    status = early_return_.Call({.team = communicator->team(),
                                 .stream = communicator->stream(),
                                 .args = offload->args,
                                 .fragmentation = division,
                                 .may_return = !blocks.has_value(),
                                 .waits_idly = waits_idly,
                                 .has_messages = has_messages,
                                 .record = record},
                                caller, &returned_early);
    *error = caller->error();
  }
  if (status == COPSE_OK) status = offload->Unpack();
  if (returned_early) {
    site.CountEarlyReturn();
    return status;
  }
  CountBlocked(blocks.value_or(BlockReason::kMemory));
  const uint64_t taken = NowNanoseconds() - since;
  site.CountBlocking(taken);
  if (record != nullptr) record->call.inside = taken;
  return status;
}

void AsyncCalls::Print() const {
  const std::string line = early_return_.Describe();
  if (tnbc::WantsStatistics()) return PrintLine("rank %d: %s", session_->rank, line.c_str());
  if (session_->settings.stats == Settings::StatsForm::kText && session_->rank == 0) PrintLine("%s", line.c_str());
}

EarlyFigures AsyncCalls::Figures() {
  const tnbc::EarlyCounters& counters = early_return_.counters();
  const tnbc::FaultCounters& faults = early_return_.guard().counters();
  EarlyFigures figures = {.is_auto = session_->async_mode == AsyncMode::kAuto,
                          .calls = counters.early,
                          .inside_ns = counters.inside_ns,
                          .behind_ns = counters.behind_ns,
                          .waits = faults.faults,
                          .waited_ns = faults.wait_ns};
  for (size_t reason = 0; reason < blocked_.size(); ++reason) figures.blocked[reason] = blocked_[reason];
  return figures;
}

void AsyncCalls::WriteTrace() {
  if (recorder_ == nullptr) return;
  tnbc::TraceFile trace = recorder_->Finish();
  trace.rank = static_cast<uint32_t>(session_->rank);
  trace.ranks = static_cast<uint32_t>(session_->size);
  trace.pid = static_cast<uint64_t>(getpid());
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  trace.host = host;
  mpi::WriteTrace(session_->async.trace_folder, trace);
}

void AsyncCalls::Drain() {
  while (!early_return_.Drain(session_->progress.slice())) session_->progress.Turn();
  if (!early_return_.ForgetLost()) return;
  // These are failures that no later call on their communicators has reported.
  PrintLine("MPI_Finalize: an asynchronous call has failed since it returned");
  Mpi().Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
}

}  // namespace copse::mpi
