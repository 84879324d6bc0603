// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/region_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "base/process/missing_pages.h"
#include "base/status_macros.h"

namespace copse::daemon {
namespace {

// On older kernels a client can remove pages of its memory, for which this process then pays.
void KeepMissingPagesOut(uint8_t* data, uint64_t bytes) {
  if (RefuseMissingPages(data, bytes)) return;
  static bool warned = false;
  if (!std::exchange(warned, true)) {
    COPSE_LOG(kWarning,
              "memory: the kernel refuses userfaultfd (Linux 5.11), so clients' pages may be charged to this "
              "daemon's control group");
  }
}

}  // namespace

void ShareRegions(const RegionLimits& limits, Accounts* accounts) {
  for (const auto& [resource, limit] : {std::pair(Resource::kRegions, uint64_t{limits.all_max}),
                                        std::pair(Resource::kRegionBytes, limits.all_bytes_max),
                                        std::pair(Resource::kSparseBytes, limits.all_sparse_max)}) {
    accounts->SetShare(resource, {.limit = limit,
                                  .floor = limit / FairShare::kKeptPart,
                                  .least = std::max<uint64_t>(1, limit / FairShare::kLeastPart)});
  }
}

RegionTable::RegionTable(uint8_t* data, uint64_t data_bytes, RegionLimits limits, std::shared_ptr<Account> account)
    : data_(data), data_bytes_(data_bytes), limits_(limits), account_(std::move(account)) {}

absl::Status RegionTable::Take(Resource resource, uint64_t amount, Account::Holding* holding) {
  absl::StatusOr<Account::Holding> taken = account_->Take(resource, amount);
  if (!taken.ok()) return absl::ResourceExhaustedError(absl::StrCat("memory: ", taken.status().message()));
  *holding = *std::move(taken);
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> RegionTable::Register(const UniqueFd& memory, uint64_t bytes) {
  if (bytes == 0) return absl::InvalidArgumentError("memory: nothing to register (bytes=0)");
  if (regions_.size() >= limits_.regions_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("memory: too many regions (regions=", regions_.size(), ", limit=", limits_.regions_max, ")"));
  }
  if (bytes > limits_.bytes_max - bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat("memory: too much registered (bytes=", bytes,
                                                     ", registered=", bytes_, ", limit=", limits_.bytes_max, ")"));
  }
  RETURN_IF_ERROR(CheckClientMemory(memory.get(), bytes));
  Region region;
  RETURN_IF_ERROR(Take(Resource::kRegions, 1, &region.of_count));
  RETURN_IF_ERROR(Take(Resource::kRegionBytes, bytes, &region.of_bytes));
  ASSIGN_OR_RETURN(region.mapping, Mapping::MapForClient(memory.get(), bytes));
  if (HasAllPages(memory.get(), bytes)) {
    KeepMissingPagesOut(region.mapping.data(), bytes);
  } else {
    RETURN_IF_ERROR(Take(Resource::kSparseBytes, bytes, &region.of_sparse));
  }
  while (next_ == 0 || regions_.contains(next_)) ++next_;
  bytes_ += bytes;
  regions_[next_] = std::move(region);
  return next_++;
}

absl::Status RegionTable::Deregister(uint32_t region, uint64_t posts) {
  const auto it = regions_.find(region);
  if (it == regions_.end() || it->second.posts.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("memory: no such region (region=", region, ")"));
  }
  it->second.posts = posts;
  if (posts > posts_) {
    ++returning_;
  } else {
    it->second.retired = sweep_needed_ = true;
  }
  return absl::OkStatus();
}

void RegionTable::CountPosts(uint64_t posts) {
  posts_ = posts;
  if (returning_ == 0) return;
  for (auto& [number, region] : regions_) {
    if (region.retired || !region.posts.has_value() || *region.posts > posts_) continue;
    region.retired = sweep_needed_ = true;
    --returning_;
  }
}

absl::StatusOr<uint8_t*> RegionTable::Resolve(const char* what, const ring::Place& place, uint64_t bytes) const {
  uint8_t* base = data_;
  uint64_t limit = data_bytes_;
  if (place.region != 0) {
    const auto it = regions_.find(place.region);
    if (it == regions_.end() || it->second.retired) {
      return absl::InvalidArgumentError(absl::StrCat(what, " buffer: no such region (region=", place.region, ")"));
    }
    base = it->second.mapping.data();
    limit = it->second.mapping.bytes();
  }
  if (place.offset > limit || bytes > limit - place.offset) {
    return absl::InvalidArgumentError(absl::StrCat(what, " buffer: beyond its region (region=", place.region,
                                                   ", offset=", place.offset, ", bytes=", bytes, ", limit=", limit,
                                                   ")"));
  }
  return base + place.offset;
}

bool RegionTable::lost() const {
  return std::any_of(regions_.begin(), regions_.end(), [](const auto& each) { return each.second.mapping.lost(); });
}

void RegionTable::Use(uint32_t region) {
  if (region == 0) return;
  const auto it = regions_.find(region);
  CHECK(it != regions_.end());
  ++it->second.uses;
}

void RegionTable::Unuse(uint32_t region) {
  if (region == 0) return;
  const auto it = regions_.find(region);
  CHECK(it != regions_.end());
  CHECK_GT(it->second.uses, 0u);
  if (--it->second.uses == 0 && it->second.retired) sweep_needed_ = true;
}

std::vector<uint32_t> RegionTable::Sweep() {
  std::vector<uint32_t> gone;
  if (!sweep_needed_) return gone;
  sweep_needed_ = false;
  for (auto it = regions_.begin(); it != regions_.end();) {
    if (it->second.retired && it->second.uses == 0) {
      gone.push_back(it->first);
      bytes_ -= it->second.mapping.bytes();
      it = regions_.erase(it);
    } else {
      ++it;
    }
  }
  return gone;
}

}  // namespace copse::daemon
