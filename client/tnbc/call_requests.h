// SPDX-License-Identifier: Apache-2.0
//
// Owns the requests of a fragmented call.
#ifndef COPSE_CLIENT_TNBC_CALL_REQUESTS_H_
#define COPSE_CLIENT_TNBC_CALL_REQUESTS_H_

#include <cstdint>
#include <vector>

#include "client/copse.h"
#include "client/tnbc/fragmentation.h"

namespace copse::tnbc {

// CallRequests has the requests of a fragmented call: that of its edges, that of the barrier that announces the call,
// and those of its fragments, of which it knows which are posted, complete and placed (their data is where the program
// reads it). Order of calls: Add for the edges, AddAnnouncement if need be, Add for each fragment, BeginFragments, then
// the others. Thread-compatible.
class CallRequests {
 public:
  CallRequests() = default;
  CallRequests(const CallRequests&) = delete;
  CallRequests& operator=(const CallRequests&) = delete;
  // Finalizes the requests, and cancels those that are in flight before. Returns whether there were none: else the
  // daemon may still access their memory. It is called once, at the end.
  bool Finalize();

  // Make requests, those of the fragments in the order of posting. Errors: those of copse_collective_init.
  copse_status_t Add(copse_team_t* team, const SubCall& sub, uint8_t* send, uint8_t* receive);
  copse_status_t AddAnnouncement(copse_team_t* team);

  copse_request_t* edges() const { return requests_.front(); }
  copse_request_t* announcement() const { return announcement_; }  // null: none

  // All fragments have requests.
  void BeginFragments() { fragments_.resize(requests_.size() - 1); }
  uint32_t count() const { return static_cast<uint32_t>(fragments_.size()); }
  uint32_t posted() const { return posted_; }
  bool all_complete() const { return complete_ == fragments_.size(); }
  // Returns whether all fragments are posted, and at most one is not complete.
  bool nearly_complete() const { return posted_ == fragments_.size() && complete_ + 1 >= posted_; }

  // Posts fragments in order while `may_post(index)`. Errors: those of copse_post; COPSE_ERR_NO_RESOURCE: the daemon's
  // queue has no room for the next one now.
  template <typename MayPost>
  copse_status_t PostNext(const MayPost& may_post) {
    while (posted_ < fragments_.size() && may_post(posted_)) {
      if (const copse_status_t status = copse_post(requests_[1 + posted_]); status != COPSE_OK) return status;
      ++posted_;
    }
    return COPSE_OK;
  }
  // Looks which fragments are complete. Errors: that of a fragment that has failed.
  copse_status_t CountComplete();
  // Returns whether the fragment is complete and was not placed: then it is placed from now on.
  bool TakeToPlace(uint32_t index);
  uint64_t placed_ns(uint32_t index) const { return fragments_[index].placed_ns; }  // 0: not yet

  // Returns a text that names a violated invariant, or null.
  const char* BrokenInvariant() const;

 private:
  // A Fragment is the progress of one call of the fragmentation.
  struct Fragment {
    bool is_complete = false;
    uint64_t placed_ns = 0;
  };

  std::vector<copse_request_t*> requests_;  // first that of the edges, then those of the fragments
  copse_request_t* announcement_ = nullptr;
  std::vector<Fragment> fragments_;
  uint32_t posted_ = 0, complete_ = 0;  // numbers of fragments
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_CALL_REQUESTS_H_
