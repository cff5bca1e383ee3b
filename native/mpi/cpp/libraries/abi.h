#pragma once

#include <cstdint>

#include "library.h"

// The differences between the binary interfaces of MPI. No mpi.h is included, because the library
// is chosen at run time. Open MPI identifies its objects by the addresses of symbols, MPICH by
// 32-bit numbers, MPI 5.0 by small pointers.
namespace coll {

// The element types that are passed to MPI, and its own reductions.
enum class MpiType { kFloat32, kFloat64, kInt8, kInt16, kInt32, kInt64, kUint8, kUint16, kUint32, kUint64, kByte };
constexpr int kMpiTypeCount = 11;
enum class MpiOp { kSum, kMin, kMax, kProduct };
constexpr int kMpiOpCount = 4;

// Positions of the fields of MPI_Status in bytes.
struct StatusFields {
  int source;
  int tag;
};
constexpr int kMostStatusBytes = 64;

struct OpenMpiAbi {
  using Handle = void*;
  static constexpr const char* kName = "Open MPI";
  static constexpr int kSerialized = 2;
  static constexpr int kAnySource = -1, kAnyTag = -1, kUndefined = -32766, kCommTypeShared = 0;
  static constexpr StatusFields kStatus = {0, 4};
  static void* in_place() { return reinterpret_cast<void*>(1); }
  static void* ignored_status() { return nullptr; }
  static Handle world(const Library& library) { return find_symbol(library, "ompi_mpi_comm_world"); }
  static Handle no_info(const Library& library) { return find_symbol(library, "ompi_mpi_info_null"); }
  static Handle no_request(const Library& library) { return find_symbol(library, "ompi_request_null"); }
  static Handle errors_return(const Library& library) { return find_symbol(library, "ompi_mpi_errors_return"); }
  static Handle type(const Library& library, MpiType type) {
    static constexpr const char* kNames[kMpiTypeCount] = {
        "ompi_mpi_float",   "ompi_mpi_double",   "ompi_mpi_int8_t",   "ompi_mpi_int16_t",  "ompi_mpi_int32_t", "ompi_mpi_int64_t",
        "ompi_mpi_uint8_t", "ompi_mpi_uint16_t", "ompi_mpi_uint32_t", "ompi_mpi_uint64_t", "ompi_mpi_byte"};
    return find_symbol(library, kNames[static_cast<int>(type)]);
  }
  static Handle op(const Library& library, MpiOp op) {
    static constexpr const char* kNames[kMpiOpCount] = {"ompi_mpi_op_sum", "ompi_mpi_op_min", "ompi_mpi_op_max", "ompi_mpi_op_prod"};
    return find_symbol(library, kNames[static_cast<int>(op)]);
  }
};

struct MpichAbi {
  using Handle = int;
  static constexpr const char* kName = "MPICH";
  static constexpr int kSerialized = 2;
  static constexpr int kAnySource = -2, kAnyTag = -1, kUndefined = -32766, kCommTypeShared = 1;
  static constexpr StatusFields kStatus = {8, 12};
  static void* in_place() { return reinterpret_cast<void*>(std::intptr_t{-1}); }
  static void* ignored_status() { return reinterpret_cast<void*>(1); }
  static Handle world(const Library&) { return 0x44000000; }
  static Handle no_info(const Library&) { return 0x1c000000; }
  static Handle no_request(const Library&) { return 0x2c000000; }
  static Handle errors_return(const Library&) { return 0x54000001; }
  static Handle type(const Library&, MpiType type) {
    static constexpr int kValues[kMpiTypeCount] = {0x4c00040a, 0x4c00080b, 0x4c000137, 0x4c000238, 0x4c000439, 0x4c00083a,
                                                   0x4c00013b, 0x4c00023c, 0x4c00043d, 0x4c00083e, 0x4c00010d};
    return kValues[static_cast<int>(type)];
  }
  static Handle op(const Library&, MpiOp op) {
    static constexpr int kValues[kMpiOpCount] = {0x58000003, 0x58000002, 0x58000001, 0x58000004};
    return kValues[static_cast<int>(op)];
  }
};

// The standard interface, chapter 20 of MPI 5.0. Tested only with a double, because no library on
// the test machines has it.
struct StandardAbi {
  using Handle = void*;
  static constexpr const char* kName = "MPI 5.0";
  static constexpr int kSerialized = 2048;
  static constexpr int kAnySource = -1, kAnyTag = -2, kUndefined = -32766, kCommTypeShared = 221;
  static constexpr StatusFields kStatus = {0, 4};
  static Handle at(std::uintptr_t value) { return reinterpret_cast<Handle>(value); }
  static void* in_place() { return at(1); }
  static void* ignored_status() { return nullptr; }
  static Handle world(const Library&) { return at(0x101); }
  static Handle no_info(const Library&) { return at(0x130); }
  static Handle no_request(const Library&) { return at(0x180); }
  static Handle errors_return(const Library&) { return at(0x143); }
  static Handle type(const Library&, MpiType type) {
    static constexpr std::uintptr_t kValues[kMpiTypeCount] = {0x210, 0x214, 0x240, 0x248, 0x250, 0x258,
                                                              0x241, 0x249, 0x251, 0x259, 0x247};
    return at(kValues[static_cast<int>(type)]);
  }
  static Handle op(const Library&, MpiOp op) {
    static constexpr std::uintptr_t kValues[kMpiOpCount] = {0x21, 0x22, 0x23, 0x24};
    return at(kValues[static_cast<int>(op)]);
  }
};

}  // namespace coll
