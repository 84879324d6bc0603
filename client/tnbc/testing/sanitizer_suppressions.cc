// SPDX-License-Identifier: Apache-2.0
//
// What sanitizers are wrong about, for programs that close pages.

// A test's child has a monitor of its own.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }

// TSAN does not see what the kernel orders. What is sent is read-only while it is copied: who writes to it is stopped,
// and goes on behind the copy, by mprotect alone. SpareAround reads the words before a buffer, which are malloc's, but
// of TSAN's own are anybody's.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:copse::tnbc::PageGuard::Settle\n"
         "race:copse::tnbc::SpareAround\n";
}

// Actions that were replaced are kept, since a handler may be reading one, and so is RemappedMemory; Start, where a
// test's Guard() calls it, is left out of the stack.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:copse::tnbc::FaultActions::Replace\n"
         "leak:copse::tnbc::AsynchronousCompletion::AsynchronousCompletion\n"
         "leak:copse::tnbc::RemappedMemory::Use\n"
         "leak:copse::tnbc::(anonymous namespace)::Guard()\n";
}
