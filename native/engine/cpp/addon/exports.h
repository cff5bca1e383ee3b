#pragma once

#include <napi.h>

#include <new>
#include <string>

#include "arguments.h"

namespace coll {

// Exceptions of C++ become JavaScript errors.
template <Napi::Value (*function)(const Napi::CallbackInfo&)>
Napi::Value guarded(const Napi::CallbackInfo& info) {
  try {
    return function(info);
  } catch (const WrongArgument& error) {
    throw Napi::TypeError::New(info.Env(), error.what());
  } catch (const Error& error) {
    throw Napi::Error::New(info.Env(), error.what());
  } catch (const Napi::Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Napi::Error::New(info.Env(), "out of memory");
  } catch (const std::exception& error) {
    throw Napi::Error::New(info.Env(), std::string("the native engine failed: ") + error.what());
  }
}

template <Napi::Value (*function)(const Napi::CallbackInfo&)>
void add(Napi::Object exports, const char* name) {
  exports.Set(name, Napi::Function::New<guarded<function>>(exports.Env(), name));
}

// Adds the functions for groups of processes, on platforms that support them.
void add_processes(Napi::Object exports);

}  // namespace coll
