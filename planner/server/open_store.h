// SPDX-License-Identifier: Apache-2.0
//
// Opens the store that the configuration names.
#ifndef COPSE_PLANNER_SERVER_OPEN_STORE_H_
#define COPSE_PLANNER_SERVER_OPEN_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/etcd/etcd_client.h"
#include "planner/server/settings.h"
#include "planner/store/saved_state.h"

namespace copse::planner {

// An OpenedStore has a store, with its other interface.
struct OpenedStore {
  std::unique_ptr<coordinator::Store> store;
  StateReader* reader = nullptr;  // an interface of `store`; null: the planner's memory
};

// Returns a client of the etcd that the settings name, which they do.
absl::StatusOr<std::unique_ptr<EtcdClient>> OpenEtcd(const Settings& settings);

// `etcd` is OpenEtcd's, or null; it must outlive the store. `fence` is the Leadership's; 0: the store is only read.
// `post` takes the ends of commits. Errors: those of SqliteStore::Open.
absl::StatusOr<OpenedStore> OpenStore(const Settings& settings, EtcdClient* etcd, int64_t fence,
                                      std::function<void(std::function<void()>)> post);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_OPEN_STORE_H_
