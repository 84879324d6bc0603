// SPDX-License-Identifier: Apache-2.0
//
// Stores the planner's state in etcd.
#ifndef COPSE_PLANNER_ETCD_ETCD_STORE_H_
#define COPSE_PLANNER_ETCD_ETCD_STORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/etcd/etcd_client.h"
#include "planner/etcd/fenced_writer.h"
#include "planner/store/saved_state.h"
#include "planner/threads/task_thread.h"

namespace copse::planner {

// An EtcdStore keeps the state below PREFIX/, while this planner leads: it is made when a Leadership was won, and
// every change is ABORTED once that was lost. docs/reference/etcd.md has the keys and their values.
//
// A damaged value does not prevent others from being loaded: it is logged, and moved to PREFIX/quarantine/.
//
// A Commit of more than kOperationsMax operations or kValueBytesMax is made in several transactions: when it fails,
// those at its begin may have been made, also with ABORTED. Each team is changed as a whole in any case.
//
// Only the planner's thread calls it, but for ReadState, which needs no leadership (`fence` may be 0).
class EtcdStore : public coordinator::Store, public StateReader {
 public:
  // `fence` is that of the Leadership; `post` runs a task on the planner's thread. `*client` must outlive the store.
  EtcdStore(EtcdClient* client, const std::string& prefix, int64_t fence,
            std::function<void(std::function<void()>)> post);

  absl::StatusOr<coordinator::Snapshot> Load() override;
  void Commit(std::vector<coordinator::StoreChange> changes, std::function<void(const absl::Status&)> done) override;

  // Reads all keys at one revision.
  absl::StatusOr<StateReading> ReadState() override;

 private:
  using Operations = std::vector<etcdserverpb::RequestOp>;
  using Keys = std::map<std::string, std::string>;  // with their values

  std::string TeamKey(TeamId team) const;
  std::string TopologyKey(uint64_t version) const;
  std::string AbortedKey(TeamId team) const;
  void AppendPut(const std::string& key, const std::string& bytes, Operations* operations);
  void AppendDrop(const std::string& key, Operations* operations);
  void Append(const coordinator::StoreChange& change, Operations* operations);
  void Encode(const std::vector<coordinator::StoreChange>& changes, std::function<void(const absl::Status&)> done);

  absl::Status Write(Operations operations);  // blocks
  // Reads all keys below PREFIX/ at one revision.
  absl::StatusOr<Keys> Read() const;
  // Decodes keys, and changes nothing.
  struct Reading;
  Reading Decode(const Keys& keys) const;

  EtcdClient* const client_;
  const std::string prefix_;
  const std::function<void(std::function<void()>)> post_;
  const std::shared_ptr<FencedWriter> writer_;  // shared with its calls

  // Load sets them before the first Commit; from then on only the encoder's thread uses them.
  std::set<std::string> in_parts_;  // keys whose values have, or had, parts
  uint64_t versions_ = 0;           // of values in parts, which this object has made
  // Encodes changes, since a team of 10,000 nodes takes long; the last member, because its tasks use the others.
  TaskThread encoder_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ETCD_ETCD_STORE_H_
