#include "groups.h"

#include <cstring>

#include "../engine/engine.h"
#include "../error.h"
#include "handles.h"

namespace coll {
namespace {

constexpr const char* kErrorKinds[] = {"invalid-argument", "no-library", "mpi", "busy"};

GroupHandle& handle_in(const Napi::Value& value) { return held_by<GroupHandle>(value.Env(), value); }

// A promise that a task settles.
struct Pending {
  explicit Pending(Napi::Env env) : loop(GroupLoop::of(env)), deferred(env) { loop->hold(env); }

  std::shared_ptr<GroupLoop> loop;
  Napi::Promise::Deferred deferred;
};

void reject(const std::shared_ptr<Pending>& pending, const Error& error) {
  pending->loop->send([pending, error](Napi::Env env) {
    pending->deferred.Reject(error_in(env, error).Value());
    pending->loop->release(env);
  });
}

Napi::Value handle_of(Napi::Env env, std::shared_ptr<Group> group, const std::shared_ptr<GroupLoop>& loop, std::shared_ptr<Napi::FunctionReference> wake) {
  loop->add(group);
  return hold_in_javascript(env, new GroupHandle{std::move(group), loop, std::move(wake)});
}

// Resolves the promise with the handle of a group. The group calls `wake` when it has events.
SettleGroup settling(const std::shared_ptr<Pending>& pending, const Napi::Value& wake) {
  const auto function = std::make_shared<Napi::FunctionReference>(Napi::Persistent(wake.As<Napi::Function>()));
  // Node destroys the reference when the thread ends.
  function->SuppressDestruct();
  return [pending, function](const std::shared_ptr<Group>& group, const Error* error) {
    if (error != nullptr) return reject(pending, *error);
    if (group) {
      group->wake = [loop = pending->loop, function] {
        loop->send([function](Napi::Env env) { function->Call(env.Global(), {}); });
      };
    }
    pending->loop->send([pending, group, function](Napi::Env env) {
      pending->deferred.Resolve(group ? handle_of(env, group, pending->loop, function) : env.Undefined());
      pending->loop->release(env);
    });
  };
}

}  // namespace

Napi::Error error_in(Napi::Env env, const Error& error) {
  Napi::Error made = Napi::Error::New(env, error.what());
  made.Value().Set("kind", kErrorKinds[static_cast<int>(error.kind())]);
  made.Value().Set("code", error.code());
  return made;
}

Napi::Value facts_in(Napi::Env env) {
  const Facts& facts = Engine::the().facts();
  Napi::Object object = Napi::Object::New(env);
  object.Set("abi", facts.abi);
  object.Set("version", facts.version);
  object.Set("path", facts.path);
  object.Set("how", facts.how);
  object.Set("rank", facts.rank);
  object.Set("size", facts.size);
  object.Set("localRanks", facts.local_ranks);
  Napi::Array hosts = Napi::Array::New(env, facts.hosts.size());
  for (std::size_t rank = 0; rank < facts.hosts.size(); ++rank) hosts.Set(static_cast<std::uint32_t>(rank), facts.hosts[rank]);
  object.Set("hosts", hosts);
  return object;
}

Napi::Value start(const Napi::CallbackInfo& info) {
  const auto pending = std::make_shared<Pending>(info.Env());
  Engine::the().submit(starting([pending](const Error* error) {
    if (error != nullptr) return reject(pending, *error);
    pending->loop->send([pending](Napi::Env env) {
      pending->deferred.Resolve(facts_in(env));
      pending->loop->release(env);
    });
  }));
  return pending->deferred.Promise();
}

Napi::Value open_group(const Napi::CallbackInfo& info) {
  const auto pending = std::make_shared<Pending>(info.Env());
  Engine::the().submit(opening(settling(pending, info[0])));
  return pending->deferred.Promise();
}

Napi::Value split_group(const Napi::CallbackInfo& info) {
  const auto pending = std::make_shared<Pending>(info.Env());
  const int color = info[1].As<Napi::Number>().Int32Value();
  const int key = info[2].As<Napi::Number>().Int32Value();
  Engine::the().submit(splitting(handle_in(info[0]).group, color, key, settling(pending, info[3])));
  return pending->deferred.Promise();
}

Napi::Value place(const Napi::CallbackInfo& info) {
  const Group& group = *handle_in(info[0]).group;
  Napi::Array place = Napi::Array::New(info.Env(), 2);
  place.Set(0u, group.rank());
  place.Set(1u, group.size());
  return place;
}

Napi::Value failure_of(const Napi::CallbackInfo& info) {
  Group& group = *handle_in(info[0]).group;
  std::optional<Failure> failure;
  Engine::the().own([&] { failure = group.failure(); });
  if (!failure) return info.Env().Undefined();
  Napi::Array ranks = Napi::Array::New(info.Env());
  for (std::size_t i = 0; i < failure->ranks.size(); ++i) ranks.Set(static_cast<std::uint32_t>(i), failure->ranks[i]);
  Napi::Array fields = Napi::Array::New(info.Env(), 4);
  fields.Set(0u, static_cast<int>(failure->reason));
  fields.Set(1u, failure->rank);
  fields.Set(2u, ranks);
  fields.Set(3u, failure->text);
  return fields;
}

Napi::Value fail(const Napi::CallbackInfo& info) {
  Group& group = *handle_in(info[0]).group;
  Failure failure{static_cast<Reason>(info[1].As<Napi::Number>().Int32Value()), info[2].As<Napi::Number>().Int32Value(), {}, info[4].As<Napi::String>().Utf8Value()};
  const Napi::Array ranks = info[3].As<Napi::Array>();
  for (std::uint32_t i = 0; i < ranks.Length(); ++i) failure.ranks.push_back(ranks.Get(i).As<Napi::Number>().Int32Value());
  Engine::the().own([&] { group.fail(failure, info[5].As<Napi::Boolean>().Value()); });
  return info.Env().Undefined();
}

Napi::Value announcements(const Napi::CallbackInfo& info) {
  const auto& all = handle_in(info[0]).group->announcements();
  Napi::Float64Array copied = Napi::Float64Array::New(info.Env(), all.size());
  std::copy(all.begin(), all.end(), copied.Data());
  return copied;
}

Napi::Value keeps_memory(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), handle_in(info[0]).group->keeps_memory());
}

