#pragma once

#include <napi.h>

#include <cstddef>
#include <vector>

namespace coll {

// Where the elements of a typed array are, on shared memory, too; null for an empty or a detached one.
std::byte* address_of(const Napi::Value& array);

// Those of a list of typed arrays.
std::vector<std::byte*> addresses_of(const Napi::Value& arrays);

// Which of them are on memory that JavaScript can take away, or a part of it.
std::vector<bool> are_losable(const Napi::Value& arrays);

// The numbers of a Float64Array.
std::vector<double> numbers_of(const Napi::Value& array);

inline int integer_of(const Napi::Value& number) { return number.As<Napi::Number>().Int32Value(); }

// A value of ours behind a JavaScript object, which deletes it in the end.
template <class T>
Napi::Value hold(Napi::Env env, T* value) {
  return Napi::External<T>::New(env, value, [](Napi::Env, T* held) { delete held; });
}

template <class T>
T& held(const Napi::Value& value) {
  return *value.As<Napi::External<T>>().Data();
}

}  // namespace coll
