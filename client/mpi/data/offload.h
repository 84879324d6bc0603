// SPDX-License-Identifier: Apache-2.0
//
// Converts one MPI collective call to a call of a Copse team, and packs its buffers where they are not contiguous.
#ifndef COPSE_CLIENT_MPI_DATA_OFFLOAD_H_
#define COPSE_CLIENT_MPI_DATA_OFFLOAD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/copse.h"
#include "client/mpi/api/mpi_api.h"
#include "client/mpi/data/element_types.h"
#include "client/mpi/data/local_combination.h"
#include "client/mpi/data/ordered_combination.h"
#include "client/mpi/data/team_request.h"

namespace copse::mpi {

// An ElementRun is `count` elements of one datatype in the program's memory; each begins one extent after the one
// before.
struct ElementRun {
  char* address;
  int64_t count;
  Datatype type;

  uint64_t bytes() const { return static_cast<uint64_t>(count) * type.bytes; }
};

// OffloadOptions holds the settings of the process that an Offload reads.
struct OffloadOptions {
  MPI_Comm own = MPI_COMM_NULL;    // a communicator of this process alone, for packing
  uint64_t message_bytes_max = 0;  // limit of a call's longest buffer
  bool chooses_path = false;       // blocking calls may go to MPI if that is faster
};

// An Offload holds the arguments of one collective call, packs send buffers of non-contiguous datatypes into staging
// buffers, and unpacks results. Data is sent as bytes, so ranks may describe it by different datatypes; reductions by
// daemons keep their element type.
//
// Calls follow args, Send* and Receive* in any order, Init, (Pack, Post+, (Wait | Test)+, Unpack)*; Post is repeated
// while it returns COPSE_ERR_NO_RESOURCE. Any thread may call Post, Wait, Test and GiveUp, but Post, Test and GiveUp,
// which set error(), one at a time. They do not call MPI, except that Wait and Test run the operation of
// CombineLocally.
class Offload {
 public:
  // If `outlives_call`, as for nonblocking collectives, the Offload is used after the program's call has returned; Init
  // then duplicates the datatypes that Pack and Unpack need, since the program may free its own.
  Offload(const OffloadOptions& options, bool outlives_call) : options_(options), outlives_call_(outlives_call) {}
  ~Offload();
  Offload(const Offload&) = delete;
  Offload& operator=(const Offload&) = delete;

  // The caller sets collective, root and count (in bytes). For a reduction by daemons, count is in elements, and the
  // caller also sets type and operation. The functions below set the buffers and the lists of blocks.
  copse_coll_args_t args{};
  // It is the length of the call's longest buffer if all ranks know it, else 0.
  uint64_t known_bytes = 0;
  // The call is a reduction whose result depends on the order of operands, as sums of floating point do.
  bool is_order_sensitive = false;

  // Send and Receive set a buffer: `count` elements at `buffer`, through a staging buffer if the type is not plain.
  void Send(const void* buffer, int64_t count, const Datatype& type);
  void Receive(void* buffer, int64_t count, const Datatype& type);
  // SendBlocks and ReceiveBlocks set a buffer with one block for each rank, in the order of ranks; if any type is not
  // plain, all blocks go through one staging buffer.
  void SendBlocks(std::span<const ElementRun> blocks);
  void ReceiveBlocks(std::span<const ElementRun> blocks);
  // Sets the buffer of a bcast, which the root sends and the others receive.
  void Broadcast(void* buffer, int64_t count, const Datatype& type, bool is_root);
  // Declares that the data to be sent is in the receive buffer.
  void SendInPlace() { args.send = COPSE_IN_PLACE; }
  // Sets the counts of reduce_scatter's blocks, in elements of args.type: bytes if CombineLocally is used.
  void SetReceiveCounts(std::vector<uint64_t> counts);
  // Makes `op` the operation, for one that daemons do not have: elements are sent packed, and this process reduces them
  // by MPI_Reduce_local. args.type becomes bytes, so the counts must be in bytes. It is not allowed if outlives_call(),
  // since the program may free `op` before the call ends.
  void CombineLocally(MPI_Op op, const Datatype& type);

