// SPDX-License-Identifier: Apache-2.0
#include "planner/server/open_store.h"

#include <grpcpp/security/credentials.h>

#include <utility>

#include "base/status_macros.h"
#include "planner/etcd/etcd_store.h"
#include "planner/store/sqlite_store.h"
#include "planner/store/store_address.h"

namespace copse::planner {

absl::StatusOr<std::unique_ptr<EtcdClient>> OpenEtcd(const Settings& settings) {
  EtcdClientOptions options;
  options.endpoints = settings.store.etcd;
  options.credentials =
      settings.store.is_encrypted ? EtcdCredentials(settings.etcd_tls) : grpc::InsecureChannelCredentials();
  return EtcdClient::Create(std::move(options));
}

absl::StatusOr<OpenedStore> OpenStore(const Settings& settings, EtcdClient* etcd, int64_t fence,
                                      std::function<void(std::function<void()>)> post) {
  const auto opened = [](auto store) {
    OpenedStore result{.reader = store.get()};
    result.store = std::move(store);
    return result;
  };
  const StoreAddress& address = settings.store;
  if (!address.etcd.empty()) {
    return opened(std::make_unique<EtcdStore>(etcd, address.prefix, fence, std::move(post)));
  }
  if (!address.file.empty()) {
    ASSIGN_OR_RETURN(std::unique_ptr<SqliteStore> store, SqliteStore::Open(address.file, std::move(post)));
    return opened(std::move(store));
  }
  return OpenedStore{.store = std::make_unique<coordinator::MemoryStore>()};
}

}  // namespace copse::planner
