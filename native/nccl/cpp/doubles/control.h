#pragma once

#include <string>

// What tests ask the doubles to do wrong. A file named by COLL_DOUBLE_CONTROL has a line for each wish; it is read anew at each question:
//   fail NAME CODE    the function NAME returns CODE
//   async CODE        communicators report CODE by themselves
//   stuck collective | stuck init | stuck abort | stuck destroy   it does not come back (collectives and inits do, by an abort)
//   slow collective MILLIS
// A line that ends with `rank=N` is about that rank only; `#` begins a remark.
namespace coll::doubles {

// The number that is wished for, or `otherwise`. `rank` is -1 where none is known.
int wish(const std::string& what, int otherwise, int rank = -1);
bool is_wished(const std::string& what, int rank = -1);
int from_environment(const char* name, int otherwise);

}  // namespace coll::doubles
