#pragma once

#if defined(__linux__)

#include <napi.h>

#include <memory>

#include "../processes/runner.h"

namespace coll {

// A group as JavaScript holds it. It wakes the event loop when calls have ended, or all connections, and keeps it alive only until then.
class HeldGroup {
 public:
  HeldGroup(Napi::Env env, Watch watch, const Napi::Function& wake);
  ~HeldGroup() { stop(); }
  HeldGroup(const HeldGroup&) = delete;
  HeldGroup& operator=(const HeldGroup&) = delete;

  // Throws Error once it has stopped.
  Group& group() const;
  void submit(const Runner::Job& job);
  std::vector<Runner::Result> take_results();
  // Begins to leave; `has_parted` tells when it is done.
  void leave();
  bool has_parted() const { return has_parted_; }
  // Ends all threads and connections. The others find out by themselves what they were not told.
  void stop();

 private:
  static void stop_with_thread(void* held);
  void wake();
  void keep_awake(std::size_t count);

  Napi::Env env_;
  Napi::ThreadSafeFunction wake_;
  std::atomic<bool> has_parted_{false};
  std::size_t under_way_ = 0;
  bool is_leaving_ = false;
  std::unique_ptr<Group> group_;
  // Last, so that its thread ends before what it uses.
  std::unique_ptr<Runner> runner_;
};

}  // namespace coll

#endif
