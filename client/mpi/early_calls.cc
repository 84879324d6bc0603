// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/early_calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "client/mpi/driven_wait.h"
#include "client/mpi/failure_text.h"
#include "client/mpi/inside_mpi.h"
#include "client/mpi/requests.h"
#include "client/mpi/say.h"
#include "client/mpi/wait_time.h"
#include "client/tnbc/pages/free_syscall.h"
#include "client/tnbc/pages/held_signals.h"
#include "client/tnbc/pages/late_failure.h"
#include "client/tnbc/pages/memory_end.h"
#include "client/tnbc/pages/memory_kind.h"
#include "client/tnbc/pages/remapped_memory.h"
#include "client/tnbc/send_snapshot.h"
#include "client/tnbc/team_calls.h"

namespace copse::mpi {
namespace {

// Of copies of buffers under way; a call that finds no room does not return early.
constexpr uint64_t kCopyBytesMax = uint64_t{1} << 30;

// Of this process's environment.
struct EarlyMeans {
  tnbc::SendSnapshot::Way snapshot = tnbc::SendSnapshot::Way::kInPieces;
  bool adopts = false;
};
EarlyMeans the_means;

EarlyCalls* the_early_calls = nullptr;
tnbc::PageGuard* the_guard = nullptr;
// Null: nothing is; else it stays.
std::atomic<tnbc::RemappedMemory*> the_adopted{nullptr};
// Whether the program has had a thread besides the one that called MPI_Init.
std::atomic<bool> the_program_has_threads{false};

// A thread has touched what never comes: the call that failed has returned long ago, so there is nobody to be told but
// the job.
[[noreturn]] void OnLost(uintptr_t address) {
  Say("memory was touched whose data is lost, after %s (address=%p)", tnbc::DescribeLateFailure(),
      reinterpret_cast<void*>(address));  // NOLINT: of a fault
  Mpi().Abort(MPI_COMM_WORLD, MPI_ERR_OTHER);
  _exit(1);
}

void GiveTurn() {
  if (Session* const session = TheSession(); session != nullptr) Drive(session);
}

// A thread that waits for data is in an MPI call, as far as the others are concerned: they may need what it has started
// before. Not where MPI itself waits, nor in threads that may not call it.
void OnWait() {
  Session* const session = TheSession();
  if (session == nullptr) return;
  const bool may_call = session->thread_level == MPI_THREAD_MULTIPLE || syscall(SYS_gettid) == session->main_thread;
  if (!may_call || InsideMpi::IsNested() || CallingMpi::IsNested()) return;
  const InsideMpi inside;
  Drive(session);
}

// A thread that may not call MPI gives it no turns while it waits for data, nor does one that waits for such a thread.
// What has returned early before there were threads is awaited here, by a thread that does.
void BeforeThread() {
  if (InsideMpi::IsNested() || CallingMpi::IsNested()) return;  // a thread of MPI's, or ours
  if (!the_program_has_threads.exchange(true)) AwaitAllPending();
}

// Before a fork: the child would have pages that nothing opens, and share those that are adopted.
void BeforeFork() {
  AwaitAllPending();
  if (tnbc::RemappedMemory* const adopted = the_adopted.load(); adopted != nullptr) adopted->BeginFork();
  the_guard->BeginFork(OnWait);
}
void GoOnInParent() {
  the_guard->EndFork();
  if (tnbc::RemappedMemory* const adopted = the_adopted.load(); adopted != nullptr) adopted->EndFork(false);
}
void BeginChild() {
  the_guard->EndFork();
  if (tnbc::RemappedMemory* const adopted = the_adopted.load(); adopted != nullptr) adopted->EndFork(true);
  the_guard->OnForked();
}

void ReleaseMemory(const void* address, size_t bytes, tnbc::MemoryEnd end) {
  if (tnbc::RemappedMemory* const adopted = the_adopted.load()) adopted->Release(address, bytes, end);
}

// What libc's calls wait for, by the preload.
void AwaitMemory(const void* address, size_t bytes) { the_guard->Await(address, bytes); }
int ActOnFault(int signal, const struct sigaction* next, struct sigaction* previous) {
  return the_guard->ActOnFault(signal, next, previous);
}

// UCX, which MPICH brings, may put its own functions in the place of the program's munmap, mremap, madvise and shmdt
// wherever they are called from, so that the preload's are never reached. It tells who asks before memory goes.
struct UcmUnmapped {
  void* address;
  size_t bytes;
};
void OnUnmapped(int, const UcmUnmapped* event, void*) {
  const tnbc::RemappedMemory* const adopted = the_adopted.load();
  if (adopted != nullptr && adopted->changes_pages()) return;  // it is by us that UCX knows
  if (AnyPending()) the_guard->Await(event->address, event->bytes);
  if (tnbc::RemappedMemory::count().load(std::memory_order_relaxed) != 0) {
    ReleaseMemory(event->address, event->bytes, tnbc::MemoryEnd::kMoves);
  }
}
void AskUcx() {
  void* const ucm = dlopen("libucm.so.0", RTLD_LAZY | RTLD_NOLOAD);
  if (ucm == nullptr) return;
  using SetEventHandler = int (*)(int events, int priority, void (*)(int, const UcmUnmapped*, void*), void*);
  const auto set = reinterpret_cast<SetEventHandler>(dlsym(ucm, "ucm_set_event_handler"));
  // UCM_EVENT_VM_UNMAPPED, before its own caches; UCM_EVENT_FLAG_NO_INSTALL: what it does not see we do.
  constexpr int kUnmapped = 1 << 17, kNoInstall = 1 << 24, kFirst = -1000;
  if (set != nullptr) set(kUnmapped | kNoInstall, kFirst, OnUnmapped, nullptr);
  // Pages are exchanged by system calls that UCX does not see. What it has registered there it would go on using.
  const auto forget = reinterpret_cast<tnbc::RemappedMemory::OnExchange>(dlsym(ucm, "ucm_vm_munmap"));
  if (forget != nullptr && the_adopted.load() != nullptr) the_adopted.load()->SetOnExchange(forget);
}

// One call of the program's: how its parts are posted and waited for, and who is told if they fail later.
class Driven final : public tnbc::Caller {
 public:
  // `name`, `site`: of a call of the program's.
  Driven(Session* session, Communicator* communicator, const char* name = nullptr, const tnbc::CallSite& site = {})
      : communicator_(communicator), name_(name), site_(site), wait_(session) {
    communicator_->Retain();
  }
  ~Driven() override { communicator_->Release(); }

