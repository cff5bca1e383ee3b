#include "communicators.h"

#include <cstring>

#include "../communicators/collectives.h"
#include "../communicators/lifecycle.h"
#include "arguments.h"
#include "promises.h"

namespace coll {
namespace {

using SharedClique = std::shared_ptr<Clique>;

constexpr napi_type_tag kCliqueTag = {0x636f6c6c6e63636c, 0x636c697175650001};
constexpr std::size_t kNumbersPerCall = 5;

const SharedClique& clique_of(const Napi::Value& handle) { return held<SharedClique>(handle, kCliqueTag, "communicator"); }

Napi::Value handle_of(Napi::Env env, const SharedClique& clique) {
  ThreadLoop::of(env)->cliques.add(clique);
  return hold(env, new SharedClique(clique), kCliqueTag);
}

void set_timeout(Operation& operation, const Napi::Value& millis) {
  constexpr double kLongestMillis = 1e12;
  const double number = millis.As<Napi::Number>().DoubleValue();
  if (!(number > 0)) throw invalid("a timeout must be greater than 0 milliseconds");
  operation.deadline = Clock::now() + std::chrono::microseconds(static_cast<std::int64_t>(std::min(number, kLongestMillis) * 1000));
}

nccl::UniqueId id_of(const Napi::Value& bytes) {
  const HostMemory memory = memory_of(bytes);
  nccl::UniqueId id{};
  if (memory.bytes != sizeof id.bytes) throw invalid("a unique id must have 128 bytes");
  std::memcpy(id.bytes, memory.begin, sizeof id.bytes);
  return id;
}

Napi::Array numbers(Napi::Env env, const std::vector<int>& integers) {
  Napi::Array list = Napi::Array::New(env, integers.size());
  for (std::uint32_t i = 0; i < integers.size(); ++i) list.Set(i, integers[i]);
  return list;
}

Napi::Value list_of(Napi::Env env, const std::vector<Part>& parts) {
  Napi::Array list = Napi::Array::New(env);
  for (const Part& part : parts) {
    Napi::Object found = Napi::Object::New(env);
    found.Set("communicator", handle_of(env, part.clique));
    found.Set("color", part.color);
    found.Set("size", part.clique->size);
    found.Set("places", numbers(env, part.places));
    found.Set("ranks", numbers(env, part.clique->ranks));
    list.Set(list.Length(), found);
  }
  return list;
}

// The buffers of a group call: a list of handles and their offsets.
struct AddressList {
  Napi::Array handles;
  std::vector<double> offsets;

  AddressList(const Napi::Value& list, const Napi::Value& numbers_list, std::size_t count) : handles(list.As<Napi::Array>()), offsets(numbers_of(numbers_list)) {
    if (handles.Length() != count || offsets.size() != count) throw invalid("a group call needs a buffer and an offset for each call and rank");
  }

  DeviceAddress at(std::size_t index) const {
    const Napi::Value handle = handles.Get(static_cast<std::uint32_t>(index));
    return handle.IsUndefined() ? DeviceAddress{} : DeviceAddress{allocation_of(handle), size_of(offsets[index])};
  }
};

}  // namespace

Napi::Value unique_id(const Napi::CallbackInfo& info) {
  Runtime& runtime = the_runtime();
  const auto id = std::make_shared<nccl::UniqueId>();
  return promise_of(info.Env(), runtime.scheduler, make_unique_id(runtime, id), [id](Napi::Env env) -> Napi::Value {
    Napi::Uint8Array bytes = Napi::Uint8Array::New(env, sizeof id->bytes);
    std::memcpy(bytes.Data(), id->bytes, sizeof id->bytes);
    return bytes;
  });
}

Napi::Value communicator(const Napi::CallbackInfo& info) {
  Runtime& runtime = the_runtime();
  const Napi::Object request = info[0].As<Napi::Object>();
  const Napi::Value blocking = request.Get("blocking");
  const SharedClique clique = new_clique(runtime, {integer_of(request.Get("size")), integers_of(request.Get("ranks")), integers_of(request.Get("devices")),
                                                   request.Get("name").As<Napi::String>().Utf8Value(), blocking.IsUndefined() || blocking.ToBoolean().Value()});
  return handle_of(info.Env(), clique);
}

Napi::Value open(const Napi::CallbackInfo& info) {
  Runtime& runtime = the_runtime();
  const SharedOperation operation = open_clique(runtime, clique_of(info[0]), id_of(info[1]));
  set_timeout(*operation, info[2]);
  return promise_of(info.Env(), runtime.scheduler, operation);
}

Napi::Value split(const Napi::CallbackInfo& info) {
  Runtime& runtime = the_runtime();
  const auto parts = std::make_shared<std::vector<Part>>();
  const SplitRequest request{integers_of(info[1]), integers_of(info[2]), info[3].As<Napi::String>().Utf8Value(), info[4].ToBoolean().Value()};
  const SharedOperation operation = split_clique(runtime, clique_of(info[0]), request, parts);
  set_timeout(*operation, info[5]);
  return promise_of(info.Env(), runtime.scheduler, operation, [parts](Napi::Env env) { return list_of(env, *parts); });
}

Napi::Value run(const Napi::CallbackInfo& info) {
  Runtime& runtime = the_runtime();
  const SharedClique& clique = clique_of(info[0]);
  const std::vector<double> words = numbers_of(info[1]);
  if (words.empty() || words.size() % kNumbersPerCall != 0) throw invalid("a group call needs five numbers per call");
  const std::size_t call_count = words.size() / kNumbersPerCall;
  const std::size_t locals = clique->ranks.size();
  const AddressList inputs(info[2], info[3], call_count * locals);
  const AddressList outputs(info[4], info[5], call_count * locals);
  std::vector<Call> calls;
  for (std::size_t i = 0; i < call_count; ++i) {
    const double* const word = &words[i * kNumbersPerCall];
    if (!(word[0] >= 0 && word[0] < kKindCount)) throw invalid("unknown kind of collective");
    Call call{static_cast<Kind>(word[0]), static_cast<int>(word[1]), static_cast<int>(word[2]), static_cast<int>(word[3]), size_of(word[4]), {}, {}};
    for (std::size_t j = 0; j < locals; ++j) {
      call.inputs.push_back(inputs.at(i * locals + j));
      call.outputs.push_back(outputs.at(i * locals + j));
    }
    calls.push_back(std::move(call));
  }
  const SharedOperation operation = run_calls(runtime, clique, std::move(calls));
  set_timeout(*operation, info[6]);
  return promise_of(info.Env(), runtime.scheduler, operation);
}

Napi::Value abort_communicator(const Napi::CallbackInfo& info) {
  the_runtime().scheduler.fail_clique(*clique_of(info[0]), {FailureKind::kAborted, 0, info[1].As<Napi::String>().Utf8Value()});
  return info.Env().Undefined();
}

Napi::Value destroy(const Napi::CallbackInfo& info) {
  Runtime& runtime = the_runtime();
  return promise_of(info.Env(), runtime.scheduler, destroy_clique(runtime, clique_of(info[0])));
}

}  // namespace coll
