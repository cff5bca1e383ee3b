#include <napi.h>

#include "../engine/engine.h"
#include "../error.h"
#include "calls.h"
#include "groups.h"

namespace coll {
namespace {

// Increased with every change of the exports, so that older binaries are refused.
constexpr int kInterface = 5;

// load(path): Facts
Napi::Value load(const Napi::CallbackInfo& info) {
  Engine::the().load(info[0].As<Napi::String>().Utf8Value());
  return facts_in(info.Env());
}

// Exceptions of C++ become JavaScript errors.
template <Napi::Value (*function)(const Napi::CallbackInfo&)>
Napi::Value guarded(const Napi::CallbackInfo& info) {
  try {
    return function(info);
  } catch (const Error& error) {
    throw error_in(info.Env(), error);
  } catch (const Napi::Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Napi::Error::New(info.Env(), error.what());
  }
}

template <Napi::Value (*function)(const Napi::CallbackInfo&)>
void add(Napi::Object exports, const char* name) {
  exports.Set(name, Napi::Function::New<guarded<function>>(exports.Env(), name));
}

// Adds a function without the layers of node-addon-api, for calls that take less than a
// microsecond.
void add_fast(Napi::Object exports, const char* name, napi_callback function) {
  napi_value value = nullptr;
  napi_create_function(exports.Env(), name, NAPI_AUTO_LENGTH, function, nullptr, &value);
  exports.Set(name, Napi::Value(exports.Env(), value));
}

Napi::Object fill_exports(Napi::Object exports) {
  exports.Set("interface", kInterface);
  add<load>(exports, "load");
  add<start>(exports, "start");
  add<open_group>(exports, "openGroup");
  add<split_group>(exports, "splitGroup");
  add<place>(exports, "place");
  add<make_plan>(exports, "plan");
  add_fast(exports, "run", run);
  add_fast(exports, "runSync", run_sync);
  add_fast(exports, "wait", wait);
  add<status_of>(exports, "status");
  add<failure_of>(exports, "failure");
  add<fail>(exports, "fail");
  add<announcements>(exports, "announcements");
  add<keeps_memory>(exports, "keepsMemory");
  add<post>(exports, "post");
  add<events>(exports, "events");
  add<listen>(exports, "listen");
  add<hold>(exports, "hold");
  add<leave>(exports, "leave");
  add<finalize>(exports, "finalize");
  add<abort_at_exit>(exports, "abortAtExit");
  return exports;
}

}  // namespace
}  // namespace coll

// Every worker thread loads the addon; MPI belongs to the whole process.
Napi::Object init_coll_mpi(Napi::Env, Napi::Object exports) { return coll::fill_exports(exports); }
NODE_API_MODULE(coll_mpi, init_coll_mpi)
