// SPDX-License-Identifier: Apache-2.0
//
// Defines the entries of libcopse-mpi-mpich.so and libcopse-mpi-openmpi.so, to which the program's MPI functions lead.
// Templates make them from the functions' types in the MPI's header.
#include "client/mpi/api/back_end.h"

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "client/context/context.h"
#include "client/copse.h"
#include "client/mpi/api/error_text.h"
#include "client/mpi/api/inside_mpi.h"
#include "client/mpi/api/launcher_notes.h"
#include "client/mpi/api/mpi_api.h"
#include "client/mpi/api/mpi_probe.h"
#include "client/mpi/api/output_line.h"
#include "client/mpi/async/allocated_memory.h"
#include "client/mpi/async/async_calls.h"
#include "client/mpi/async/async_hooks.h"
#include "client/mpi/async/pending_memory.h"
#include "client/mpi/async/persistent_messages.h"
#include "client/mpi/async/requests.h"
#include "client/mpi/completions.h"
#include "client/mpi/data/collective_calls.h"
#include "client/mpi/intercepted.h"
#include "client/mpi/session/communicator.h"
#include "client/mpi/session/session.h"
#include "client/mpi/session/statistics.h"

namespace copse::mpi {

namespace {

GiveUp give_up = nullptr;

int Started(int result) {
  if (result != MPI_SUCCESS || TheSession() != nullptr) return result;
  const InsideMpi inside;
  if (const std::string difference = DifferenceFromHeader(); !difference.empty()) {
    give_up(difference.c_str());
    return result;
  }
  StartSession(StartPageProtection);
  if (TheSession()->context == nullptr) return result;
  StartCommunicators();
  StartRequests(TheSession());
  StartAsyncCalls(TheSession());
  return result;
}

int Init(int* argc, char*** argv) {
  if (InsideMpi::IsNested()) return Mpi().Init(argc, argv);
  const InsideMpi inside;
  NoteThreadsBeforeInit();
  if (TheSession() == nullptr) LauncherNotes::Leave();
  return Started(Mpi().Init(argc, argv));
}

int Init_thread(int* argc, char*** argv, int required, int* provided) {
  if (InsideMpi::IsNested()) return Mpi().Init_thread(argc, argv, required, provided);
  const InsideMpi inside;
  NoteThreadsBeforeInit();
  if (TheSession() == nullptr) LauncherNotes::Leave();
  return Started(Mpi().Init_thread(argc, argv, required, provided));
}

int Finalize() {
  const InsideMpi inside;
  if (TheSession() != nullptr) StopAsyncCalls();
  if (TheRequests() != nullptr) TheRequests()->Stop();
  copse_context_t* const context = EndSession();
  // The daemon is notified first: a rank that wrongly makes one more call would wait for this rank, and this rank for
  // that one in MPI_Finalize.
  if (context != nullptr) context->LeaveAllTeams();
  const int result = Mpi().Finalize();
  // The context is ended last: while other ranks poll in MPI_Finalize, the daemon may answer late, and they would wait
  // for this rank.
  if (context != nullptr) {
    KeepAllocatedMemory(context);
    copse_fini(context);
  }
  return result;
}

// Returns a function's arguments as a Call, without the last `kExtra`.
template <typename Call, size_t kExtra, typename... Arguments>
Call CallOf(const Arguments&... arguments) {
  const auto all = std::tie(arguments...);
  return [&]<size_t... kIndices>(std::index_sequence<kIndices...>) { return Call{std::get<kIndices>(all)...}; }
  (std::make_index_sequence<sizeof...(arguments) - kExtra>());
}

template <typename... Arguments>
MPI_Request* RequestOf(const Arguments&... arguments) {
  return std::get<sizeof...(arguments) - 1>(std::tie(arguments...));
}

// Blocking, Nonblocking and Persistent make the entry of a collective in one mode; `kFunction` is a member of MpiApi.
template <Entry kEntry, typename Call, auto kFunction>
struct Blocking;
template <Entry kEntry, typename Call, typename... Arguments, int (*MpiApi::*kFunction)(Arguments...)>
struct Blocking<kEntry, Call, kFunction> {
  static int Run(Arguments... arguments) {
    // The preload jumps here without a call, so the return address is in the program.
    return RunBlocking(kEntry, CallOf<Call, 0>(arguments...), __builtin_return_address(0),
                       [&] { return (Mpi().*kFunction)(arguments...); });
  }
};

template <Entry kEntry, typename Call, auto kFunction>
struct Nonblocking;
template <Entry kEntry, typename Call, typename... Arguments, int (*MpiApi::*kFunction)(Arguments...)>
struct Nonblocking<kEntry, Call, kFunction> {
  static int Run(Arguments... arguments) {
    return RunNonblocking(kEntry, CallOf<Call, 1>(arguments...), RequestOf(arguments...),
                          [&] { return (Mpi().*kFunction)(arguments...); });
  }
};

// The last two arguments are the info and the request.
template <Entry kEntry, typename Call, auto kFunction>
struct Persistent;
template <Entry kEntry, typename Call, typename... Arguments, int (*MpiApi::*kFunction)(Arguments...)>
struct Persistent<kEntry, Call, kFunction> {
  static int Run(Arguments... arguments) {
    return RunPersistent(kEntry, CallOf<Call, 2>(arguments...), RequestOf(arguments...),
                         [&] { return (Mpi().*kFunction)(arguments...); });
  }
};

// These call the error handler of the object that reports lost data of a call's buffer: the argument at a place, or
// MPI_COMM_WORLD.
int CallHandler(MPI_Comm comm) { return Mpi().Comm_call_errhandler(comm, MPI_ERR_OTHER); }
struct OfWorld {
  static int Report(const auto&) { return CallHandler(MPI_COMM_WORLD); }
};
template <size_t kPlace>
struct OfComm {
  static int Report(const auto& all) { return CallHandler(std::get<kPlace>(all)); }
};
template <size_t kPlace>
struct OfWin {
  static int Report(const auto& all) { return Mpi().Win_call_errhandler(std::get<kPlace>(all), MPI_ERR_OTHER); }
};
struct OfFile {
  static int Report(const auto& all) { return Mpi().File_call_errhandler(std::get<0>(all), MPI_ERR_OTHER); }
};

// Reports that data of a call's buffer is lost. Returns the code of the program's call, if the error handler returns.
template <typename Owner>
int FailLost(Entry entry, const auto& all) {
  PrintLine("%s: %s", NameOf(entry), kLostData);
  Owner::Report(all);
  return MPI_ERR_OTHER;
}

// Counted, One and Sized describe a buffer by the places of the arguments with its address and its length. Covers
// returns whether the argument at a place is the buffer. Await waits for the buffer's pending data, and returns whether
// none of it is lost.
template <size_t kBuffer, size_t kCount = kBuffer + 1, size_t kType = kBuffer + 2>
struct Counted {
  static constexpr bool Covers(size_t place) { return place == kBuffer; }
  static bool Await(const auto& all) {
    return AwaitMessage(std::get<kBuffer>(all), std::get<kCount>(all), std::get<kType>(all));
  }
};
template <size_t kBuffer, size_t kType>
struct One {
  static constexpr bool Covers(size_t place) { return place == kBuffer; }
  static bool Await(const auto& all) { return AwaitMessage(std::get<kBuffer>(all), 1, std::get<kType>(all)); }
};
template <size_t kBuffer, size_t kBytes>
struct Sized {
  static constexpr bool Covers(size_t place) { return place == kBuffer; }
  static bool Await(const auto& all) { return AwaitMessage(std::get<kBuffer>(all), std::get<kBytes>(all), MPI_BYTE); }
};
// Anywhere stands for buffers that are not described: the call waits for all memory.
struct Anywhere {
  static constexpr bool Covers(size_t) { return true; }
  static bool Await(const auto&) { return AwaitEverything(); }
};

template <typename Argument>
constexpr bool IsMemory() {
  return std::is_same_v<Argument, void*> || std::is_same_v<Argument, const void*>;
}

// A function whose last argument is a request makes one, so its message may be in flight after it has returned.
template <typename... Arguments>
inline constexpr bool kMakesRequest =
    std::is_same_v<std::tuple_element_t<sizeof...(Arguments) - 1, std::tuple<Arguments...>>, MPI_Request*>;

// OfMessage makes the entry of a function with the given buffers, for which it waits. `Owner` reports lost data.
template <Entry kEntry, auto kFunction, typename Owner, typename... Buffers>
struct OfMessage;
template <Entry kEntry, typename... Arguments, int (*MpiApi::*kFunction)(Arguments...), typename Owner,
          typename... Buffers>
struct OfMessage<kEntry, kFunction, Owner, Buffers...> {
  static constexpr bool CoversAllMemory() {
    size_t place = 0;
    bool covers = true;
    ((covers = covers && (!IsMemory<Arguments>() || (Buffers::Covers(place) || ...)), ++place), ...);
    return covers;
  }
  static_assert(CoversAllMemory(), "a parameter `void *` that is not waited for");

