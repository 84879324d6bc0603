// SPDX-License-Identifier: Apache-2.0

#include "client/testing/every_collective.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/hash.h"
#include "base/prng.h"
#include "collectives/collective.h"

namespace copse::client {
namespace {

constexpr uint8_t kUntouched = 0x5a;

using Kind = BufferKind;

// One call, as all ranks derive it from the seed.
struct Case {
  copse_collective_t collective = COPSE_COLL_BARRIER;
  copse_datatype_t type = COPSE_DT_INT32;
  copse_op_t op = COPSE_OP_SUM;
  uint32_t size = 0;
  uint32_t root = 0;
  uint64_t seed = 0;  // of values
  uint64_t count = 0;
  std::vector<uint64_t> counts;  // irregular: by rank; alltoallv: by sender times size plus receiver
  bool in_place = false;
  bool counts_known = false;
  bool reproducible = false;  // reductions: fractions, too, whose sums have the bits of a loop over the ranks
  bool is_blocking = false;

  Collective which() const { return static_cast<Collective>(collective); }
  bool is_rooted() const { return HasRoot(which()); }
  bool is_irregular() const { return IsIrregular(which()); }
  bool gathers() const {
    return PlanCollective(which()) == Collective::kGather || PlanCollective(which()) == Collective::kAllgather;
  }
  bool is_scatter() const { return PlanCollective(which()) == Collective::kScatter; }
  bool is_alltoall() const { return PlanCollective(which()) == Collective::kAlltoall; }
  bool is_reduce_scatter() const { return PlanCollective(which()) == Collective::kReduceScatter; }
  bool reduces() const { return Reduces(which()); }
  BufferKind sends(uint32_t rank) const { return SendBuffer(which(), rank, root); }
  BufferKind receives(uint32_t rank) const { return ReceiveBuffer(which(), rank, root); }
  // Elements of what `from` sends to `to`.
  uint64_t Length(uint32_t from, uint32_t to) const {
    if (!is_irregular()) return count;
    if (collective == COPSE_COLL_ALLTOALLV) return counts[from * size + to];
    return counts[is_scatter() || is_reduce_scatter() ? to : from];
  }
};

// How blocks lie in a buffer; in elements.
struct Layout {
  std::vector<uint64_t> counts;
  std::vector<uint64_t> begins;
  bool has_displacements = false;
  uint64_t span = 0;
};

Layout MakeLayout(std::vector<uint64_t> counts, bool may_scatter, Prng* prng) {
  Layout layout;
  layout.counts = std::move(counts);
  const size_t size = layout.counts.size();
  layout.begins.resize(size);
  layout.has_displacements = may_scatter && prng->Chance(0.6);
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  if (layout.has_displacements && prng->Chance(0.5)) std::reverse(order.begin(), order.end());
  for (const size_t rank : order) {
    if (layout.has_displacements) layout.span += prng->Below(5);
    layout.begins[rank] = layout.span;
    layout.span += layout.counts[rank];
  }
  return layout;
}

// Ordinary memory, or the daemon's.
class Memory {
 public:
  Memory(copse_context_t* context, uint64_t bytes, bool is_shared) : context_(context), bytes_(bytes) {
    if (is_shared && bytes > 0 && copse_alloc(context, bytes, &shared_) == COPSE_OK) {
      memset(shared_, kUntouched, bytes);
    } else {
      own_.assign(bytes + 1, kUntouched);
    }
  }
  ~Memory() {
    if (shared_ != nullptr) copse_free(context_, shared_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  uint8_t* data() { return shared_ != nullptr ? static_cast<uint8_t*>(shared_) : own_.data(); }
  std::vector<uint8_t> Copy() { return std::vector<uint8_t>(data(), data() + bytes_); }

 private:
  copse_context_t* const context_;
  const uint64_t bytes_;
  void* shared_ = nullptr;
  std::vector<uint8_t> own_;
};

template <typename T>
class Call {
 public:
  Call(const Case& c, uint32_t rank, copse_context_t* context, copse_team_t* team)
      : case_(c), rank_(rank), context_(context), team_(team) {}

  std::string Run(Prng* prng);

 private:
  // Small whole numbers: sums are exact whatever the order, products too. But where that need not be.
  T Value(uint32_t from, uint32_t to, uint64_t i) const {
    const uint32_t target = case_.sends(from) == Kind::kBlocks ? to + 1 : 0;
    const uint64_t hash = Mix64(case_.seed ^ Mix64(uint64_t{from} << 32 | target) ^ i * 0x9e3779b97f4a7c15);
    if (std::is_floating_point_v<T> && case_.reproducible) {
      return static_cast<T>(0.5 + static_cast<double>(hash >> 11) * 0x1p-53);
    }
    return static_cast<T>(hash % (case_.op == COPSE_OP_PROD ? 2 : 40));
  }
  std::vector<T> Part(uint32_t from, uint32_t to) const {
    std::vector<T> part(case_.Length(from, to));
    for (uint64_t i = 0; i < part.size(); ++i) part[i] = Value(from, to, i);
    return part;
  }
  static T Combine(copse_op_t op, T a, T b) {
    if (op == COPSE_OP_MAX) return std::max(a, b);
    return static_cast<T>(op == COPSE_OP_PROD ? a * b : a + b);
  }
  // What this rank receives as its one block.
  std::vector<T> One() const {
    if (!case_.reduces()) return Part(SourceOf(case_.which(), 0, rank_, case_.size, case_.root), rank_);
    const uint32_t end = OperandCount(case_.which(), rank_, case_.size);
    std::vector<T> result = Part(0, rank_);
    for (uint32_t from = 1; from < end; ++from) {
      const std::vector<T> operand = Part(from, rank_);
      for (size_t i = 0; i < result.size(); ++i) result[i] = Combine(case_.op, result[i], operand[i]);
    }
    return result;
  }
  static void Put(const std::vector<T>& part, uint64_t begin, uint8_t* buffer) {
    if (!part.empty()) memcpy(buffer + begin * sizeof(T), part.data(), part.size() * sizeof(T));
  }
  // Writes what this rank sends.
  void PutSend(const Layout& layout, uint8_t* buffer) const {
    for (uint32_t to = 0; to < layout.counts.size(); ++to) Put(Part(rank_, to), layout.begins[to], buffer);
  }
  Layout LayoutOf(bool sends, Prng* prng) const;
  std::optional<copse_status_t> MakeBlocking(const copse_coll_args_t& args) const;
  copse_status_t Make(const copse_coll_args_t& args) const;

  const Case& case_;
  const uint32_t rank_;
  copse_context_t* const context_;
  copse_team_t* const team_;
};

template <typename T>
Layout Call<T>::LayoutOf(bool sends, Prng* prng) const {
  const Kind kind = sends ? case_.sends(rank_) : case_.receives(rank_);
  std::vector<uint64_t> counts;
  if (kind == Kind::kOne) counts.push_back(sends ? case_.Length(rank_, 0) : case_.Length(case_.root, rank_));
  for (uint32_t other = 0; kind == Kind::kBlocks && other < case_.size; ++other) {
    counts.push_back(sends ? case_.Length(rank_, other) : case_.Length(other, rank_));
  }
  const bool is_slices = case_.is_reduce_scatter();
  return MakeLayout(std::move(counts), kind == Kind::kBlocks && case_.is_irregular() && !is_slices, prng);
}

// Makes the call by the collective's own function, if it has one.
template <typename T>
std::optional<copse_status_t> Call<T>::MakeBlocking(const copse_coll_args_t& a) const {
  switch (a.collective) {
    case COPSE_COLL_BARRIER:
      return copse_barrier(team_);
    case COPSE_COLL_BCAST:
      return copse_bcast(team_, a.recv, a.count, a.type, a.root);
    case COPSE_COLL_REDUCE:
      return copse_reduce(team_, a.send, a.recv, a.count, a.type, a.op, a.root);
    case COPSE_COLL_ALLREDUCE:
      return copse_allreduce(team_, a.send, a.recv, a.count, a.type, a.op);
    case COPSE_COLL_GATHER:
      return copse_gather(team_, a.send, a.recv, a.count, a.type, a.root);
    case COPSE_COLL_SCATTER:
      return copse_scatter(team_, a.send, a.recv, a.count, a.type, a.root);
    case COPSE_COLL_ALLGATHER:
      return copse_allgather(team_, a.send, a.recv, a.count, a.type);
    case COPSE_COLL_ALLTOALL:
      return copse_alltoall(team_, a.send, a.recv, a.count, a.type);
    case COPSE_COLL_REDUCE_SCATTER:
      return copse_reduce_scatter_block(team_, a.send, a.recv, a.count, a.type, a.op);
    case COPSE_COLL_SCAN:
      return copse_scan(team_, a.send, a.recv, a.count, a.type, a.op);
    case COPSE_COLL_EXSCAN:
      return copse_exscan(team_, a.send, a.recv, a.count, a.type, a.op);
    case COPSE_COLL_GATHERV:
      return copse_gatherv(team_, a.send, a.count, a.recv, a.recv_counts, a.recv_displacements, a.type, a.root);
    case COPSE_COLL_SCATTERV:
      return copse_scatterv(team_, a.send, a.send_counts, a.send_displacements, a.recv, a.count, a.type, a.root);
    case COPSE_COLL_ALLGATHERV:
      return copse_allgatherv(team_, a.send, a.count, a.recv, a.recv_counts, a.recv_displacements, a.type);
    case COPSE_COLL_ALLTOALLV:
      return copse_alltoallv(team_, a.send, a.send_counts, a.send_displacements, a.recv, a.recv_counts,
                             a.recv_displacements, a.type);
    case COPSE_COLL_REDUCE_SCATTERV:
      return copse_reduce_scatter(team_, a.send, a.recv, a.recv_counts, a.type, a.op);
    default:
      return std::nullopt;
  }
}

template <typename T>
copse_status_t Call<T>::Make(const copse_coll_args_t& a) const {
  if (case_.is_blocking && !case_.counts_known && !case_.reproducible) {
    if (const std::optional<copse_status_t> status = MakeBlocking(a)) return *status;
  }
  copse_request_t* request = nullptr;
  if (const auto status = copse_collective_init(team_, &a, &request); status != COPSE_OK) return status;
  copse_status_t status = copse_post(request);
  if (status == COPSE_OK) status = copse_wait(request, -1);
  // Again, where the first round has not changed what the second one sends.
  if (status == COPSE_OK && !case_.in_place) status = copse_post(request);
  if (status == COPSE_OK && !case_.in_place) status = copse_wait(request, -1);
  if (status != COPSE_OK) return status;
  return copse_finalize(request);
}

template <typename T>
std::string Call<T>::Run(Prng* prng) {
  const Kind sends = case_.sends(rank_), receives = case_.receives(rank_);
  const bool in_place = case_.in_place && (!case_.is_rooted() || rank_ == case_.root);
  Layout send_layout = LayoutOf(true, prng);
  const Layout receive_layout = LayoutOf(false, prng);
  // In place, reduce_scatter has all blocks in the receive buffer; alltoall's lie as they will be received.
  const bool in_receive = in_place && !case_.is_scatter() && case_.collective != COPSE_COLL_BCAST;
  if (in_receive && case_.is_alltoall()) send_layout = receive_layout;
  uint64_t receive_span = receive_layout.span;
  if (in_receive && !case_.gathers()) {
    receive_span = std::max(receive_span, send_layout.span);
  }
  Memory send(context_, send_layout.span * sizeof(T), prng->Chance(0.4));
  Memory receive(context_, receive_span * sizeof(T), prng->Chance(0.4));
  if (!in_receive) {
    PutSend(send_layout, send.data());
  } else if (case_.gathers()) {
    Put(Part(rank_, 0), receive_layout.begins[rank_], receive.data());
  } else {
    PutSend(send_layout, receive.data());
  }
  if (case_.collective == COPSE_COLL_BCAST && rank_ == case_.root) PutSend(send_layout, send.data());
  const std::vector<uint8_t> sent = send.Copy();
  std::vector<uint8_t> expected = receive.Copy();
  expected.push_back(0);  // never empty
  if (receives == Kind::kOne && !(in_place && case_.is_scatter())) Put(One(), 0, expected.data());
  for (uint32_t from = 0; receives == Kind::kBlocks && from < case_.size; ++from) {
    Put(Part(from, rank_), receive_layout.begins[from], expected.data());
  }
  expected.pop_back();

  copse_coll_args_t args{.collective = case_.collective,
                         .type = case_.type,
                         .op = case_.op,
                         .root = case_.root,
                         .send = in_receive ? COPSE_IN_PLACE : send.data(),
                         .recv = in_place && case_.is_scatter() ? COPSE_IN_PLACE : receive.data(),
                         .count = case_.count};
  if (case_.collective == COPSE_COLL_BCAST) {
    args.send = nullptr;
    args.recv = rank_ == case_.root ? send.data() : receive.data();
  }
  if (case_.is_irregular() && !case_.is_alltoall()) {
    args.count = case_.is_scatter() ? case_.Length(case_.root, rank_) : case_.Length(rank_, 0);
  }
  if (case_.counts_known) {
    args.mask |= COPSE_COLL_ARGS_FIELD_FLAGS;
    args.flags = COPSE_COLL_FLAG_COUNTS_KNOWN;
  }
  if (case_.reproducible) {
    args.mask |= COPSE_COLL_ARGS_FIELD_FLAGS;
    args.flags |= COPSE_COLL_FLAG_REPRODUCIBLE;
  }
  const bool tells_send = case_.collective == COPSE_COLL_ALLTOALLV ||
                          (case_.collective == COPSE_COLL_SCATTERV && (rank_ == case_.root || case_.counts_known));
  const bool tells_receive = case_.collective == COPSE_COLL_ALLTOALLV || case_.collective == COPSE_COLL_ALLGATHERV ||
                             case_.collective == COPSE_COLL_REDUCE_SCATTERV ||
                             (case_.collective == COPSE_COLL_GATHERV && (rank_ == case_.root || case_.counts_known));
  if (tells_send) {
    args.mask |= COPSE_COLL_ARGS_FIELD_SEND_COUNTS;
    args.send_counts = sends == Kind::kBlocks ? send_layout.counts.data() : case_.counts.data();
    if (sends == Kind::kBlocks && send_layout.has_displacements) {
      args.mask |= COPSE_COLL_ARGS_FIELD_SEND_DISPLACEMENTS;
      args.send_displacements = send_layout.begins.data();
    }
  }
  if (tells_receive) {
    args.mask |= COPSE_COLL_ARGS_FIELD_RECV_COUNTS;
    args.recv_counts = receives == Kind::kBlocks ? receive_layout.counts.data() : case_.counts.data();
    if (receives == Kind::kBlocks && receive_layout.has_displacements) {
      args.mask |= COPSE_COLL_ARGS_FIELD_RECV_DISPLACEMENTS;
      args.recv_displacements = receive_layout.begins.data();
    }
  }
  if (Make(args) != COPSE_OK) return copse_last_error();
  if (send.Copy() != sent) return "the send buffer has changed";
  const std::vector<uint8_t> received = receive.Copy();
  if (received == expected) return "";
  const auto differs = std::mismatch(received.begin(), received.end(), expected.begin());
  return "the receive buffer is wrong (byte=" + std::to_string(differs.first - received.begin()) +
         ", bytes=" + std::to_string(received.size()) + ", got=" + std::to_string(*differs.first) +
         ", expected=" + std::to_string(*differs.second) + ")";
}

// Around thresholds, and anything in between.
uint64_t RandomCount(uint64_t count_max, Prng* prng) {
  if (prng->Chance(0.15)) return 0;
  const uint64_t bound = prng->Chance(0.5) ? std::min<uint64_t>(count_max, 20) : count_max;
  return prng->Below(bound + 1);
}

Case MakeCase(const EveryCollectiveOptions& options, uint32_t size, Prng* prng) {
  Case c;
  c.size = size;
  c.collective = options.collectives.empty() ? static_cast<copse_collective_t>(prng->Below(kCollectiveCount))
                                             : options.collectives[prng->Below(options.collectives.size())];
  constexpr copse_datatype_t kTypes[] = {COPSE_DT_UINT8, COPSE_DT_INT32, COPSE_DT_DOUBLE};
  constexpr uint64_t kBytes[] = {1, 4, 8};
  const uint64_t type = prng->Below(3);
  c.type = kTypes[type];
  constexpr copse_op_t kOps[] = {COPSE_OP_SUM, COPSE_OP_PROD, COPSE_OP_MAX};
  c.op = kOps[prng->Below(3)];
  c.root = c.is_rooted() ? static_cast<uint32_t>(prng->Below(size)) : 0;
  c.seed = prng->Next();
  c.in_place = prng->Chance(0.3);
  c.is_blocking = prng->Chance(0.5);
  const bool has_blocks = c.sends(c.root) == Kind::kBlocks || c.receives(c.root) == Kind::kBlocks;
  const uint64_t count_max = options.bytes_max / kBytes[type] / (has_blocks ? size : 1);
  c.count = RandomCount(count_max, prng);
  if (c.collective == COPSE_COLL_ALLTOALLV) {
    c.counts.resize(uint64_t{size} * size);
    for (uint64_t& count : c.counts) count = RandomCount(count_max, prng);
    for (uint32_t a = 0; c.in_place && a < size; ++a) {
      for (uint32_t b = 0; b < a; ++b) c.counts[a * size + b] = c.counts[b * size + a];
    }
  } else if (c.is_irregular()) {
    for (uint32_t rank = 0; rank < size; ++rank) c.counts.push_back(RandomCount(count_max, prng));
    c.counts_known = c.is_rooted() && prng->Chance(0.3);
  }
  c.reproducible = c.reduces() && prng->Chance(0.3);
  return c;
}

}  // namespace

std::string RunEveryCollective(copse_context_t* context, copse_team_t* team, const EveryCollectiveOptions& options) {
  uint32_t rank = 0, size = 0;
  if (copse_team_rank(team, &rank) != COPSE_OK || copse_team_size(team, &size) != COPSE_OK) return copse_last_error();
  Prng shared(options.seed), own(Mix64(options.seed ^ Mix64(rank + 1)));
  for (int round = 0; round < options.rounds; ++round) {
    const Case c = MakeCase(options, size, &shared);
    std::string wrong;
    if (c.type == COPSE_DT_UINT8) wrong = Call<uint8_t>(c, rank, context, team).Run(&own);
    if (c.type == COPSE_DT_INT32) wrong = Call<int32_t>(c, rank, context, team).Run(&own);
    if (c.type == COPSE_DT_DOUBLE) wrong = Call<double>(c, rank, context, team).Run(&own);
    if (wrong.empty()) continue;
    return "seed " + std::to_string(options.seed) + ", round " + std::to_string(round) + ", rank " +
           std::to_string(rank) + " of " + std::to_string(size) + ", collective " + std::to_string(c.collective) +
           ", type " + std::to_string(c.type) + ", op " + std::to_string(c.op) + ", root " + std::to_string(c.root) +
           ", count " + std::to_string(c.count) + (c.in_place ? ", in place" : "") +
           (c.counts_known ? ", counts known" : "") + (c.reproducible ? ", reproducible" : "") + ": " + wrong;
  }
  return "";
}

}  // namespace copse::client
