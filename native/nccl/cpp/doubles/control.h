#pragma once

#include <string>

// The faults that tests request from the doubles. The file named by COLL_DOUBLE_CONTROL has one
// request per line, and is read anew for every question:
//   fail NAME CODE    the function NAME returns CODE
//   async CODE        communicators report CODE by themselves
//   stuck collective | stuck init | stuck finalize | stuck abort | stuck destroy   the call does not
//                     return (the first three return after an abort)
//   die id | die init | die connect | die collective   kills the process: at the unique id, when it
//                     opens a communicator, when it calls its first collective, when a collective
//                     is on the GPU
//   no nvml | full shm   opening a communicator finds no NVML, or no room in /dev/shm; room also in
//                     the first collective
//   strange context   memory is reported to be of another context than the device's primary one
//   slow collective MILLIS | slow connect MILLIS   duration on the GPU; duration of the first
//                     collective's call
//   slow module MILLIS   duration of the compilation of kernels
//   non-blocking      all new communicators are non-blocking, as with NCCL_COMM_BLOCKING=0
// A line that ends with `rank=N` applies to that rank only; `#` begins a comment.
namespace coll::doubles {

// The number that the control file requests, or `otherwise`. `rank`: -1 if unknown.
int wish(const std::string& what, int otherwise, int rank = -1);
bool is_wished(const std::string& what, int rank = -1);
// Kills the process if that is requested.
void die_if_wished(const std::string& where, int rank = -1);
// Appends a line to the file that COLL_DOUBLE_COUNTS names, for objects that are left when the
// process ends.
void tell_count(const char* what, long count);
int from_environment(const char* name, int otherwise);

}  // namespace coll::doubles
