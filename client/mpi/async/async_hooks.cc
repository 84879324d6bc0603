// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/async/async_hooks.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "client/mpi/api/inside_mpi.h"
#include "client/mpi/api/mpi_api.h"
#include "client/mpi/api/output_line.h"
#include "client/mpi/async/pending_memory.h"
#include "client/tnbc/pages/free_syscall.h"
#include "client/tnbc/pages/late_failure.h"
#include "client/tnbc/pages/memory_end.h"
#include "client/tnbc/pages/page_guard.h"

namespace copse::mpi {
namespace {

preload::SetMemoryHooks the_set_memory_hooks = nullptr;
AsyncMeans the_means;
// It is null if nothing is remapped; otherwise it is never destroyed.
std::atomic<tnbc::RemappedMemory*> the_adopted{nullptr};
// Acquire: pairs with the release in GuardProcess.
tnbc::RemappedMemory* TheAdopted() { return the_adopted.load(std::memory_order_acquire); }
std::atomic<bool> the_program_has_threads{false};

// A thread that accesses lost memory calls it. It ends the job, since the call that has failed has already returned.
[[noreturn]] void OnLost(uintptr_t address) {
  PrintLine("access to the receive buffer of a failed collective (%s); the job ends (address=%p)",
            tnbc::DescribeLateFailure(),
            reinterpret_cast<void*>(address));  // NOLINT: of a fault
  Mpi().Abort(MPI_COMM_WORLD, MPI_ERR_OTHER);
  _exit(1);
}

// It is called before a thread is started. A thread that may not call MPI cannot let it make progress while it waits
// for data, and nor can a thread that waits for such a thread. So the thread that starts the first one waits here for
// all pending data.
void BeforeThread() {
  if (InsideMpi::IsNested() || CallingMpi::IsNested()) return;  // a thread of MPI or of this library
  // Relaxed: the exchange only selects the thread that waits, and publishes no data.
  if (!the_program_has_threads.exchange(true, std::memory_order_relaxed)) AwaitEverything();
}

// It runs before a fork (pthread_atfork). Without it, the child would have protected pages that nothing makes
// accessible, and would share remapped pages with its parent.
void BeforeFork() {
  AwaitEverything();
  if (tnbc::RemappedMemory* const adopted = TheAdopted(); adopted != nullptr) adopted->BeginFork();
  ThePageGuard()->BeginFork(TurnWhileWaiting);
}
void AfterForkInParent() {
  ThePageGuard()->EndFork();
  if (tnbc::RemappedMemory* const adopted = TheAdopted(); adopted != nullptr) adopted->EndFork(false);
}
void AfterForkInChild() {
  ThePageGuard()->EndFork();
  if (tnbc::RemappedMemory* const adopted = TheAdopted(); adopted != nullptr) adopted->EndFork(true);
  ThePageGuard()->OnForked();
}

// --- The preload's hooks ---

void Release(const void* address, size_t bytes, tnbc::MemoryEnd end) {
  if (tnbc::RemappedMemory* const adopted = TheAdopted()) adopted->Release(address, bytes, end);
}
void Await(const void* address, size_t bytes) { ThePageGuard()->Await(address, bytes); }
void AwaitAll() { AwaitEverything(); }
int ActOnFault(int signal, const struct sigaction* next, struct sigaction* previous) {
  return ThePageGuard()->ActOnFault(signal, next, previous);
}

// UCX, which MPICH uses, may patch munmap, mremap, madvise and shmdt in the whole process, so that the preload's
// functions are not called. UCX calls this event handler before memory is unmapped. UcmUnmapped is the beginning of its
// ucm_event_t for UCM_EVENT_VM_UNMAPPED.
struct UcmUnmapped {
  void* address;
  size_t bytes;
};
void OnUnmapped(int, const UcmUnmapped* event, void*) {
  const tnbc::RemappedMemory* const adopted = TheAdopted();
  if (adopted != nullptr && adopted->changes_pages()) return;  // this library unmaps the pages and has notified UCX
  if (AnyPending()) ThePageGuard()->Await(event->address, event->bytes);
  if (tnbc::RemappedMemory::count().load(std::memory_order_relaxed) != 0) {
    Release(event->address, event->bytes, tnbc::MemoryEnd::kMoves);
  }
}
void AskUcx() {
  void* const ucm = dlopen("libucm.so.0", RTLD_LAZY | RTLD_NOLOAD);
  if (ucm == nullptr) return;
  using SetEventHandler = int (*)(int events, int priority, void (*)(int, const UcmUnmapped*, void*), void*);
  const auto set = reinterpret_cast<SetEventHandler>(dlsym(ucm, "ucm_set_event_handler"));
  // kUnmapped is UCM_EVENT_VM_UNMAPPED, kFirst runs the handler before UCX's own. kNoInstall,
  // UCM_EVENT_FLAG_NO_INSTALL, installs no further hooks, since the preload intercepts what UCX does not.
  constexpr int kUnmapped = 1 << 17, kNoInstall = 1 << 24, kFirst = -1000;
  if (set != nullptr) set(kUnmapped | kNoInstall, kFirst, OnUnmapped, nullptr);
  // Remapping replaces pages by system calls that UCX does not intercept, so it has to be notified to drop its
  // registrations of them.
  const auto forget = reinterpret_cast<tnbc::RemappedMemory::OnExchange>(dlsym(ucm, "ucm_vm_munmap"));
  if (forget != nullptr && TheAdopted() != nullptr) TheAdopted()->SetOnExchange(forget);
}

}  // namespace

void SetPreload(preload::SetMemoryHooks set_memory_hooks) {
  the_set_memory_hooks = set_memory_hooks;
  OffSyscallGuard::guard = static_cast<const preload::SyscallGuard*>(set_memory_hooks(nullptr)(preload::kSyscallGuard));
}

AsyncMode StartPageProtection(AsyncMode wanted, Complaints* complaints) {
  const char* why = nullptr;
  tnbc::PageGuard* const guard = tnbc::PageGuard::Start({OnLost, TurnWhileWaiting}, &why);
  if (guard == nullptr) {
    complaints->push_back(std::string("no call returns early: ") + why);
    return AsyncMode::kOff;
  }
  SetPageGuard(guard);
  the_means = AsyncMeans::FromEnvironment(complaints);
  const preload::SyscallGuard* const stopped = OffSyscallGuard::guard;
  if (the_means.stops_system_calls && stopped == nullptr) {
    complaints->push_back(
        "COPSE_TNBC_SYSCALLS: as libc, since the kernel has no Syscall User Dispatch, or does not allow it");
  }
  if (stopped != nullptr) {
    tnbc::the_free_syscall = stopped->call;
    guard->SetSelector(stopped->selector);
  }
  static const preload::MemoryHooks hooks = {&guard->pending(),
                                             Await,
                                             AwaitAll,
                                             ActOnFault,
                                             &tnbc::RemappedMemory::count(),
                                             tnbc::RemappedMemory::kBytesMin,
                                             Release,
                                             BeforeThread};
  const preload::FindLibcCall find = the_set_memory_hooks(&hooks);
  // A program that makes system calls without libc (strict mode) could fork without BeforeFork, so nothing is remapped.
  the_means.remaps = the_means.remaps && find != nullptr && find(preload::kKnownHeap) != nullptr && stopped == nullptr;
  if (void* const next = find == nullptr ? nullptr : find("sigaction"); next != nullptr) {
    guard->SetSigaction(reinterpret_cast<tnbc::PageGuard::Sigaction>(next));
  }
  return wanted;
}

const AsyncMeans& TheAsyncMeans() { return the_means; }

void GuardProcess(tnbc::RemappedMemory* adopted) {
  the_adopted.store(adopted, std::memory_order_release);  // pairs with TheAdopted
  AskUcx();
  pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild);
}

void NoteThreadsBeforeInit() {
  // The links are the folder's name, its own "." and one for the folder of each thread.
  constexpr nlink_t kOfOneThread = 3;
  struct stat tasks {};
  if (stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > kOfOneThread) the_program_has_threads = true;
}

bool ProgramHasThreads() { return the_program_has_threads; }

}  // namespace copse::mpi
