#include "arguments.h"

#include <cmath>
#include <cstdint>

#include "memory.h"

namespace coll {
namespace {

[[noreturn]] void refuse(const char* what, const std::string& expected, const Napi::Value& got) {
  throw WrongArgument(std::string(what) + " must be " + expected + ", got " + description_of(got));
}

double number_of(const Napi::Value& value, const char* what) {
  double number = 0;
  if (napi_get_value_double(value.Env(), value, &number) != napi_ok) refuse(what, "a number", value);
  return number;
}

std::string digits_of(double number) {
  if (std::floor(number) != number || std::fabs(number) >= 1e18) return std::to_string(number);
  return std::to_string(static_cast<long long>(number));
}

}  // namespace

std::string description_of(const Napi::Value& value) {
  switch (value.Type()) {
    case napi_undefined: return "undefined";
    case napi_null: return "null";
    case napi_boolean: return "a boolean";
    case napi_number: return "a number";
    case napi_string: return "a string";
    case napi_function: return "a function";
    case napi_external: return "a handle of another kind";
    default: break;
  }
  if (value.IsArray()) return "an array of " + std::to_string(value.As<Napi::Array>().Length());
  if (!value.IsTypedArray()) return "another value";
  napi_typedarray_type type = napi_uint8_clamped_array;
  std::size_t length = 0;
  napi_get_typedarray_info(value.Env(), value, &type, &length, nullptr, nullptr, nullptr);
  return std::string("a ") + name_of(type) + " of " + std::to_string(length);
}

int integer_of(const Napi::Value& value, const char* what, int least, int most) {
  const double number = number_of(value, what);
  if (number >= least && number < static_cast<double>(most) + 1) return static_cast<int>(number);
  throw WrongArgument(std::string(what) + " must be between " + std::to_string(least) + " and " + std::to_string(most) + ", got " + digits_of(number));
}

std::size_t count_of(const Napi::Value& value, const char* what, std::size_t most) {
  const double number = number_of(value, what);
  if (number >= 0 && number <= static_cast<double>(most)) {
    // std::floor() would be a function call on the oldest processors that this is compiled for.
    const auto count = static_cast<std::int64_t>(number);
    if (static_cast<double>(count) == number) return static_cast<std::size_t>(count);
  }
  throw WrongArgument(std::string(what) + " must be a whole number between 0 and " + std::to_string(most) + ", got " + digits_of(number));
}

double amount_of(const Napi::Value& value, const char* what) {
  const double number = number_of(value, what);
  if (std::isnan(number)) throw WrongArgument(std::string(what) + " must be a number, got NaN");
  return number;
}

bool flag_of(const Napi::Value& value, const char* what) {
  bool flag = false;
  if (napi_get_value_bool(value.Env(), value, &flag) != napi_ok) refuse(what, "true or false", value);
  return flag;
}

std::string text_of(const Napi::Value& value, const char* what) {
  if (!value.IsString()) refuse(what, "a string", value);
  return value.As<Napi::String>();
}

Napi::Array array_of(const Napi::Value& value, const char* what) {
  if (!value.IsArray()) refuse(what, "an array", value);
  return value.As<Napi::Array>();
}

Napi::Array array_of(const Napi::Value& value, const char* what, std::size_t length) {
  const Napi::Array array = array_of(value, what);
  if (array.Length() != length) refuse(what, "an array of " + std::to_string(length), value);
  return array;
}

}  // namespace coll
