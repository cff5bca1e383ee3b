#pragma once

#include <napi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "arguments.h"

namespace coll {

// The kind of a handle: its name in messages, and the tag by which Node-API recognizes it.
struct HandleKind {
  const char* name;
  napi_type_tag tag;
};

constexpr HandleKind handle_kind(const char* name, std::uint64_t number) { return {name, {0x636f6c6c6e617476, number}}; }

// Specialized for every type that a handle can hold, next to the type.
template <class T>
inline constexpr HandleKind kHandle{nullptr, {}};

// Handles whose tags were checked recently, by any thread: their addresses, with the number of
// their kind in the low bits. Asking Node-API takes a tenth of the time of the smallest collective.
inline std::array<std::atomic<std::uintptr_t>, 1024> checked_handles{};

static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= 16);

inline std::atomic<std::uintptr_t>& place_of(const void* value) {
  const auto address = reinterpret_cast<std::uintptr_t>(value);
  return checked_handles[(address >> 4 ^ address >> 14) % checked_handles.size()];
}

template <class T>
std::uintptr_t checked(const void* value) {
  static_assert(kHandle<T>.name != nullptr && kHandle<T>.tag.upper < 16);
  return reinterpret_cast<std::uintptr_t>(value) | kHandle<T>.tag.upper;
}

// A JavaScript handle that owns a C++ value.
template <class T>
Napi::Value hold(Napi::Env env, T* value) {
  auto handle = Napi::External<T>::New(env, value, [](Napi::Env, T* held) {
    // Forgets that this address was checked, because a value of another kind may get the same one.
    std::uintptr_t known = checked<T>(held);
    place_of(held).compare_exchange_strong(known, 0);
    delete held;
  });
  handle.TypeTag(&kHandle<T>.tag);
  return handle;
}

// Throws WrongArgument unless the handle is of this kind. `is_handle`: whether it is a handle at
// all.
void check_tag(const Napi::Value& handle, bool is_handle, const HandleKind& kind);

// The value of a handle. Throws WrongArgument for anything else.
template <class T>
T& held(const Napi::Value& handle) {
  void* value = nullptr;
  const bool is_handle = napi_get_value_external(handle.Env(), handle, &value) == napi_ok;
  std::atomic<std::uintptr_t>& place = place_of(value);
  if (!is_handle || place.load(std::memory_order_relaxed) != checked<T>(value)) {
    check_tag(handle, is_handle, kHandle<T>);
    place.store(checked<T>(value), std::memory_order_relaxed);
  }
  return *static_cast<T*>(value);
}

}  // namespace coll
