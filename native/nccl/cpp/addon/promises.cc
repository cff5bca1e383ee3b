#include "promises.h"

namespace coll {
namespace {

// A pending promise. The scheduler's lock, under which settle() is called, protects the counts; all
// other fields belong to the JavaScript thread.
struct Pending {
  Pending(Napi::Env env, std::size_t operations, MakeValue make)
      : loop(ThreadLoop::of(env)), deferred(env), left(operations), make_value(std::move(make)) {}

  std::shared_ptr<ThreadLoop> loop;
  Napi::Promise::Deferred deferred;
  std::size_t left;
  bool has_failed = false;
  MakeValue make_value;
};

void resolve(Napi::Env env, Pending& pending) {
  try {
    pending.deferred.Resolve(pending.make_value ? pending.make_value(env) : env.Undefined());
  } catch (const Napi::Error& error) {
    pending.deferred.Reject(error.Value());
  }
}

void settle(const std::shared_ptr<Pending>& pending, const Operation& operation, const Failure* failure) {
  --pending->left;
  if (pending->has_failed) return;
  if (failure == nullptr) {
    if (pending->left > 0) return;
    pending->loop->send([pending](Napi::Env env) {
      resolve(env, *pending);
      pending->loop->release(env);
    });
    return;
  }
  pending->has_failed = true;
  pending->loop->send([pending, failed = *failure, name = operation.name, group = operation.group, sequence = operation.sequence](Napi::Env env) {
    pending->deferred.Reject(error_of(env, failed, name, group, sequence).Value());
    pending->loop->release(env);
  });
}

}  // namespace

Napi::Value promise_of(Napi::Env env, Scheduler& scheduler, const std::vector<SharedOperation>& operations, MakeValue value) {
  const auto pending = std::make_shared<Pending>(env, operations.size(), std::move(value));
  pending->loop->hold(env);
  const Napi::Value promise = pending->deferred.Promise();
  for (const SharedOperation& operation : operations) {
    operation->settle = [pending](const Operation& settled, const Failure* failure) { settle(pending, settled, failure); };
  }
  for (const SharedOperation& operation : operations) scheduler.submit(operation);
  return promise;
}

Napi::Value promise_of(Napi::Env env, Scheduler& scheduler, const SharedOperation& operation, MakeValue value) {
  return promise_of(env, scheduler, std::vector<SharedOperation>{operation}, std::move(value));
}

Napi::Error error_of(Napi::Env env, const Failure& failure, const std::string& operation, const std::string& group, std::uint64_t sequence) {
  std::string where = operation;
  if (!group.empty()) where += " of " + group;
  if (sequence > 0) where += " (number " + std::to_string(sequence) + ")";
  Napi::Error error = Napi::Error::New(env, (where.empty() ? "" : where + ": ") + failure.message);
  Napi::Object fields = error.Value();
  fields.Set("kind", name_of(failure.kind));
  fields.Set("code", failure.code);
  fields.Set("operation", operation);
  fields.Set("group", group);
  fields.Set("sequence", static_cast<double>(sequence));
  return error;
}

std::shared_ptr<void> keep(const Napi::Value& value) {
  struct Kept {
    std::shared_ptr<ThreadLoop> loop;
    napi_ref reference = nullptr;
  };
  auto* kept = new Kept{ThreadLoop::of(value.Env())};
  napi_create_reference(value.Env(), value, 1, &kept->reference);
  return std::shared_ptr<void>(kept, [](void* dropped) {
    const std::unique_ptr<Kept> own(static_cast<Kept*>(dropped));
    own->loop->send([reference = own->reference](Napi::Env env) { napi_delete_reference(env, reference); });
  });
}

}  // namespace coll
