// SPDX-License-Identifier: Apache-2.0
//
// This is the API of copse.h for C++11 and later, with handles that free themselves and failures as exceptions. It is
// header-only; link with libcopse. Functions here have the names and the meaning of those in copse.h.
//
//     copse::Context context;
//     copse::Team team(context, "world", rank, size);
//     double sum = team.allreduce(mine, COPSE_OP_SUM);
//     copse::Request request = team.allreduce_init(values.data(), sums.data(), values.size(), COPSE_OP_SUM);
//     request.post();
//     compute();
//     request.wait();
//
// Handles can be moved and not copied. Requests are destroyed before their team, teams before their context, so declare
// the context first, then teams, then requests.
#ifndef COPSE_HPP_
#define COPSE_HPP_

#include <complex>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "copse.h"

namespace copse {

// An Error is a failed call of copse.h; what() is its copse_last_error().
class Error : public std::runtime_error {
 public:
  explicit Error(copse_status_t status) : std::runtime_error(copse_last_error()), status_(status) {}
  copse_status_t status() const noexcept { return status_; }

 private:
  copse_status_t status_;
};

inline void Check(copse_status_t status) {
  if (status < 0) throw Error(status);
}

// Datatype<T>::value is the copse_datatype_t of a C++ type. Other types do not compile.
template <typename T>
struct Datatype;
template <>
struct Datatype<float> {
  static constexpr copse_datatype_t value = COPSE_DT_FLOAT;
};
template <>
struct Datatype<double> {
  static constexpr copse_datatype_t value = COPSE_DT_DOUBLE;
};
template <>
struct Datatype<signed char> {
  static constexpr copse_datatype_t value = COPSE_DT_INT8;
};
template <>
struct Datatype<unsigned char> {
  static constexpr copse_datatype_t value = COPSE_DT_UINT8;
};
template <>
struct Datatype<short> {
  static constexpr copse_datatype_t value = COPSE_DT_INT16;
};
template <>
struct Datatype<unsigned short> {
  static constexpr copse_datatype_t value = COPSE_DT_UINT16;
};
template <>
struct Datatype<int> {
  static constexpr copse_datatype_t value = COPSE_DT_INT32;
};
template <>
struct Datatype<unsigned> {
  static constexpr copse_datatype_t value = COPSE_DT_UINT32;
};
template <>
struct Datatype<long> {
  static constexpr copse_datatype_t value = sizeof(long) == 8 ? COPSE_DT_INT64 : COPSE_DT_INT32;
};
template <>
struct Datatype<unsigned long> {
  static constexpr copse_datatype_t value = sizeof(unsigned long) == 8 ? COPSE_DT_UINT64 : COPSE_DT_UINT32;
};
template <>
struct Datatype<long long> {
  static constexpr copse_datatype_t value = COPSE_DT_INT64;
};
template <>
struct Datatype<unsigned long long> {
  static constexpr copse_datatype_t value = COPSE_DT_UINT64;
};

template <>
struct Datatype<std::complex<float>> {
  static constexpr copse_datatype_t value = COPSE_DT_COMPLEX_FLOAT;
};
template <>
struct Datatype<std::complex<double>> {
  static constexpr copse_datatype_t value = COPSE_DT_COMPLEX_DOUBLE;
};

namespace internal {

// A UniqueHandle owns a C handle, or none. Destroy must not throw.
template <typename T, void (*Destroy)(T*)>
class UniqueHandle {
 public:
  UniqueHandle() noexcept : handle_(nullptr) {}
  explicit UniqueHandle(T* handle) noexcept : handle_(handle) {}
  UniqueHandle(UniqueHandle&& other) noexcept : handle_(other.release()) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = other.release();
    }
    return *this;
  }
  UniqueHandle(const UniqueHandle&) = delete;
  UniqueHandle& operator=(const UniqueHandle&) = delete;
  ~UniqueHandle() { reset(); }

