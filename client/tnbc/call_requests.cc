// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/call_requests.h"

#include "base/monotonic_ns.h"
#include "client/context/context.h"
#include "client/tnbc/pages/held_signals.h"

namespace copse::tnbc {

bool CallRequests::Finalize() {
  bool complete = true;
  if (announcement_ != nullptr) requests_.push_back(announcement_);
  for (copse_request_t* request : requests_) {
    if (copse_finalize(request) == COPSE_OK) continue;
    complete = false;
    copse_cancel(request);
    copse_finalize(request);
  }
  return complete;
}

copse_status_t CallRequests::Add(copse_team_t* team, const SubCall& sub, uint8_t* send, uint8_t* receive) {
  const HeldSignals held;
  copse_coll_args_t args = sub.args;
  if (sub.sends) args.send = send;
  if (sub.receives) args.recv = receive;
  if (sub.keeps_own) args.recv = COPSE_IN_PLACE;
  const auto give = [&args](const std::vector<uint64_t>& values, uint64_t field, const uint64_t** where) {
    if (values.empty()) return;
    args.mask |= field;
    *where = values.data();
  };
  give(sub.send_counts, COPSE_COLL_ARGS_FIELD_SEND_COUNTS, &args.send_counts);
  give(sub.send_displacements, COPSE_COLL_ARGS_FIELD_SEND_DISPLACEMENTS, &args.send_displacements);
  give(sub.receive_counts, COPSE_COLL_ARGS_FIELD_RECV_COUNTS, &args.recv_counts);
  give(sub.receive_displacements, COPSE_COLL_ARGS_FIELD_RECV_DISPLACEMENTS, &args.recv_displacements);
  copse_request_t* request = nullptr;
  if (const auto status = copse_collective_init(team, &args, &request); status != COPSE_OK) return status;
  request->plan.under_way_max = sub.under_way_max;
  if (sub.pair_count_max > 0) {
    request->plan.pairs_bounded = true;
    request->plan.count = sub.pair_count_max;
  }
  requests_.push_back(request);
  return COPSE_OK;
}

copse_status_t CallRequests::AddAnnouncement(copse_team_t* team) {
  const HeldSignals held;
  copse_coll_args_t args{};
  args.collective = COPSE_COLL_BARRIER;
  return copse_collective_init(team, &args, &announcement_);
}

copse_status_t CallRequests::CountComplete() {
  complete_ = 0;
  for (uint32_t i = 0; i < posted_; ++i) {
    if (!fragments_[i].is_complete) {
      const copse_status_t status = copse_test(requests_[1 + i]);
      if (status == COPSE_INPROGRESS) continue;
      if (status != COPSE_OK) return status;
      fragments_[i].is_complete = true;
    }
    ++complete_;
  }
  return COPSE_OK;
}

bool CallRequests::TakeToPlace(uint32_t index) {
  Fragment& fragment = fragments_[index];
  if (!fragment.is_complete || fragment.placed_ns != 0) return false;
  fragment.placed_ns = MonotonicNs();
  return true;
}

const char* CallRequests::BrokenInvariant() const {
  for (size_t i = 0; i < fragments_.size(); ++i) {
    const Fragment& fragment = fragments_[i];
    if ((fragment.is_complete && i >= posted_) || (fragment.placed_ns != 0 && !fragment.is_complete))
      return "a fragment is complete that was not posted, or placed that is not complete";
  }
  return complete_ > posted_ || posted_ > fragments_.size() ? "more fragments are counted than there are" : nullptr;
}

}  // namespace copse::tnbc