  copse_status_t Post(copse_request_t* request) override {
    Request call{request, &error_};
    return wait_.Post(communicator_->team(), &call);
  }
  copse_status_t Await(copse_request_t* request) override {
    Request call{request, &error_};
    return wait_.Await(&call);
  }
  double slice() const override { return wait_.slice(); }
  bool Turn() override {
    if (wait_.Turn()) return true;
    error_ = kTimeIsOver;
    return false;
  }

  void OnEnd(const Cost& cost) override { site_.Learn(cost); }
  void OnLate(copse_status_t status, const char* why) override {
    tnbc::NoteLateFailure(name_, why);
    communicator_->NoteLateFailure(status);
  }

  const std::string& error() const { return error_; }

 private:
  // As DrivenWait has it.
  struct Request {
    copse_status_t Post() const {
      const tnbc::HeldSignals held;
      return Note(copse_post(request));
    }
    copse_status_t Test() const {
      const tnbc::HeldSignals held;
      return Note(copse_test(request));
    }
    void Wait(double seconds) const {
      const tnbc::HeldSignals held;
      copse_wait(request, seconds);
    }
    copse_status_t GiveUp(const char* why) const {
      const tnbc::HeldSignals held;
      copse_cancel(request);
      *error = why;
      return COPSE_ERR_TIMED_OUT;
    }
    copse_status_t Note(copse_status_t status) const {
      if (status < 0) *error = LastFailureText();
      return status;
    }

    copse_request_t* const request;
    std::string* const error;
  };

  Communicator* const communicator_;
  const char* const name_;
  const tnbc::CallSite site_;
  DrivenWait wait_;
  std::string error_;
};

// Calls of our own, to find out how the program's are divided.
class OfTeam final : public tnbc::TeamCalls::Team {
 public:
  OfTeam(Session* session, Communicator* communicator, const Offload& offload)
      : session_(session), communicator_(communicator), offload_(offload) {}

  copse_status_t Make(const copse_coll_args_t& args) override {
    copse_request_t* request = nullptr;
    {
      const tnbc::HeldSignals held;
      const copse_status_t status = copse_collective_init(communicator_->team(), &args, &request);
      if (status != COPSE_OK) return status;
    }
    Driven driven(session_, communicator_);
    copse_status_t status = driven.Post(request);
    if (status == COPSE_OK) status = driven.Await(request);
    const tnbc::HeldSignals held;
    copse_finalize(request);
    return status;
  }

  bool FormStream() override { return communicator_->FormStream(session_); }

