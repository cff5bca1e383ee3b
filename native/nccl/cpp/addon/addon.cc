#include <napi.h>

#include "arguments.h"
#include "buffers.h"
#include "communicators.h"
#include "findings.h"
#include "promises.h"

namespace coll {
namespace {

// Increased with every change of the exports, so that older binaries are refused.
constexpr int kInterface = 3;

// Exceptions of C++ become JavaScript errors.
template <Napi::Value (*function)(const Napi::CallbackInfo&)>
Napi::Value guarded(const Napi::CallbackInfo& info) {
  try {
    return function(info);
  } catch (const Error& error) {
    throw error_of(info.Env(), error.failure(), "", "", 0);
  } catch (const Napi::Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw error_of(info.Env(), {FailureKind::kOutOfMemory, 0, "out of memory"}, "", "", 0);
  } catch (const std::exception& error) {
    throw error_of(info.Env(), {FailureKind::kCuda, 0, error.what()}, "", "", 0);
  }
}

Clock::duration millis_in(const Napi::Value& settings, const char* name) {
  const double millis = settings.As<Napi::Object>().Get(name).As<Napi::Number>().DoubleValue();
  if (!(millis > 0)) throw invalid(std::string(name) + " must be greater than 0");
  return std::chrono::milliseconds(static_cast<std::int64_t>(millis));
}

// configure(settings: Settings): void
Napi::Value configure(const Napi::CallbackInfo& info) {
  the_runtime().scheduler.configure(millis_in(info[0], "timeoutMillis"), millis_in(info[0], "abortGraceMillis"));
  return info.Env().Undefined();
}

// onStuck(listener): void
Napi::Value on_stuck(const Napi::CallbackInfo& info) {
  const auto listener = std::make_shared<Napi::FunctionReference>(Napi::Persistent(info[0].As<Napi::Function>()));
  // Node destroys the reference when the thread ends.
  listener->SuppressDestruct();
  the_runtime().scheduler.on_stuck([loop = ThreadLoop::of(info.Env()), listener](const std::string& message) {
    loop->send([listener, message](Napi::Env env) { listener->Call({Napi::String::New(env, message)}); });
  });
  return info.Env().Undefined();
}

template <Napi::Value (*function)(const Napi::CallbackInfo&)>
void add(Napi::Object exports, const char* name) {
  exports.Set(name, Napi::Function::New<guarded<function>>(exports.Env(), name));
}

Napi::Object fill_exports(Napi::Object exports) {
  exports.Set("interface", kInterface);
  exports.Set("mostInputs", kMostInputs);
  add<probe>(exports, "probe");
  add<configure>(exports, "configure");
  add<on_stuck>(exports, "onStuck");
  add<allocate>(exports, "allocate");
  add<adopt>(exports, "adopt");
  add<free_buffer>(exports, "free");
  add<address>(exports, "address");
  add<write>(exports, "write");
  add<read>(exports, "read");
  add<copy>(exports, "copy");
  add<fill>(exports, "fill");
  add<allocate_host>(exports, "allocateHost");
  add<free_host>(exports, "freeHost");
  add<memory>(exports, "memory");
  add<wait_for>(exports, "waitFor");
  add<order_after>(exports, "orderAfter");
  add<divide>(exports, "divide");
  add<combine>(exports, "combine");
  add<copy_pieces>(exports, "copyPieces");
  add<unique_id>(exports, "uniqueId");
  add<communicator>(exports, "communicator");
  add<open>(exports, "open");
  add<split>(exports, "split");
  add<run>(exports, "run");
  add<abort_communicator>(exports, "abort");
  add<destroy>(exports, "destroy");
  add<flight_recorder>(exports, "flightRecorder");
  add<counts>(exports, "counts");
  return exports;
}

}  // namespace
}  // namespace coll

// Every worker thread loads the addon; the GPUs belong to the whole process.
Napi::Object init_coll_nccl(Napi::Env, Napi::Object exports) { return coll::fill_exports(exports); }
NODE_API_MODULE(coll_nccl, init_coll_nccl)
