// SPDX-License-Identifier: Apache-2.0
//
// Keeps the memory that one client's calls may name: region 0 is its port's data area; the client registers others.
#ifndef COPSE_DAEMON_SHM_REGION_TABLE_H_
#define COPSE_DAEMON_SHM_REGION_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "daemon/accounts/accounts.h"
#include "daemon/shm/memory_file.h"
#include "protocol/ring_layout.h"

namespace copse::daemon {

struct RegionLimits {
  uint32_t regions_max = 256;
  // Limits the bytes of a client's registered regions together. It bounds the daemon's address space, so that 256 ranks
  // have room for theirs.
  uint64_t bytes_max = 256ull << 30;
  // Limits the regions of all clients together. Each is a mapping in the daemon, to which the kernel allows 65,530
  // (vm.max_map_count); beyond that the daemon could not even start a thread.
  uint32_t all_max = 32768;
  // Limits the bytes of all clients' regions together, which is half of the daemon's address space.
  uint64_t all_bytes_max = 64ull << 40;
  // Limits the bytes of those that were registered before all their pages existed. The kernel charges a page to the
  // process that makes it, so the daemon would pay for a client's memory.
  uint64_t all_sparse_max = 1ull << 30;
};

// Sets the limits of all clients' regions. The last eighth of each is for users with at most an eighth.
void ShareRegions(const RegionLimits& limits, Accounts* accounts);

// A RegionTable maps one client's regions. A region stays mapped while calls use it, also after its deregistration.
// Messages arrive on the socket and posts in the queue, so posts are numbered: those before the deregistration of a
// region may still name it. Thread-compatible.
class RegionTable {
 public:
  // `data` must outlive the table, whose regions the account holds.
  RegionTable(uint8_t* data, uint64_t data_bytes, RegionLimits limits, std::shared_ptr<Account> account);
  RegionTable(const RegionTable&) = delete;
  RegionTable& operator=(const RegionTable&) = delete;

  // Maps the first `bytes` of a client's memfd, and returns the region's number, never 0. If all their pages exist, the
  // daemon makes none later: one that the client removes is lost(). Errors: INVALID_ARGUMENT:
  // `bytes` is 0, or the memory is not safe to map (CheckClientMemory). RESOURCE_EXHAUSTED: a limit. Others: mmap's.
  absl::StatusOr<uint32_t> Register(const UniqueFd& memory, uint64_t bytes);
  // Deregisters the region: only the client's first `posts` posts can name it. INVALID_ARGUMENT: there is no such
  // region, or it was deregistered before.
  absl::Status Deregister(uint32_t region, uint64_t posts);
  // Records that the client's first `posts` posts were taken, so that Use was called for the regions that they name.
  void CountPosts(uint64_t posts);

  // Returns the address of the `bytes` at `place`. INVALID_ARGUMENT, with `what` ("send") in the text, if there is no
  // such region or not all of the bytes are in it.
  absl::StatusOr<uint8_t*> Resolve(const char* what, const ring::Place& place, uint64_t bytes) const;

  // Returns whether a page of any registered region was lost. O(regions), so call it only if AnyMemoryLost().
  bool lost() const;

  // Keeps the region mapped from Use to Unuse, which are called once for each call and buffer. Region 0 is ignored; any
  // other must exist.
  void Use(uint32_t region);
  void Unuse(uint32_t region);

  // Unmaps deregistered regions that no call uses any more and returns their numbers.
  std::vector<uint32_t> Sweep();

 private:
  struct Region {
    Account::Holding of_count, of_bytes, of_sparse;
    Mapping mapping;
    uint32_t uses = 0;
    std::optional<uint64_t> posts;  // set at deregistration: how many posts can name the region
    bool retired = false;           // deregistered, and all these posts have been taken
  };

  // Fills in a holding of the region. RESOURCE_EXHAUSTED: the user has no more.
  absl::Status Take(Resource resource, uint64_t amount, Account::Holding* holding);

  uint8_t* const data_;
  const uint64_t data_bytes_;
  const RegionLimits limits_;
  const std::shared_ptr<Account> account_;
  std::map<uint32_t, Region> regions_;
  uint64_t bytes_ = 0;
  uint32_t next_ = 1;
  uint64_t posts_ = 0;      // number of posts taken
  uint32_t returning_ = 0;  // regions that were deregistered and are not retired
  bool sweep_needed_ = false;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_REGION_TABLE_H_
