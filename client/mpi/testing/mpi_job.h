// SPDX-License-Identifier: Apache-2.0
//
// Runs a test program as a job of an MPI, with the preload, on a stand-in for the daemon.
#ifndef COPSE_CLIENT_MPI_TESTING_MPI_JOB_H_
#define COPSE_CLIENT_MPI_TESTING_MPI_JOB_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "client/copse.h"
#include "client/mpi/api/mpi_api.h"
#include "gtest/gtest.h"

namespace copse::mpi {

// The library has the main function of the test program, whose first argument is the name of the MPI. The first process
// starts a FakeDaemon and the job. Each rank of the job then runs all tests between MPI_Init and MPI_Finalize, so a
// test is code of three ranks that call MPI, as of any program. A rank that fails makes the program fail.
inline constexpr int kJobRanks = 3;

// A Command is an order to the job's FakeDaemon.
struct Command {
  enum class Kind : uint32_t {
    kCountCalls,  // answers the number of calls that the daemon has completed
    kCountTeams,  // answers the number of memberships of teams
    kHoldCalls,   // value: whether it completes no call
    kHoldQueues,  // value: whether it takes no entry
    kFailNext,    // the next call ends with the status `value` and the text "node=n7" on all ranks
    kKill,        // the daemon dies
  };
  Kind kind;
  int32_t value;
};

// Called by all ranks with the same command: has the daemon obey, and returns its answer. The daemon obeys when all
// ranks have called, and before any of them goes on. The ranks wait without polling, and call no MPI.
uint64_t Ask(Command::Kind kind, int32_t value = 0);

// Returns the class of an error code of MPI, and the text of a code.
inline int ClassOf(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  return error_class;
}
inline std::string TextOf(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

// A JobFixture gives each test a communicator of its own.
class JobFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_rank(comm_, &rank_);
    calls_ = Ask(Command::Kind::kCountCalls);
  }
  void TearDown() override {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }

  // Called by all ranks together: returns the number of calls that the daemon has completed since this function was
  // last called, or since the test began.
  uint64_t NewCalls() {
    const uint64_t before = std::exchange(calls_, Ask(Command::Kind::kCountCalls));
    return calls_ - before;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;

 private:
  uint64_t calls_ = 0;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_TESTING_MPI_JOB_H_
