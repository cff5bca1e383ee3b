#if defined(__linux__)

#include "process_group.h"

#include <algorithm>
#include <utility>

#include "../error.h"
#include "../record/call_stamp.h"

namespace coll {

HeldGroup::HeldGroup(Napi::Env env, Watch watch, const Napi::Function& wake) : env_(env), size_(static_cast<int>(watch.sockets.size())) {
  watch.parted = [this] {
    has_parted_ = true;
    this->wake();
  };
  // From here on the group owns the sockets.
  group_ = std::make_unique<Group>(std::move(watch));
  runner_ = std::make_unique<Runner>(*group_, [this] { this->wake(); });
  wake_ = Napi::ThreadSafeFunction::New(env, wake, "coll process group", 0, 1);
  wake_.Unref(env);
  // Hooks run in reverse order, so the threads end before the function that they call is destroyed.
  napi_add_env_cleanup_hook(env, stop_with_thread, this);
}

Group& HeldGroup::group() const {
  if (!group_) throw Error("this group was closed");
  return *group_;
}

void HeldGroup::require_no_executor() const {
  if (transport_ != Transport::kNone) throw Error("this group already has an executor");
}

void HeldGroup::take(std::unique_ptr<Executor> executor, Transport transport) {
  require_no_executor();
  group().take(std::move(executor));
  transport_ = transport;
}

void HeldGroup::require_own(HeldCall& held) const {
  const Offer& offer = held.call.offer;
  if (transport_ == Transport::kNone) throw Error("this group has no executor yet");
  const bool is_own = held.group == nullptr || held.group == this;
  if (!is_own || offer.rank != group().rank() || offer.program->ranks != size_) throw WrongArgument("call must be of this rank and group");
  if (transport_ == Transport::kMessages && !offer.messages) throw WrongArgument("call must have a program for messages in a group that sends them");
  held.group = this;
}

Group& HeldGroup::group_for(HeldCall& held) const {
  Group& group = this->group();
  require_own(held);
  if (under_way_ > 0) throw Error("the group's thread is already executing calls");
  if (!group.may_execute(held.call)) throw WrongArgument("call must be the one that is under way");
  return group;
}

Status HeldGroup::try_execute(HeldCall& held, std::chrono::microseconds patience, std::chrono::microseconds time_slice) {
  const Status status = group_for(held).try_execute(held.call, patience, time_slice);
  begun_ = status == Status::kWaiting || status == Status::kSlice ? &held : nullptr;
  return status;
}

bool HeldGroup::stage(HeldCall& held) {
  Monitor& monitor = group().monitor();
  require_own(held);
  const auto is_before = [&](const HeldCall* other) { return other == &held || other->staging_buffer->is_read_by(held.call.offer); };
  if (std::any_of(staged_.begin(), staged_.end(), is_before)) return false;
  const bool is_under_way = std::exchange(begun_, nullptr) == &held;
  // The group has failed: no executor is going to use the memory.
  if (!is_under_way && group().has_failed()) return true;
  try {
    auto buffer = std::make_unique<StagingBuffer>(staging_pool_, held.call.offer, held.detachable, is_under_way);
    if (buffer->is_empty()) return true;
    staged_.push_back(&held);
    held.staging_buffer = std::move(buffer);
  } catch (const std::exception&) {
    // The other ranks wait in this collective, or will: the failure releases them.
    monitor.fail_here("is out of memory");
    throw;
  }
  return true;
}

void HeldGroup::finish(HeldCall& held, bool delivers) {
  if (!held.staging_buffer) return;
  const auto staged = std::find(staged_.begin(), staged_.end(), &held);
  if (staged == staged_.end()) throw WrongArgument("call must be one that this group has staged");
  if (delivers) held.staging_buffer->deliver();
  // Other ranks may still write to the staging buffer.
  else if (!group_ || group_->has_failed()) held.staging_buffer->abandon();
  staged_.erase(staged);
  held.staging_buffer.reset();
}

void HeldGroup::submit(HeldCall& held, std::uint32_t id, std::chrono::microseconds timeout) {
  Monitor& monitor = group().monitor();
  require_own(held);
  if (under_way_ == 0) group_for(held);
  try {
    // Groups end before the memory of any record is released, see stop_with_thread.
    runner_->submit({id, &held.call, timeout, recorded_call()});
  } catch (const std::exception& error) {
    // The call may have begun, so other ranks may wait for this one.
    monitor.fail_here(std::string("cannot continue: ") + error.what());
    throw;
  }
  keep_awake(under_way_ + 1);
}

std::vector<Runner::Result> HeldGroup::take_results() {
  if (!runner_) return {};
  std::vector<Runner::Result> results = runner_->take_results();
  keep_awake(under_way_ - results.size());
  return results;
}

void HeldGroup::leave(std::chrono::milliseconds delay) {
  Monitor& monitor = group().monitor();
  is_leaving_ = is_leaving_ || delay.count() == 0;
  keep_awake(under_way_);
  monitor.leave(delay);
}

void HeldGroup::stop() {
  if (!group_) return;
  napi_remove_env_cleanup_hook(env_, stop_with_thread, this);
  if (!has_parted_) group_->monitor().fail_here("has ended without leaving the group");
  runner_.reset();
  group_.reset();
  staging_pool_->unshare();
  wake_.Release();
}

void HeldGroup::stop_with_thread(void* held) { static_cast<HeldGroup*>(held)->stop(); }

void HeldGroup::wake() { wake_.NonBlockingCall(); }

void HeldGroup::keep_awake(std::size_t count) {
  under_way_ = count;
  if (count > 0 || is_leaving_) wake_.Ref(env_);
  else wake_.Unref(env_);
}

}  // namespace coll

#endif
