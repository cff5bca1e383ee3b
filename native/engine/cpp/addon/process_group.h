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

// A call as JavaScript holds it, with its staging buffer while another thread executes it.
struct HeldCall {
  Call call;
  Detachable detachable;
  std::unique_ptr<StagingBuffer> staging_buffer;
  // The group that took the call first; all other groups refuse the call.
  const HeldGroup* group = nullptr;
};

// A group as JavaScript holds it. It wakes the event loop when calls end, or when all connections
// have ended, and keeps the loop alive only until then.
class HeldGroup {
 public:
  HeldGroup(Napi::Env env, Watch watch, const Napi::Function& wake);
  ~HeldGroup() { stop(); }
  HeldGroup(const HeldGroup&) = delete;
  HeldGroup& operator=(const HeldGroup&) = delete;

  // Throws Error once the group has stopped.
  Group& group() const;
  int size() const { return size_; }
  StagingPool& staging_pool() { return *staging_pool_; }
  // Sets the executor, once. Throws Error if there is one already.
  void take(std::unique_ptr<Executor> executor, Transport transport);
  void require_no_executor() const;
  // Returns the group if the calling thread may execute this call. Throws if another thread is
  // executing calls, or the call belongs to another group.
  Group& group_for(HeldCall& held) const;
  // Executes a call in the calling thread. `patience` and the time slice limit it as in `Executor`.
  Status try_execute(HeldCall& held, std::chrono::microseconds patience, std::chrono::microseconds time_slice);
  // Prepares a call for another thread: from now on, JavaScript may change or detach its memory.
  // Returns false if this has to wait for the end of an earlier call that writes its inputs, or of
  // the same call.
  bool stage(HeldCall& held);
  void submit(HeldCall& held, std::uint32_t id, std::chrono::microseconds timeout);
  // Ends a staged call. `delivers`: copies the result to the outputs, which must still exist.
  // Throws Error if another group has staged the call.
  void finish(HeldCall& held, bool delivers);
  std::vector<Runner::Result> take_results();
  // Begins to leave the group after `delay`; `has_parted` becomes true once this rank has left. The
  // event loop is kept alive only if `delay` is 0.
  void leave(std::chrono::milliseconds delay);
  bool has_parted() const { return has_parted_; }
  // Ends all threads and connections without a report: other members only see that this one is
  // gone.
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
  // A call that the calling thread has begun and not completed.
  const HeldCall* begun_ = nullptr;
  std::unique_ptr<Group> group_;
  // Declared last, so that its thread ends before the members that it uses.
  std::unique_ptr<Runner> runner_;
};

template <>
inline constexpr HandleKind kHandle<HeldGroup> = handle_kind("group", 8);
template <>
inline constexpr HandleKind kHandle<HeldCall> = handle_kind("call", 9);

// The group of a JavaScript handle. Throws Error once it has stopped.
inline Group& group_of(const Napi::Value& value) { return held<HeldGroup>(value).group(); }

}  // namespace coll

#endif
