// SPDX-License-Identifier: Apache-2.0
//
// One collective call of a program as one of a team: its buffers as bytes in order.
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
#include "client/mpi/data/team_request.h"

namespace copse::mpi {

// Elements one after another in a program's memory, at an extent's distance.
struct ElementRun {
  char* address;
  int64_t count;
  Datatype type;

  uint64_t bytes() const { return static_cast<uint64_t>(count) * type.bytes; }
};

// What a call needs to know of the process.
struct OffloadOptions {
  MPI_Comm own = MPI_COMM_NULL;  // any of this process alone, for packing
  uint64_t message_bytes_max = 0;
  bool chooses_path = false;  // blocking calls may go to MPI if that is faster
};

// An Offload gathers a call's arguments, packs what is to be sent where a type's elements do not lie in memory as they
// travel, and unpacks. Data travels as bytes, so that ranks may describe it by different types; elements of reductions
// travel as they are. Calls follow args, Send* and Receive* in any order, Init, (Pack, Post+, (Wait | Test)+, Unpack)*,
// where Post is repeated while it returns COPSE_ERR_NO_RESOURCE. Post, Wait, Test and GiveUp never call MPI, and are
// thread-safe.
class Offload {
 public:
  // `outlives_call`: the program may free its types before the end, which then are kept.
  Offload(const OffloadOptions& options, bool outlives_call) : options_(options), outlives_call_(outlives_call) {}
  ~Offload();
  Offload(const Offload&) = delete;
  Offload& operator=(const Offload&) = delete;

  // What the functions below do not set: collective, root, count in bytes, of a reduction also type and operation.
  copse_coll_args_t args{};
  // The length of the call's longest buffer, if all ranks know it; else 0.
  uint64_t known_bytes = 0;
  // The call is a reduction whose result depends on the order of operands, as sums of floating point do.
  bool is_order_sensitive = false;

  // `count` elements at `buffer`.
  void Send(const void* buffer, int64_t count, const Datatype& type);
  void Receive(void* buffer, int64_t count, const Datatype& type);
  // One block a rank.
  void SendBlocks(std::span<const ElementRun> blocks);
  void ReceiveBlocks(std::span<const ElementRun> blocks);
  // Both ways, of bcast.
  void Broadcast(void* buffer, int64_t count, const Datatype& type, bool is_root);
  // The data to be sent is in the receive buffer.
  void SendInPlace() { args.send = COPSE_IN_PLACE; }
  // The counts of reduce_scatter, in elements.
  void SetReceiveCounts(std::vector<uint64_t> counts);
  // An operation that no daemon has, on elements as they travel: counts are in bytes from here on. Not where the call
  // outlives the program's, since an operation may be freed before.
  void CombineLocally(MPI_Op op, const Datatype& type);

  // A short ordered reduction of plain elements: all contributions travel to the ranks that get the result, by Copse or
  // by MPI, and are combined there in order of ranks. `result` is null on ranks that get none.
  void CombineInOrder(MPI_Op op, const Datatype& type, int64_t count, void* result, int ranks);
  bool combines_in_order() const { return in_order_.has_value(); }
  // By MPI, instead of all below. Returns what the program's call returns.
  int RunInOrderByMpi(MPI_Comm comm);

  const OffloadOptions& options() const { return options_; }
  bool outlives_call() const { return outlives_call_; }
  // Returns whether the call may be fragmented: the team's calls alone make the result, of each fragment of the
  // elements a fragment.
  bool is_divisible() const { return combination_ == nullptr && !in_order_.has_value() && !outlives_call_; }
  // Returns whether what comes is the result as the program sees it, and whether its buffers are args'.
  bool has_plain_result() const { return unpackings_.empty(); }
  bool has_plain_buffers() const {
    return packings_.empty() && unpackings_.empty() && combination_ == nullptr && !in_order_.has_value();
  }

  copse_status_t Init(copse_team_t* team);
  copse_status_t Pack();
  copse_status_t Post() { return Call().Post(); }
  copse_status_t Test() { return Call().Test(); }
  void Wait(double seconds) { Call().Wait(seconds); }
  // Ends a call with an error that says why.
  copse_status_t GiveUp(const char* why);
  // The same for a call that cannot begin, since its data is lost.
  copse_status_t Lose(const char* why);
  // Once the call has succeeded.
  copse_status_t Unpack();

  // Why a function failed, one line.
  const std::string& error() const { return error_; }

 private:
  // Between the program's memory and what travels.
  struct Copy {
    ElementRun run;
    char* bytes;
  };
  struct BlockLists {
    std::vector<uint64_t> counts, displacements;
  };

  // Contributions as they come, one behind the other.
  struct InOrder {
    MPI_Op op;
    Datatype type;
    int count;
    char* result;
    int ranks;
    std::vector<char> contributions;
  };

  TeamRequest Call() { return {request_, &error_}; }
  int Combine();
  // Memory for what travels, of a run that is not plain.
  char* Stage(const ElementRun& run, std::vector<Copy>* copies);
  // Fills in the counts, and returns where the first block lies. Packed blocks lie one after another.
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
  std::optional<InOrder> in_order_;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_DATA_OFFLOAD_H_
