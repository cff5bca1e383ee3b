#pragma once

#include <napi.h>

#include <cstddef>
#include <string>

#include "../error.h"

namespace coll {

// Thrown for a wrong argument of a JavaScript caller. Becomes a TypeError there.
class WrongArgument : public Error {
 public:
  using Error::Error;
};

// Describes a value for messages: "a number", "a Float32Array", "a handle".
std::string description_of(const Napi::Value& value);

// The following throw WrongArgument unless the value is of the type in their name. `what` is its
// name in the message.

// The value as an integer, without a fraction. Throws unless the value is between `least` and
// `most`.
int integer_of(const Napi::Value& number, const char* what, int least, int most);
// A number of bytes or elements, up to `most`.
std::size_t count_of(const Napi::Value& number, const char* what, std::size_t most = std::size_t{1} << 53);
// Any number but NaN.
double amount_of(const Napi::Value& number, const char* what);
bool flag_of(const Napi::Value& boolean, const char* what);
std::string text_of(const Napi::Value& string, const char* what);
Napi::Array array_of(const Napi::Value& array, const char* what);
// An array of `length` values.
Napi::Array array_of(const Napi::Value& array, const char* what, std::size_t length);

// Returns the result of `parse`, and turns an Error that it throws into a WrongArgument.
template <class Parse>
auto parsed(const char* what, const Parse& parse) {
  try {
    return parse();
  } catch (const Error& error) {
    throw WrongArgument(std::string(what) + " cannot be parsed: " + error.what());
  }
}

}  // namespace coll