  T* get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  T* release() noexcept {
    T* handle = handle_;
    handle_ = nullptr;
    return handle;
  }
  void reset() noexcept {
    if (handle_ != nullptr) Destroy(release());
  }

 private:
  T* handle_;
};

// Given<T> is T, but an argument of that type takes no part in template argument deduction. So nullptr can be passed
// for a buffer that the rank does not use.
template <typename T>
struct Identity {
  using type = T;
};
template <typename T>
using Given = typename Identity<T>::type;

inline void DestroyContext(copse_context_t* context) { copse_fini(context); }
inline void DestroyTeam(copse_team_t* team) { copse_team_destroy(team); }
inline void DestroyRequest(copse_request_t* request) {
  copse_cancel(request);  // has no effect unless the request is in progress
  copse_finalize(request);
}

}  // namespace internal

// A Context is this process's connection to the daemon of its node (copse_context_t).
class Context : public internal::UniqueHandle<copse_context_t, internal::DestroyContext> {
 public:
  Context() : Context(nullptr) {}
  explicit Context(const copse_init_params_t* params) : UniqueHandle(Init(params)) {}

  void ping(double seconds = -1) { Check(copse_ping(get(), seconds)); }
  copse_context_attr_t attr() const {
    copse_context_attr_t attr = {};
    attr.mask = COPSE_CONTEXT_ATTR_FIELD_NODE | COPSE_CONTEXT_ATTR_FIELD_INCARNATION |
                COPSE_CONTEXT_ATTR_FIELD_MESSAGE_BYTES_MAX | COPSE_CONTEXT_ATTR_FIELD_DQ_ENTRIES |
                COPSE_CONTEXT_ATTR_FIELD_EQ_ENTRIES | COPSE_CONTEXT_ATTR_FIELD_DATA_BYTES;
    Check(copse_context_get_attr(get(), &attr));
    return attr;
  }

 private:
  static copse_context_t* Init(const copse_init_params_t* params) {
    copse_context_t* context = nullptr;
    Check(copse_init(params, &context));
    return context;
  }
};

// A Request is a persistent request of one collective (copse_request_t). Its destructor cancels a round in progress.
class Request : public internal::UniqueHandle<copse_request_t, internal::DestroyRequest> {
 public:
  using UniqueHandle::UniqueHandle;

  void post() { Check(copse_post(get())); }
  // Returns whether the round is complete; throws if it failed.
  bool test() {
    const copse_status_t status = copse_test(get());
    Check(status);
    return status == COPSE_OK;
  }
  void wait() { Check(copse_wait(get(), -1)); }
  // Returns whether the round is complete within `seconds` (< 0: waits without limit); throws if it failed.
  bool wait_for(double seconds) {
    const copse_status_t status = copse_wait(get(), seconds);
    if (status == COPSE_ERR_TIMED_OUT || status == COPSE_INPROGRESS) return false;
    Check(status);
    return true;
  }
  void cancel() { Check(copse_cancel(get())); }
};

// A Team is an ordered set of ranks (copse_team_t). Its destructor leaves the team.
class Team : public internal::UniqueHandle<copse_team_t, internal::DestroyTeam> {
 public:
  Team() = default;
  explicit Team(copse_team_t* team) : UniqueHandle(team) {}
  Team(Context& context, const copse_team_params_t& params) : UniqueHandle(Create(context, params)) {}
  Team(Context& context, const std::string& name, uint32_t rank, uint32_t size)
      : UniqueHandle(Create(context, Params(name, rank, size))) {}

