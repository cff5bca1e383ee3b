#pragma once

#if defined(__linux__)

#include <napi.h>

#include <memory>
#include <vector>

#include "../processes/runner.h"
#include "../processes/staging_buffer.h"
#include "handles.h"

namespace coll {

// How the ranks of a group exchange data.
enum class Transport { kNone, kMemory, kMessages };

class HeldGroup;

// A call as JavaScript holds it, with its place in staging while another thread executes it.
struct HeldCall {
  Call call;
  Detachable detachable;
  std::unique_ptr<StagingBuffer> staging_buffer;
  // The first that took it: no other does then.
  const HeldGroup* group = nullptr;
};

// A group as JavaScript holds it. It wakes the event loop when calls have ended, or all connections, and keeps it alive only until then.
class HeldGroup {
 public:
  HeldGroup(Napi::Env env, Watch watch, const Napi::Function& wake);
  ~HeldGroup() { stop(); }
  HeldGroup(const HeldGroup&) = delete;
  HeldGroup& operator=(const HeldGroup&) = delete;

  // Throws Error once it has stopped.
  Group& group() const;
  int size() const { return size_; }
  StagingPool& staging_pool() { return *staging_pool_; }
  // Sets the executor, once. Throws Error if there is one already.
  void take(std::unique_ptr<Executor> executor, Transport transport);
  void require_no_executor() const;
  // The group, for a call that its thread executes next. Throws Error where another thread executes, or the call is of another group's.
  Group& group_for(HeldCall& held) const;
  // Executes in the calling thread, with the limits of an executor.
  Status try_execute(HeldCall& held, std::chrono::microseconds patience, std::chrono::microseconds time_slice);
  // Readies a call for another thread: from now on JavaScript may do what it likes with its memory. False where that has to wait for the
  // end of a call before, of which this one takes the result, or which is the same.
  bool stage(HeldCall& held);
  void submit(HeldCall& held, std::uint32_t id, std::chrono::microseconds timeout);
  // A staged call has ended. `delivers`: its result is wanted, and where it belongs is still there.
  // Throws Error where it was staged in another group.
  void finish(HeldCall& held, bool delivers);
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

  void require_own(HeldCall& held) const;

  Napi::Env env_;
  const int size_;
  Transport transport_ = Transport::kNone;
  Napi::ThreadSafeFunction wake_;
  std::atomic<bool> has_parted_{false};
  std::size_t under_way_ = 0;
  bool is_leaving_ = false;
  const std::shared_ptr<StagingPool> staging_pool_ = std::make_shared<StagingPool>();
  std::vector<HeldCall*> staged_;
  // Begun in the calling thread, and not over.
  const HeldCall* begun_ = nullptr;
  std::unique_ptr<Group> group_;
  // Last, so that its thread ends before what it uses.
  std::unique_ptr<Runner> runner_;
};

template <>
inline constexpr HandleKind kHandle<HeldGroup> = handle_kind("group", 8);
template <>
inline constexpr HandleKind kHandle<HeldCall> = handle_kind("call", 9);

// The group that a JavaScript object holds. Throws Error once it has stopped.
inline Group& group_of(const Napi::Value& value) { return held<HeldGroup>(value).group(); }

}  // namespace coll

#endif
