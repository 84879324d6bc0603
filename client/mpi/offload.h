// SPDX-License-Identifier: Apache-2.0
//
// One collective call of a program as one of a team: its buffers as bytes in order, and the wait.
#ifndef COPSE_CLIENT_MPI_OFFLOAD_H_
#define COPSE_CLIENT_MPI_OFFLOAD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/copse.h"
#include "client/mpi/element_types.h"
#include "client/mpi/mpi_api.h"
#include "client/mpi/session.h"

namespace copse::mpi {

// Blocks of a program's buffer, one a rank: counts in elements, displacements in extents.
struct MpiBlocks {
  const int* counts;
  const int* displacements;
  int count;  // of blocks
};

// An Offload gathers a call's arguments, packs what is to be sent where a type's elements do not lie in memory as they
// travel, waits, and unpacks. Data travels as bytes, so that ranks may describe it by different types; elements of
// reductions travel as they are. Calls follow args, Send* and Receive* in any order, Run. Thread-compatible.
class Offload {
 public:
  Offload(Session* session, copse_team_t* team, MPI_Comm comm) : session_(session), team_(team), comm_(comm) {}
  Offload(const Offload&) = delete;
  Offload& operator=(const Offload&) = delete;

  // What the functions below do not set: collective, root, count in bytes, of a reduction also type and operation.
  copse_coll_args_t args{};

  // `count` elements at `buffer`, one after another.
  void Send(const void* buffer, int64_t count, const Type& type);
  void Receive(void* buffer, int64_t count, const Type& type);
  void SendBlocks(const void* buffer, const MpiBlocks& blocks, const Type& type);
  void ReceiveBlocks(void* buffer, const MpiBlocks& blocks, const Type& type);
  // Both ways, of bcast.
  void Broadcast(void* buffer, int64_t count, const Type& type, bool is_root);
  // What it sends is in the receive buffer.
  void SendInPlace() { args.send = COPSE_IN_PLACE; }

  // Posts, waits and unpacks. An error of MPI_Pack's, which MPI has reported, is COPSE_ERR_INVALID_ARGUMENT.
  copse_status_t Run();
  // Why Run failed, one line.
  const std::string& error() const { return error_; }

 private:
  struct ElementRun {
    int64_t first;
    int64_t count;
  };
  // Where received bytes go once they are all there.
  struct Unpacking {
    const char* bytes;
    char* buffer;
    ElementRun run;
    Type type;
  };

  char* Allocate(uint64_t bytes);
  void Pack(const char* buffer, ElementRun run, const Type& type, char* bytes);
  copse_status_t Unpack();
  copse_status_t Post(copse_request_t* request);
  copse_status_t Await(copse_request_t* request);
  bool IsOver(double since) const;

  Session* const session_;
  copse_team_t* const team_;
  const MPI_Comm comm_;
  bool packing_failed_ = false;
  std::string error_;
  std::vector<std::unique_ptr<char[]>> staging_;
  std::vector<Unpacking> unpackings_;
  std::vector<uint64_t> send_counts_, send_displacements_, recv_counts_, recv_displacements_;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_OFFLOAD_H_