  // These form sub-teams, collectively over this team. The result is empty (false as a bool) on ranks that are in no
  // sub-team.
  Team split(int64_t color, int64_t key = 0) {
    copse_subteam_params_t params = {};
    params.mask = COPSE_SUBTEAM_PARAM_FIELD_COLOR | COPSE_SUBTEAM_PARAM_FIELD_KEY;
    params.color = color;
    params.key = key;
    return FromParent(params);
  }
  Team subteam(bool included) {
    copse_subteam_params_t params = {};
    params.mask = COPSE_SUBTEAM_PARAM_FIELD_INCLUDED;
    params.included = included ? 1 : 0;
    return FromParent(params);
  }
  Team subteam(const std::vector<uint32_t>& ranks) {
    copse_subteam_params_t params = {};
    params.mask = COPSE_SUBTEAM_PARAM_FIELD_RANKS;
    params.ranks = ranks.data();
    params.rank_count = static_cast<uint32_t>(ranks.size());
    return FromParent(params);
  }

  // Without this overload, `subteam({1})` would call `subteam(true)`.
  Team subteam(std::initializer_list<uint32_t> ranks) { return subteam(std::vector<uint32_t>(ranks)); }

  uint32_t rank() const {
    uint32_t rank = 0;
    Check(copse_team_rank(get(), &rank));
    return rank;
  }
  uint32_t size() const {
    uint32_t size = 0;
    Check(copse_team_size(get(), &size));
    return size;
  }

  // Blocking calls. A buffer that this rank does not use, such as `recv` of a gather at other ranks than the root, may
  // be nullptr. Calls in place, except allreduce, are made by collective_init.
  void barrier() { Check(copse_barrier(get())); }
  template <typename T>
  void bcast(T* buffer, uint64_t count, uint32_t root) {
    Check(copse_bcast(get(), buffer, count, Datatype<T>::value, root));
  }
  template <typename T>
  void reduce(const T* send, internal::Given<T*> recv, uint64_t count, copse_op_t op, uint32_t root) {
    Check(copse_reduce(get(), send, recv, count, Datatype<T>::value, op, root));
  }
  template <typename T>
  void allreduce(const T* send, T* recv, uint64_t count, copse_op_t op) {
    Check(copse_allreduce(get(), send, recv, count, Datatype<T>::value, op));
  }
  template <typename T>
  void allreduce_in_place(T* buffer, uint64_t count, copse_op_t op) {
    Check(copse_allreduce(get(), COPSE_IN_PLACE, buffer, count, Datatype<T>::value, op));
  }
  template <typename T>
  T allreduce(T value, copse_op_t op) {
    allreduce_in_place(&value, 1, op);
    return value;
  }
  template <typename T>
  void scan(const T* send, T* recv, uint64_t count, copse_op_t op) {
    Check(copse_scan(get(), send, recv, count, Datatype<T>::value, op));
  }
  template <typename T>
  void exscan(const T* send, internal::Given<T*> recv, uint64_t count, copse_op_t op) {
    Check(copse_exscan(get(), send, recv, count, Datatype<T>::value, op));
  }
  template <typename T>
  void reduce_scatter_block(const T* send, T* recv, uint64_t count, copse_op_t op) {
    Check(copse_reduce_scatter_block(get(), send, recv, count, Datatype<T>::value, op));
  }
  template <typename T>
  void reduce_scatter(const T* send, T* recv, const std::vector<uint64_t>& counts, copse_op_t op) {
    Check(copse_reduce_scatter(get(), send, recv, counts.data(), Datatype<T>::value, op));
  }
  template <typename T>
  void gather(const T* send, internal::Given<T*> recv, uint64_t count, uint32_t root) {
    Check(copse_gather(get(), send, recv, count, Datatype<T>::value, root));
  }
  template <typename T>
  void scatter(internal::Given<const T*> send, T* recv, uint64_t count, uint32_t root) {
    Check(copse_scatter(get(), send, recv, count, Datatype<T>::value, root));
  }
  template <typename T>
  void allgather(const T* send, T* recv, uint64_t count) {
    Check(copse_allgather(get(), send, recv, count, Datatype<T>::value));
  }
  template <typename T>
  void alltoall(const T* send, T* recv, uint64_t count) {
    Check(copse_alltoall(get(), send, recv, count, Datatype<T>::value));
  }
  // Blocks of these irregular collectives lie one after another; calls with displacements are made by collective_init.
  // `counts` may be empty where copse.h says that they are not read.
  template <typename T>
  void gatherv(const T* send, uint64_t count, internal::Given<T*> recv, const std::vector<uint64_t>& counts,
               uint32_t root) {
    Check(copse_gatherv(get(), send, count, recv, counts.data(), nullptr, Datatype<T>::value, root));
  }
  template <typename T>
  void scatterv(internal::Given<const T*> send, const std::vector<uint64_t>& counts, T* recv, uint64_t count,
                uint32_t root) {
    Check(copse_scatterv(get(), send, counts.data(), nullptr, recv, count, Datatype<T>::value, root));
  }
  template <typename T>
  void allgatherv(const T* send, uint64_t count, T* recv, const std::vector<uint64_t>& counts) {
    Check(copse_allgatherv(get(), send, count, recv, counts.data(), nullptr, Datatype<T>::value));
  }
  template <typename T>
  void alltoallv(const T* send, const std::vector<uint64_t>& send_counts, T* recv,
                 const std::vector<uint64_t>& recv_counts) {
    Check(copse_alltoallv(get(), send, send_counts.data(), nullptr, recv, recv_counts.data(), nullptr,
                          Datatype<T>::value));
  }

