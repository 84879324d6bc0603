// SPDX-License-Identifier: Apache-2.0
//
// The memory that one client's calls may name: region 0 is its port's data area; it registers the others.
#ifndef COPSE_DAEMON_SHM_REGION_TABLE_H_
#define COPSE_DAEMON_SHM_REGION_TABLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/loop/unique_fd.h"
#include "daemon/shm/memory_file.h"
#include "protocol/ring_layout.h"

namespace copse::daemon {

struct RegionLimits {
  uint32_t regions_max = 256;
  // The limit of a client's registered regions together: addresses, not memory, so that 256 ranks have room for theirs.
  uint64_t bytes_max = 256ull << 30;
  // Regions of all clients together. Each is a mapping of the daemon's, to which the kernel allows 65,530
  // (vm.max_map_count): beyond that it could not even start a thread.
  uint32_t all_max = 32768;
};

// A region stays mapped while calls use it, also after its deregistration. Messages and posts arrive on two paths, so
// posts are numbered: posts before the deregistration of a region may still name it. Thread-compatible.
class RegionTable {
 public:
  // `data` outlives the table, and so does `*of_all`, the number of regions in all tables; null: there is no other.
  RegionTable(uint8_t* data, uint64_t data_bytes, RegionLimits limits, uint32_t* of_all = nullptr);
  RegionTable(const RegionTable&) = delete;
  RegionTable& operator=(const RegionTable&) = delete;
  ~RegionTable() { *of_all_ -= static_cast<uint32_t>(regions_.size()); }

  // Maps the first `bytes` of a client's memfd. INVALID_ARGUMENT: not memory that is safe to map;
  // RESOURCE_EXHAUSTED: a limit. On success returns the region's number, never 0.
  absl::StatusOr<uint32_t> Register(const UniqueFd& memory, uint64_t bytes);
  // The client deregisters the region: only its first `posts` posts can name it. INVALID_ARGUMENT: there is no such
  // region, or it was deregistered before.
  absl::Status Deregister(uint32_t region, uint64_t posts);
  // The client's first `posts` posts have been taken: the regions that they name are in use.
  void CountPosts(uint64_t posts);

  // The `bytes` at `place`. INVALID_ARGUMENT, with `what` ("send") in the text, if they do not all
  // lie in a region.
  absl::StatusOr<uint8_t*> Resolve(const char* what, const ring::Place& place, uint64_t bytes) const;

  // Whether a page of any region was lost. O(regions): call it only if AnyMemoryLost().
  bool lost() const;

  // A call uses the region from Use to Unuse; 0 is allowed.
  void Use(uint32_t region);
  void Unuse(uint32_t region);

  // Unmaps deregistered regions that no call uses any more and returns their numbers.
  std::vector<uint32_t> Sweep();

 private:
  struct Region {
    Mapping mapping;
    uint32_t uses = 0;
    std::optional<uint64_t> posts;  // set at deregistration: number of posts that can name it
    bool retired = false;           // all these posts have been taken
  };

  uint8_t* const data_;
  const uint64_t data_bytes_;
  const RegionLimits limits_;
  uint32_t own_ = 0;
  uint32_t* const of_all_;
  std::map<uint32_t, Region> regions_;
  uint64_t bytes_ = 0;
  uint32_t next_ = 1;
  uint64_t posts_ = 0;      // number of posts taken
  uint32_t returning_ = 0;  // regions that were deregistered and are not retired
  bool sweep_needed_ = false;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_REGION_TABLE_H_