  // Turns a reduce or allreduce with short buffers of a plain type into an ordered reduction in this process: Copse or
  // MPI gathers the contributions of all ranks, and the ranks that get the result reduce them in the order of ranks.
  // `result` is null on the other ranks.
  void CombineInOrder(MPI_Op op, const Datatype& type, int64_t count, void* result, int ranks);
  bool combines_in_order() const { return in_order_.has_value(); }
  // Runs the ordered reduction by MPI_Gather or MPI_Allgather on `comm`, in place of Init to Unpack. Returns the MPI
  // error code.
  int RunInOrderByMpi(MPI_Comm comm);

  const OffloadOptions& options() const { return options_; }
  bool outlives_call() const { return outlives_call_; }
  // Returns whether the call may be fragmented: daemons alone make the result, so that a call on each fragment of the
  // buffers makes that fragment of the result. It may not if outlives_call().
  bool is_divisible() const { return combination_ == nullptr && !in_order_.has_value() && !outlives_call_; }
  // has_plain_result returns whether no data has to be unpacked; has_plain_buffers, whether the buffers in `args` are
  // the program's own and nothing is reduced in this process.
  bool has_plain_result() const { return unpackings_.empty(); }
  bool has_plain_buffers() const {
    return packings_.empty() && unpackings_.empty() && combination_ == nullptr && !in_order_.has_value();
  }

  // Makes the request of the call. Errors are those of copse_collective_init.
  copse_status_t Init(copse_team_t* team);
  // Packs the buffers to be sent. Errors: COPSE_ERR_INVALID_ARGUMENT if MPI fails.
  copse_status_t Pack();
  copse_status_t Post() { return Call().Post(); }
  copse_status_t Test() { return Call().Test(); }
  void Wait(double seconds) { Call().Wait(seconds); }
  // Cancels a posted call and records `why`. Returns COPSE_ERR_TIMED_OUT.
  copse_status_t GiveUp(const char* why);
  // Records `why` for a call that cannot begin since its data is lost. Returns COPSE_ERR_CANCELED, though no request is
  // canceled.
  copse_status_t Lose(const char* why);
  // Finishes an ordered reduction and unpacks into the program's buffers, once the call has succeeded. Errors:
  // COPSE_ERR_INVALID_ARGUMENT if MPI fails, or has failed in an operation of CombineLocally.
  copse_status_t Unpack();

  // Returns the reason of the latest failure, in one line.
  const std::string& error() const { return error_; }

 private:
  // A Copy pairs elements in the program's memory with their packed bytes in a staging buffer.
  struct Copy {
    ElementRun run;
    char* bytes;
  };
  struct BlockLists {
    std::vector<uint64_t> counts, displacements;
  };

  TeamRequest Call() { return {request_, &error_}; }
  // Allocates a staging buffer for a run that is not plain, and records the copy between them. Returns the buffer.
  char* Stage(const ElementRun& run, std::vector<Copy>* copies);
  // Appends the blocks' counts and displacements in bytes. Returns the address from which displacements count: the
  // lowest of the non-empty blocks (null if all are empty), or, if any type is not plain, that of a staging buffer in
  // which the blocks lie one after another.
  char* List(std::span<const ElementRun> blocks, BlockLists* lists, std::vector<Copy>* copies);
  void KeepTypes(std::vector<Copy>* copies);

  const OffloadOptions options_;
  const bool outlives_call_;
  copse_request_t* request_ = nullptr;
  std::string error_;
  std::vector<std::unique_ptr<char[]>> staging_;
  std::vector<Copy> packings_, unpackings_;
  std::vector<MPI_Datatype> kept_types_;
  BlockLists send_blocks_, recv_blocks_;
  std::unique_ptr<LocalCombination> combination_;
  std::optional<OrderedCombination> in_order_;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_DATA_OFFLOAD_H_
