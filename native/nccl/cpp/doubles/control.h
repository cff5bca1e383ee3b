#pragma once

#include <string>

// What tests ask the doubles to do wrong. A file named by COLL_DOUBLE_CONTROL has a line for each wish; it is read anew at each question:
//   fail NAME CODE    the function NAME returns CODE
//   async CODE        communicators report CODE by themselves
//   stuck collective | stuck init | stuck finalize | stuck abort | stuck destroy   it does not come back (the first three do, by an abort)
//   die id | die init | die connect | die collective   the process is killed there: at the unique id, when it opens a communicator, when it calls
//                     its first collective, when one is on the GPU
//   no nvml | full shm   a communicator finds no NVML, or no room in /dev/shm, when it is opened; room also in its first collective
//   strange context   memory is said to be of another context than the device's primary one
//   slow collective MILLIS | slow connect MILLIS   so long on the GPU; so long in the first collective's call
//   slow module MILLIS   so long to compile kernels
//   non-blocking      all new communicators are, as NCCL_COMM_BLOCKING=0 makes them
// A line that ends with `rank=N` is about that rank only; `#` begins a remark.
namespace coll::doubles {

// The number that is wished for, or `otherwise`. `rank` is -1 where none is known.
int wish(const std::string& what, int otherwise, int rank = -1);
bool is_wished(const std::string& what, int rank = -1);
// Kills the process where that is wished for.
void die_if_wished(const std::string& where, int rank = -1);
// Appends a line to the file that COLL_DOUBLE_COUNTS names, for what is left when the process ends.
void tell_count(const char* what, long count);
int from_environment(const char* name, int otherwise);

}  // namespace coll::doubles