  // These make persistent requests, which may be posted any number of times.
  Request collective_init(const copse_coll_args_t& args) {
    copse_request_t* request = nullptr;
    Check(copse_collective_init(get(), &args, &request));
    return Request(request);
  }
  Request barrier_init() { return collective_init(Args(COPSE_COLL_BARRIER)); }
  template <typename T>
  Request bcast_init(T* buffer, uint64_t count, uint32_t root) {
    copse_coll_args_t args = Args(COPSE_COLL_BCAST);
    args.recv = buffer;
    args.count = count;
    args.type = Datatype<T>::value;
    args.root = root;
    return collective_init(args);
  }
  template <typename T>
  Request reduce_init(const T* send, internal::Given<T*> recv, uint64_t count, copse_op_t op, uint32_t root) {
    copse_coll_args_t args = Reduction<T>(COPSE_COLL_REDUCE, send, recv, count, op);
    args.root = root;
    return collective_init(args);
  }
  template <typename T>
  Request allreduce_init(const T* send, T* recv, uint64_t count, copse_op_t op) {
    return collective_init(Reduction<T>(COPSE_COLL_ALLREDUCE, send, recv, count, op));
  }

 private:
  static copse_team_params_t Params(const std::string& name, uint32_t rank, uint32_t size) {
    copse_team_params_t params = {};
    params.mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK | COPSE_TEAM_PARAM_FIELD_SIZE;
    params.name = name.c_str();
    params.rank = rank;
    params.size = size;
    return params;
  }
  static copse_team_t* Create(Context& context, const copse_team_params_t& params) {
    copse_team_t* team = nullptr;
    Check(copse_team_create(context.get(), &params, &team));
    return team;
  }
  Team FromParent(const copse_subteam_params_t& params) {
    copse_team_t* team = nullptr;
    Check(copse_team_create_from_parent(get(), &params, &team));
    return Team(team);
  }
  static copse_coll_args_t Args(copse_collective_t collective) {
    copse_coll_args_t args = {};
    args.collective = collective;
    return args;
  }
  template <typename T>
  static copse_coll_args_t Reduction(copse_collective_t collective, const T* send, T* recv, uint64_t count,
                                     copse_op_t op) {
    copse_coll_args_t args = Args(collective);
    args.send = send;
    args.recv = recv;
    args.count = count;
    args.type = Datatype<T>::value;
    args.op = op;
    return args;
  }
};

}  // namespace copse

#endif  // COPSE_HPP_