  static int Run(Arguments... arguments) {
    if (AnyPending()) {
      const auto all = std::tie(arguments...);
      if (!(Buffers::Await(all) && ...)) return FailLost<Owner>(kEntry, all);
    }
    if constexpr (kMakesRequest<Arguments...>) NoteRequest();
    const CallingMpi calling;
    return (Mpi().*kFunction)(arguments...);
  }
};

// OfStarted makes the entry of a persistent message, whose communicator and request are the last arguments.
template <Entry kEntry, auto kFunction>
struct OfStarted;
template <Entry kEntry, typename... Arguments, int (*MpiApi::*kFunction)(Arguments...)>
struct OfStarted<kEntry, kFunction> {
  static int Run(Arguments... arguments) {
    const int result = OfMessage<kEntry, kFunction, OfComm<5>, Counted<0>>::Run(arguments...);
    const auto all = std::tie(arguments...);
    if (result == MPI_SUCCESS) {
      RememberMessage(*std::get<6>(all), std::get<0>(all), std::get<1>(all), std::get<2>(all), std::get<5>(all));
    }
    return result;
  }
};

// OfFileMessage makes the entry of a function of MPI_File. MPI's internal calls in it are not the program's, and may
// access any memory.
template <Entry kEntry, auto kFunction, size_t kBuffer>
struct OfFileMessage;
template <Entry kEntry, typename... Arguments, int (*MpiApi::*kFunction)(Arguments...), size_t kBuffer>
struct OfFileMessage<kEntry, kFunction, kBuffer> {
  static_assert((IsMemory<Arguments>() + ...) == 1 &&
                IsMemory<std::tuple_element_t<kBuffer, std::tuple<Arguments...>>>());
  static int Run(Arguments... arguments) {
    AwaitEverything();
    const auto all = std::tie(arguments...);
    if (!Counted<kBuffer>::Await(all)) return FailLost<OfFile>(kEntry, all);
    if constexpr (kMakesRequest<Arguments...>) NoteRequest();
    const InsideMpi inside;
    return (Mpi().*kFunction)(arguments...);
  }
};
// Shielded makes the entry of a function that waits for all memory, and whose internal MPI calls are not the program's.
template <auto kFunction>
struct Shielded;
template <typename... Arguments, int (*MpiApi::*kFunction)(Arguments...)>
struct Shielded<kFunction> {
  static int Run(Arguments... arguments) {
    AwaitEverything();
    const InsideMpi inside;
    return (Mpi().*kFunction)(arguments...);
  }
};

// PassedOn makes the entry of a function without buffers.
template <auto kFunction>
struct PassedOn;
template <typename... Arguments, int (*MpiApi::*kFunction)(Arguments...)>
struct PassedOn<kFunction> {
  static int Run(Arguments... arguments) {
    const CallingMpi calling;
    return (Mpi().*kFunction)(arguments...);
  }
};

// OfWindow makes the entry of a function that creates or frees a window, and counts windows.
template <auto kFunction, int kChange>
struct OfWindow;
template <typename... Arguments, int (*MpiApi::*kFunction)(Arguments...), int kChange>
struct OfWindow<kFunction, kChange> {
  static int Run(Arguments... arguments) {
    const int result = Shielded<kFunction>::Run(arguments...);
    if (result == MPI_SUCCESS && TheSession() != nullptr) TheSession()->progress.CountWindows(kChange);
    return result;
  }
};

template <typename Function>
AnyFunction Any(Function* function) {
  return reinterpret_cast<AnyFunction>(function);
}

}  // namespace
}  // namespace copse::mpi

