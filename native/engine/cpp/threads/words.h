#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "../error.h"
#include "request.h"

namespace coll {

// Reads integers one by one. Its errors state the position of a wrong integer.
class WordReader {
 public:
  WordReader(const std::int32_t* words, std::size_t count) : words_(words), count_(count) {}

  int take(const char* what, int least, int most) {
    if (at_ == count_) throw Error(std::string("a program ends before its ") + what);
    const int word = words_[at_++];
    if (word < least || word > most) {
      throw Error("a program's " + std::string(what) + " must be between " + std::to_string(least) + " and " + std::to_string(most) + ", got " +
                  std::to_string(word));
    }
    return word;
  }

  std::size_t left() const { return count_ - at_; }

 private:
  const std::int32_t* words_;
  std::size_t count_;
  std::size_t at_ = 0;
};

// Reads the beginning of every program: kind op dtype ranks root. The number of chunks is not set
// yet.
Request take_request(WordReader& reader);

}  // namespace coll