  // By their profile.
  const std::vector<uint32_t>* KnownOrder(uint32_t parts, uint64_t call) override {
    if (session_->early.order == EarlyOrder::kOff || !session_->early.profile.has_value()) return nullptr;
    const tnbc::TraceKind kind = communicator_->DescribeKind(offload_);
    return session_->early.profile->Find({kind.communicator, kind.collective, kind.length, parts}, call);
  }
  bool may_wait_idly() const override {
    const int level = session_->thread_level;
    return level != MPI_THREAD_MULTIPLE && (level != MPI_THREAD_SINGLE || the_program_has_threads);
  }
  bool learns() const override { return session_->early.order != EarlyOrder::kOff; }
  // Who knows what he wants, or wants to know it, is not left to judge.
  bool tries() const override {
    return static_cast<EarlyMode>(session_->early_mode) == EarlyMode::kAuto && !session_->early.profile.has_value() &&
           session_->early.trace_folder.empty();
  }

 private:
  Session* const session_;
  Communicator* const communicator_;
  const Offload& offload_;
};

// Whether a variable is not what it is by default, but the other.
bool IsOther(const char* name, const char* usual, const char* other, std::vector<std::string>* complaints) {
  const char* text = getenv(name);
  if (text == nullptr || *text == '\0' || strcmp(text, usual) == 0) return false;
  if (strcmp(text, other) == 0) return true;
  complaints->push_back(std::string(name) + ": neither " + usual + " nor " + other +
                        ", so it is ignored (value=" + text + ")");
  return false;
}

// COPSE_TNBC_SYSCALLS, which the preload has obeyed, as far as it could.
void ComplainOfSyscalls(std::vector<std::string>* complaints) {
  if (IsOther("COPSE_TNBC_SYSCALLS", "libc", "strict", complaints) && OffSyscallGuard::guard == nullptr) {
    complaints->push_back(
        "COPSE_TNBC_SYSCALLS: as libc, since the kernel has no Syscall User Dispatch, or does not allow it");
  }
}

}  // namespace

EarlyMode WantedEarlyMode(std::vector<std::string>* complaints) {
  const char* text = getenv("COPSE_TNBC");
  if (text == nullptr || *text == '\0' || strcmp(text, "off") == 0) return EarlyMode::kOff;
  const bool is_auto = strcmp(text, "auto") == 0;
  if (!is_auto && strcmp(text, "on") != 0) {
    complaints->push_back(std::string("COPSE_TNBC: none of off, auto and on, so it is ignored (value=") + text + ")");
    return EarlyMode::kOff;
  }
  const char* why = nullptr;
  the_guard = tnbc::PageGuard::Start({OnLost, OnWait}, &why);
  if (the_guard == nullptr) {
    complaints->push_back(std::string("no call returns early: ") + why);
    return EarlyMode::kOff;
  }
  ComplainOfSyscalls(complaints);
  if (const SyscallGuard* const stopped = OffSyscallGuard::guard; stopped != nullptr) {
    tnbc::the_free_syscall = stopped->call;
    the_guard->SetSelector(stopped->selector);
  }
  if (IsOther("COPSE_TNBC_SNAPSHOT", "write", "copy", complaints)) {
    the_means.snapshot = tnbc::SendSnapshot::Way::kAtOnce;
  }
  const bool adopts = !IsOther("COPSE_TNBC_ADOPT", "on", "off", complaints);
  static const MemoryHooks hooks = {
      &the_guard->pending(),           AwaitMemory,   AwaitAllPending, ActOnFault, &tnbc::RemappedMemory::count(),
      tnbc::RemappedMemory::kBytesMin, ReleaseMemory, BeforeThread};
  if (const FindLibcCall find = the_set_memory_hooks(&hooks); find != nullptr) {
    // Where the program makes system calls past libc, there is nobody to be told of a fork.
    the_means.adopts = adopts && find(kKnownHeap) != nullptr && OffSyscallGuard::guard == nullptr;
    if (void* const next = find("sigaction"); next != nullptr) {
      the_guard->SetSigaction(reinterpret_cast<tnbc::PageGuard::Sigaction>(next));
    }
  }
  return is_auto ? EarlyMode::kAuto : EarlyMode::kOn;
}

void NoteThreadsBeforeInit() {
  // One link is the folder's name, one its own ".", and each thread's folder has one.
  constexpr nlink_t kOfOneThread = 3;
  struct stat tasks {};
  if (stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > kOfOneThread) the_program_has_threads = true;
}

EarlyCalls* TheEarlyCalls() { return TheSession() == nullptr ? nullptr : the_early_calls; }

void StartEarlyCalls(Session* session) {
  if (static_cast<EarlyMode>(session->early_mode) == EarlyMode::kOff) {
    const char* folder = getenv("COPSE_TNBC_TRACE");
    if (folder != nullptr && *folder != '\0' && session->rank == 0) {
      Say("COPSE_TNBC_TRACE: no call returns early, so there is nothing to record (value=%s)", folder);
    }
    return;
  }
  try {
    the_early_calls = new EarlyCalls(session, the_guard);
    the_adopted = the_early_calls->early_return().remapped();
    AskUcx();
  } catch (const std::system_error& error) {
    Say("no call returns early: no thread (%s)", error.what());
    return;
  }
  pthread_atfork(BeforeFork, GoOnInParent, BeginChild);
}

void StopEarlyCalls() {
  if (the_early_calls == nullptr) return;
  the_early_calls->Drain();
  the_early_calls->WriteTrace();
  the_early_calls->Print();
  delete std::exchange(the_early_calls, nullptr);
}

bool AnyPending() { return the_guard != nullptr && the_guard->pending().load(std::memory_order_relaxed) != 0; }

bool AwaitEverything() { return !AnyPending() || the_guard->AwaitAll(OnWait); }
void AwaitAllPending() { AwaitEverything(); }

tnbc::Range MemoryOf(const void* buffer, int64_t count, MPI_Datatype type) {
  if (count <= 0 || type == MPI_DATATYPE_NULL || buffer == MPI_IN_PLACE) return {};
  MPI_Aint low = 0, extent = 0, true_low = 0, true_extent = 0;
  const bool known = Mpi().Type_get_extent(type, &low, &extent) == MPI_SUCCESS &&
                     Mpi().Type_get_true_extent(type, &true_low, &true_extent) == MPI_SUCCESS;
  // Elements may lie backwards.
  const MPI_Aint last = static_cast<MPI_Aint>(count - 1) * extent;
  const MPI_Aint begin = std::min<MPI_Aint>(last, 0) + true_low,
                 end = std::max<MPI_Aint>(last, 0) + true_low + true_extent;
  if (!known) return {0, UINTPTR_MAX};
  if (end <= begin) return {};
  const uintptr_t address = reinterpret_cast<uintptr_t>(buffer) + static_cast<uintptr_t>(begin);
  return {address, address + static_cast<uintptr_t>(end - begin)};
}

bool AwaitRange(const tnbc::Range& memory) {
  if (!AnyPending() || memory.bytes() == 0) return true;
  return the_guard->Await(reinterpret_cast<const void*>(memory.begin), memory.bytes(), OnWait);  // NOLINT: MPI's
}

bool AwaitMessage(const void* buffer, int64_t count, MPI_Datatype type) {
  return !AnyPending() || AwaitRange(MemoryOf(buffer, count, type));
}

EarlyCalls::EarlyCalls(Session* session, tnbc::PageGuard* guard)
    : session_(session),
      guard_(guard),
      early_return_(
          session->context, guard,
          {.copy_bytes_max = kCopyBytesMax, .way = the_means.snapshot, .remaps = the_means.adopts, .on_wait = OnWait}) {
  copse_context_attr_t attr{};
  attr.mask = COPSE_CONTEXT_ATTR_FIELD_NODE;
  copse_context_get_attr(session->context, &attr);
  node_ = std::hash<std::string_view>()(attr.node);
  if (!session->early.trace_folder.empty()) recorder_ = new tnbc::CallRecorder(guard, session->early.launch);
}

bool EarlyCalls::Divides(Communicator* communicator, const Offload& offload, const void* site,
                         tnbc::Fragmentation* division) {
  const auto size = static_cast<uint32_t>(communicator->size());
  if (!offload.is_divisible() || !tnbc::MayFragment(offload.args, size)) return false;
  early_return_.Reap();  // what the last call has taught
  tnbc::TeamCalls* const calls = communicator->DividedCalls(node_);
  OfTeam team(session_, communicator, offload);
  tnbc::CallKind* const kind = communicator->EarlyKindOf(offload);
  const bool was_whole = kind->trial.is_whole();
  const bool divides = calls->FragmentCall(offload.args, kind, site, &team, division);
  if (!was_whole && kind->trial.is_whole()) early_return_.CountTrips(1);
  return divides;
}

void EarlyCalls::CountWhole(Communicator* communicator, const Offload& offload, uint64_t nanoseconds) {
  if (!offload.is_divisible() || !tnbc::MayFragment(offload.args, static_cast<uint32_t>(communicator->size()))) return;
  communicator->EarlyKindOf(offload)->CountWhole(nanoseconds);
}

tnbc::RecordedCall* EarlyCalls::Record(Communicator* communicator, const Offload& offload,
                                       const tnbc::Fragmentation& division, const void* site, uint64_t number) {
  if (recorder_ == nullptr) return nullptr;
  tnbc::RecordedCall* const record = recorder_->Begin(communicator->DescribeKind(offload), site, number);
  if (record == nullptr) return nullptr;
  record->call.order = tnbc::OrderOf(division);
  record->call.parts = static_cast<uint32_t>(record->call.order.size());
  return record;
}

copse_status_t EarlyCalls::Run(Communicator* communicator, Offload* offload, const tnbc::Fragmentation& division,
                               const Origin& origin, std::string* error, uint64_t* waited_ns) {
  // With locks that the lander needs, too, no call is to wait for it.
  const OffSyscallGuard off(/*always=*/true);
  tnbc::CallKind* const kind = communicator->EarlyKindOf(*offload);
  {
    const std::lock_guard lock(kind->mutex);
    *waited_ns = std::exchange(kind->waited_ns, 0);
  }
  const tnbc::CallSite site = kind->At(origin.site);
  const uint64_t blown = site.breaker->trips();
  const bool is_auto = static_cast<EarlyMode>(session_->early_mode) == EarlyMode::kAuto;
  const bool pays = !is_auto || site.breaker->MayReturnEarly();
  early_return_.CountTrips(site.breaker->trips() - blown);
  // Remote accesses to a window's memory are announced to nobody.
  const bool waits_idly = session_->thread_level != MPI_THREAD_MULTIPLE && the_program_has_threads;
  // Nobody has asked for old bytes in what a device reads, nor for the end of a job that handles errors.
  const bool is_risky = is_auto && pays && (tnbc::DevicesMayKnowPages() || !communicator->EndsOnErrors());
  const bool may_return = pays && !is_risky && (!waits_idly || division.announces) && offload->has_plain_result() &&
                          session_->windows.load(std::memory_order_relaxed) == 0;
  const auto caller = std::make_shared<Driven>(session_, communicator, origin.name, site);
  tnbc::RecordedCall* const record = Record(communicator, *offload, division, origin.site, kind->calls);
  const uint64_t since = NowNanoseconds();
  bool returned_early = false;
  copse_status_t status = offload->Pack();
  if (status == COPSE_OK) {
    status = early_return_.Call({.team = communicator->team(),
                                 .stream = communicator->stream(),
                                 .args = offload->args,
                                 .fragmentation = division,
                                 .may_return = may_return,
                                 .waits_idly = waits_idly,
                                 .has_messages = session_->thread_level == MPI_THREAD_MULTIPLE ||
                                                 the_program_makes_requests.load(std::memory_order_relaxed),
                                 .record = record},
                                caller, &returned_early);
    *error = caller->error();
  }
  if (status == COPSE_OK) status = offload->Unpack();
  if (returned_early) site.CountEarlyReturn();
  if (!returned_early) {
    const uint64_t taken = NowNanoseconds() - since;
    site.CountBlocking(taken);
    if (record != nullptr) record->call.inside = taken;
  }
  return status;
}

bool EarlyCalls::AwaitBuffers(const Communicator& communicator, const Offload& offload) {
  if (!AnyPending()) return true;
  const auto rank = static_cast<uint32_t>(communicator.rank()), size = static_cast<uint32_t>(communicator.size());
  bool is_there = false;
  const bool known =
      offload.has_plain_buffers() && early_return_.AwaitBuffers(offload.args, rank, size, GiveTurn, &is_there);
  return known ? is_there : AwaitAll();
}

bool EarlyCalls::AwaitAll() { return guard_->AwaitAll(GiveTurn); }

void EarlyCalls::Print() const {
  const std::string line = early_return_.Describe();
  if (tnbc::WantsStatistics()) return Say("rank %d: %s", session_->rank, line.c_str());
  if (session_->keeps_times && session_->rank == 0) Say("%s", line.c_str());
}

void EarlyCalls::WriteTrace() {
  if (recorder_ == nullptr) return;
  tnbc::TraceFile trace = recorder_->Finish();
  trace.rank = static_cast<uint32_t>(session_->rank);
  trace.ranks = static_cast<uint32_t>(session_->size);
  trace.pid = static_cast<uint64_t>(getpid());
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  trace.host = host;
  mpi::WriteTrace(session_->early.trace_folder, trace);
}

void EarlyCalls::Drain() {
  while (!early_return_.Drain(session_->slice())) Drive(session_);
  if (!early_return_.ForgetLost()) return;
  // Of calls that nobody has been told of: there was no other on their communicators.
  Say("MPI_Finalize: a call that had returned early has failed since");
  Mpi().Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
}

}  // namespace copse::mpi
