// SPDX-License-Identifier: Apache-2.0
//
// The teams and requests of a context.
#ifndef COPSE_CLIENT_CONTEXT_HANDLES_H_
#define COPSE_CLIENT_CONTEXT_HANDLES_H_

#include <map>
#include <memory>
#include <utility>

#include "client/context/handle.h"

namespace copse::client {

// Owns handles until they are taken out. Thread-compatible: the lock of the context's Completion guards it.
class Handles {
 public:
  using Map = std::map<Handle*, std::unique_ptr<Handle>>;

  void Add(std::unique_ptr<Handle> handle) {
    Handle* const key = handle.get();
    owned_[key] = std::move(handle);
  }
  // Returns null if it was taken before.
  std::unique_ptr<Handle> Take(Handle* handle) {
    const auto found = owned_.find(handle);
    if (found == owned_.end()) return nullptr;
    std::unique_ptr<Handle> result = std::move(found->second);
    owned_.erase(found);
    return result;
  }
  Map TakeAll() { return std::exchange(owned_, {}); }
  // Visits all handles; none may be taken meanwhile.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [handle, owner] : owned_) visit(handle);
  }

 private:
  Map owned_;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_CONTEXT_HANDLES_H_
