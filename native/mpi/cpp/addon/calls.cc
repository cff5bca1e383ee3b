#include "calls.h"

#include "../engine/engine.h"
#include "handles.h"

namespace coll {
namespace {

std::vector<Segment> segments_of(const Napi::Value& list) {
  const Napi::Array array = list.As<Napi::Array>();
  std::vector<Segment> segments(array.Length());
  for (std::uint32_t i = 0; i < array.Length(); ++i) {
    const Napi::Value view = array.Get(i);
    void* data = nullptr;
    napi_get_typedarray_info(view.Env(), view, nullptr, nullptr, &data, nullptr, nullptr);
    segments[i] = {static_cast<std::byte*>(data), view.As<Napi::TypedArray>().ByteLength()};
  }
  return segments;
}

int int_of(const Napi::Value& value) { return value.As<Napi::Number>().Int32Value(); }

struct Arguments {
  napi_value values[5];
  std::size_t count = 5;

  Arguments(napi_env env, napi_callback_info info) { napi_get_cb_info(env, info, &count, values, nullptr, nullptr); }
  double number(napi_env env, int index) const {
    double number = 0;
    napi_get_value_double(env, values[index], &number);
    return number;
  }
  bool flag(napi_env env, int index) const {
    bool flag = false;
    napi_get_value_bool(env, values[index], &flag);
    return flag;
  }
};

napi_value number_of(napi_env env, Status status) {
  napi_value number = nullptr;
  napi_create_int32(env, static_cast<int>(status), &number);
  return number;
}

}  // namespace

Napi::Value make_plan(const Napi::CallbackInfo& info) {
  auto plan = std::make_shared<Plan>();
  plan->kind = static_cast<Kind>(int_of(info[0]));
  plan->op = static_cast<Op>(int_of(info[1]));
  plan->dtype = static_cast<DType>(int_of(info[2]));
  plan->root = int_of(info[3]);
  plan->count = static_cast<std::size_t>(info[4].As<Napi::Number>().DoubleValue());
  plan->is_wide = info[5].As<Napi::Boolean>().Value();
  plan->name = info[6].As<Napi::String>().Utf8Value();
  const Napi::Float64Array announcement = info[7].As<Napi::Float64Array>();
  std::copy_n(announcement.Data(), kAnnouncedFields, plan->announcement.begin());
  plan->inputs = segments_of(info[8]);
  plan->outputs = segments_of(info[9]);
  return hold_in_javascript(info.Env(), new PlanHandle{std::move(plan)});
}

napi_value run(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  Group& group = *held_by<GroupHandle>(env, arguments.values[0]).group;
  const auto& plan = held_by<PlanHandle>(env, arguments.values[1]).plan;
  const auto patience = static_cast<int>(arguments.number(env, 4));
  return number_of(env, Engine::the().begin(group, plan, arguments.number(env, 2), arguments.flag(env, 3), patience));
}

napi_value run_sync(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  Group& group = *held_by<GroupHandle>(env, arguments.values[0]).group;
  const auto& plan = held_by<PlanHandle>(env, arguments.values[1]).plan;
  return number_of(env, Engine::the().begin_and_wait(group, plan, arguments.number(env, 2), arguments.flag(env, 3)));
}

napi_value wait(napi_env env, napi_callback_info info) {
  const Arguments arguments(env, info);
  return number_of(env, Engine::the().wait(*held_by<GroupHandle>(env, arguments.values[0]).group));
}

Napi::Value status_of(const Napi::CallbackInfo& info) {
  Group& group = *held_by<GroupHandle>(info.Env(), info[0]).group;
  Status status = Status::kPending;
  Engine::the().own([&] { status = group.status(); });
  return Napi::Number::New(info.Env(), static_cast<int>(status));
}

}  // namespace coll