extern "C" __attribute__((visibility("default"))) const char* copse_mpi_start(
    copse::mpi::FindSymbol find, copse::mpi::AnyFunction entries[copse::mpi::kEntryCount],
    copse::preload::SetMemoryHooks set_memory_hooks, copse::mpi::GiveUp give_up) {
  using namespace copse::mpi;  // NOLINT: the entries' names
  copse::mpi::give_up = give_up;
  SetPreload(set_memory_hooks);
  if (const char* missing = LoadMpiApi(find); missing != nullptr) return missing;
#define SET(name, function) entries[kEntry##name] = Mpi().name == nullptr ? nullptr : Any(function);
#define SET_PLAIN(name) SET(name, &name)
#define SET_COLLECTIVE(unused, name, iname)                            \
  SET(name, (&Blocking<kEntry##name, name##Call, &MpiApi::name>::Run)) \
  SET(iname, (&Nonblocking<kEntry##iname, name##Call, &MpiApi::iname>::Run))
#define SET_SHIELDED(name) SET(name, (&Shielded<&MpiApi::name>::Run))
  SET_PLAIN(Init)
  SET_PLAIN(Init_thread)
  SET_PLAIN(Finalize)
  SET_PLAIN(Error_string)
  SET_PLAIN(Alloc_mem)
  SET_PLAIN(Free_mem)
  COPSE_MPI_COMPLETIONS(SET_PLAIN)
  COPSE_MPI_COLLECTIVES(SET_COLLECTIVE, )
#define SET_FILE(name) SET(name, (&OfFileMessage<kEntry##name, &MpiApi::name, 1>::Run))
#define SET_FILE_AT(name) SET(name, (&OfFileMessage<kEntry##name, &MpiApi::name, 2>::Run))
#define SET_WINDOW_MAKER(name) SET(name, (&OfWindow<&MpiApi::name, 1>::Run))
#define SET_OF(name, owner, ...) SET(name, (&OfMessage<kEntry##name, &MpiApi::name, owner, __VA_ARGS__>::Run))
#define SET_MESSAGE(name) SET_OF(name, OfComm<5>, Counted<0>)
#define SET_STARTED(name) SET(name, (&OfStarted<kEntry##name, &MpiApi::name>::Run))
#define SET_REPLACED(name) SET_OF(name, OfComm<7>, Counted<0>)
#define SET_MATCHED(name) SET_OF(name, OfWorld, Counted<0>)
#define SET_PUT(name) SET_OF(name, OfWin<7>, Counted<0>)
#define SET_COMBINED(name) SET_OF(name, OfWin<8>, Counted<0>)
#define SET_MESSAGES(name) SET_OF(name, OfComm<10>, Counted<0>, Counted<5>)
#define SET_RESULTS(name) SET_OF(name, OfWin<11>, Counted<0>, Counted<3>)
#define SET_SIX(name) SET_OF(name, OfComm<6>, Anywhere)
#define SET_SEVEN(name) SET_OF(name, OfComm<7>, Anywhere)
#define SET_EIGHT(name) SET_OF(name, OfComm<8>, Anywhere)
#define SET_ATTACH(name) SET_OF(name, OfWorld, Sized<0, 1>)
#define SET_PACK(name) SET_OF(name, OfComm<6>, Counted<0>, Sized<3, 4>)
#define SET_UNPACK(name) SET_OF(name, OfComm<6>, Sized<0, 1>, Counted<3>)
#define SET_PACK_EXTERNAL(name) SET_OF(name, OfWorld, Counted<1>, Sized<4, 5>)
#define SET_UNPACK_EXTERNAL(name) SET_OF(name, OfWorld, Sized<1, 2>, Counted<4>)
#define SET_REDUCE_LOCAL(name) SET_OF(name, OfWorld, Counted<0, 2, 3>, Counted<1, 2, 3>)
#define SET_READY(name) SET_OF(name, OfWorld, Anywhere)
#define SET_PASSED(name) SET(name, (&PassedOn<&MpiApi::name>::Run))
#define SET_COUNTED(S)                                                                                              \
  COPSE_MPI_FILE_BUFFERS(SET_FILE, SET_FILE_AT, S)                                                                  \
  COPSE_MPI_ONE_BUFFER(SET_MESSAGE, SET_STARTED, SET_REPLACED, SET_MATCHED, SET_PUT, SET_COMBINED, S)               \
  COPSE_MPI_MESSAGE_BUFFERS(SET_MESSAGES, S)                                                                        \
  COPSE_MPI_RESULT_BUFFERS(SET_RESULTS, S)                                                                          \
  COPSE_MPI_PACKINGS(SET_ATTACH, SET_PACK, SET_UNPACK, SET_PACK_EXTERNAL, SET_UNPACK_EXTERNAL, SET_REDUCE_LOCAL, S) \
  COPSE_MPI_NEIGHBORHOODS(SET_SIX, SET_SEVEN, SET_EIGHT, S)                                                         \
  COPSE_MPI_WINDOW_MAKERS(SET_WINDOW_MAKER, S)
  COPSE_MPI_FILE_CALLS(SET_SHIELDED)
  SET_COUNTED()
  SET_OF(Fetch_and_op, OfWin<6>, One<0, 2>, One<1, 2>)
  SET_OF(Compare_and_swap, OfWin<6>, One<0, 3>, One<1, 3>, One<2, 3>)
  COPSE_MPI_PASSED_CALLS(SET_PASSED)
  SET_WINDOW_MAKER(Win_create_dynamic)
  SET(Win_free, (&OfWindow<&MpiApi::Win_free, -1>::Run))
#if MPI_VERSION >= 4
#define SET_PERSISTENT(unused, name, iname) \
  SET(name##_init, (&Persistent<kEntry##name##_init, name##Call, &MpiApi::name##_init>::Run))
#define SET_LARGE(unused, name, iname)                                                   \
  SET(name##_c, (&Blocking<kEntry##name##_c, name##Call, &MpiApi::name##_c>::Run))       \
  SET(iname##_c, (&Nonblocking<kEntry##iname##_c, name##Call, &MpiApi::iname##_c>::Run)) \
  SET(name##_init_c, (&Persistent<kEntry##name##_init_c, name##Call, &MpiApi::name##_init_c>::Run))
  COPSE_MPI_COLLECTIVES(SET_PERSISTENT, )
  COPSE_MPI_COLLECTIVES_WITH_COUNTS(SET_LARGE, )
  SET_COUNTED(_c)
  SET_MESSAGES(Isendrecv)
  SET_MESSAGES(Isendrecv_c)
  SET_REPLACED(Isendrecv_replace)
  SET_REPLACED(Isendrecv_replace_c)
  SET_READY(Pready)
  SET_READY(Pready_range)
  SET_READY(Pready_list)
#endif
  return nullptr;
}
