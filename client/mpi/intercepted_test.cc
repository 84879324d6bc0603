// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/intercepted.h"

#include <cstdlib>
#include <new>

#include "client/mpi/api/mpi_process.h"
#include "gtest/gtest.h"

namespace {

thread_local bool memory_is_out = false;

}  // namespace

void* operator new(size_t bytes) {
  void* const memory = memory_is_out ? nullptr : malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { free(memory); }
void operator delete(void* memory, size_t /*bytes*/) noexcept { free(memory); }

namespace copse::mpi {
namespace {

struct BarrierCall {
  Reason Prepare(const Membership& /*membership*/, Offload* /*offload*/) const { return Reason::kNone; }
  MPI_Comm comm;
};

// A C program cannot take an exception. The first call on a communicator makes the communicator's object.
TEST(RunCallTest, ACallWithoutMemoryFails) {
  StartSession([](AsyncMode, Complaints*) { return AsyncMode::kOff; });
  StartCommunicators();
  ASSERT_NE(TheSession(), nullptr);
  int other = 0;
  TheSession()->context = reinterpret_cast<copse_context_t*>(&other);  // not used by calls that go to MPI
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int passed = 0;
  const auto run = [&] {
    return RunCall(
        kEntryBarrier, BarrierCall{comm}, {.may_wait = true}, [](InterceptedCall*) {},
        [&] {
          ++passed;
          return MPI_SUCCESS;
        });
  };
  memory_is_out = true;
  const int result = run();
  memory_is_out = false;
  EXPECT_EQ(result, MPI_ERR_NO_MEM);
  EXPECT_EQ(passed, 0);
  EXPECT_EQ(run(), MPI_SUCCESS);
  EXPECT_EQ(passed, 1);
  MPI_Comm_free(&comm);
  TheSession()->context = nullptr;
  EndSession();
}

}  // namespace
}  // namespace copse::mpi
