// SPDX-License-Identifier: Apache-2.0
//
// Defines the base of the objects behind the opaque pointers of copse.h, which detects wrong pointers.
#ifndef COPSE_CLIENT_CONTEXT_HANDLE_H_
#define COPSE_CLIENT_CONTEXT_HANDLE_H_

#include <atomic>
#include <cstdint>
#include <memory>

namespace copse::client {

// A Handle is the base of contexts, teams and requests. A destroyed one is kept in memory until kRetiredMax others have
// been destroyed after it, so that using it soon afterwards, the usual mistake, is an error and not a crash.
class Handle {
 public:
  enum class Kind : uint32_t {
    kDestroyed = 0x64656164,
    kContext = 0x43507843,
    kTeam = 0x43507854,
    kRequest = 0x43507852,
  };
  static constexpr size_t kRetiredMax = 256;

  explicit Handle(Kind kind) : kind_(kind) {}
  virtual ~Handle() { kind_.store(Kind::kDestroyed, std::memory_order_relaxed); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  // Acquire: pairs with the release in Retire and Abandon.
  bool Is(Kind kind) const { return kind_.load(std::memory_order_acquire) == kind; }

  // Marks a handle destroyed and keeps it, as the class comment says. Thread-safe.
  static void Retire(std::unique_ptr<Handle> handle);
  // Marks a handle destroyed and never frees it, since its locks cannot be destroyed in a forked child. It is only for
  // such a child, and takes no lock.
  static void Abandon(std::unique_ptr<Handle> handle);

 private:
  std::atomic<Kind> kind_;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_CONTEXT_HANDLE_H_
