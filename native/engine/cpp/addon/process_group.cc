#if defined(__linux__)

#include "process_group.h"

#include "../error.h"

namespace coll {

HeldGroup::HeldGroup(Napi::Env env, Watch watch, const Napi::Function& wake)
    : env_(env), wake_(Napi::ThreadSafeFunction::New(env, wake, "coll process group", 0, 1)) {
  wake_.Unref(env);
  watch.parted = [this] {
    has_parted_ = true;
    this->wake();
  };
  group_ = std::make_unique<Group>(std::move(watch));
  runner_ = std::make_unique<Runner>(*group_, [this] { this->wake(); });
  // Hooks run in reverse order: this one ends the threads before the function that they call is gone.
  napi_add_env_cleanup_hook(env, stop_with_thread, this);
}

Group& HeldGroup::group() const {
  if (!group_) throw Error("this group was closed");
  return *group_;
}

void HeldGroup::submit(Napi::Env env, const Runner::Job& job) {
  group();
  keep_awake(env, under_way_ + 1);
  runner_->submit(job);
}

std::vector<Runner::Result> HeldGroup::take_results(Napi::Env env) {
  if (!runner_) return {};
  std::vector<Runner::Result> results = runner_->take_results();
  keep_awake(env, under_way_ - results.size());
  return results;
}

void HeldGroup::leave(Napi::Env env) {
  wake_.Ref(env);
  group().monitor().leave();
}

void HeldGroup::stop() {
  if (!group_) return;
  napi_remove_env_cleanup_hook(env_, stop_with_thread, this);
  if (!has_parted_) group_->monitor().fail_here();
  runner_.reset();
  group_.reset();
  wake_.Release();
}

void HeldGroup::stop_with_thread(void* held) { static_cast<HeldGroup*>(held)->stop(); }

void HeldGroup::wake() { wake_.NonBlockingCall(); }

void HeldGroup::keep_awake(Napi::Env env, std::size_t count) {
  if (under_way_ == 0 && count > 0) wake_.Ref(env);
  if (under_way_ > 0 && count == 0) wake_.Unref(env);
  under_way_ = count;
}

}  // namespace coll

#endif