Napi::Value post(const Napi::CallbackInfo& info) {
  const int to = info[1].As<Napi::Number>().Int32Value();
  Bytes bytes;
  for (const Napi::Value& part : {info[2], info[3]}) {
    if (part.IsUndefined()) continue;
    const Napi::Uint8Array view = part.As<Napi::Uint8Array>();
    const auto* const data = reinterpret_cast<const std::byte*>(view.Data());
    bytes.insert(bytes.end(), data, data + view.ByteLength());
  }
  Group& group = *handle_in(info[0]).group;
  Engine::the().own([&] { group.post(to, std::move(bytes)); });
  return info.Env().Undefined();
}

Napi::Value events(const Napi::CallbackInfo& info) {
  Group& group = *handle_in(info[0]).group;
  std::deque<Received> received;
  Engine::the().own([&] { received.swap(group.events); });
  Napi::Array list = Napi::Array::New(info.Env(), received.size());
  for (std::size_t i = 0; i < received.size(); ++i) {
    const auto& [note, source, bytes] = received[i];
    Napi::Array event = Napi::Array::New(info.Env(), 2);
    event.Set(0u, source);
    if (note == Note::kPost) {
      Napi::ArrayBuffer copied = Napi::ArrayBuffer::New(info.Env(), bytes.size());
      if (!bytes.empty()) std::memcpy(copied.Data(), bytes.data(), bytes.size());
      event.Set(1u, copied);
    }
    list.Set(static_cast<std::uint32_t>(i), event);
  }
  return list;
}

Napi::Value listen(const Napi::CallbackInfo& info) {
  Group& group = *handle_in(info[0]).group;
  Engine::the().own([&] { group.is_listening = info[1].As<Napi::Boolean>().Value(); });
  return info.Env().Undefined();
}

Napi::Value hold(const Napi::CallbackInfo& info) {
  GroupHandle& handle = handle_in(info[0]);
  if (info[1].As<Napi::Boolean>().Value()) handle.loop->hold(info.Env());
  else handle.loop->release(info.Env());
  return info.Env().Undefined();
}

Napi::Value leave(const Napi::CallbackInfo& info) {
  GroupHandle& handle = handle_in(info[0]);
  Engine::the().own([&] { handle.group->leave(); });
  return info.Env().Undefined();
}

Napi::Value finalize(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), Engine::the().finalize_at_exit(info[0].As<Napi::Number>().DoubleValue()));
}

Napi::Value abort_at_exit(const Napi::CallbackInfo& info) {
  Engine::the().abort_at_exit(info[0].As<Napi::Number>().Int32Value());
  return info.Env().Undefined();
}

}  // namespace coll
