#pragma once

#include <cstdint>

// The part of CUDA's driver interface that this project uses, declared here so that building needs
// no NVIDIA header. The names are this project's, the layouts and values those of the documented
// binary interface.
namespace coll::cuda {

struct ContextRecord;
struct StreamRecord;
struct EventRecord;
struct ModuleRecord;
struct FunctionRecord;
struct PoolRecord;

using Result = int;
using Pointer = std::uint64_t;
using Context = ContextRecord*;
using Stream = StreamRecord*;
using Event = EventRecord*;
using Module = ModuleRecord*;
using Function = FunctionRecord*;
using Pool = PoolRecord*;

struct Uuid {
  unsigned char bytes[16];
};

struct Location {
  int type;
  int id;
};

// The location that may access the memory of a pool or a mapping, and the kind of access.
struct Access {
  Location location;
  int rights;
};

constexpr Result kSuccess = 0;
constexpr Result kInvalidValue = 1;
constexpr Result kOutOfMemory = 2;
constexpr Result kShuttingDown = 4;
constexpr Result kStub = 34;
constexpr Result kNoDevice = 100;
constexpr Result kInvalidDevice = 101;
constexpr Result kInvalidContext = 201;
constexpr Result kUnsupportedPtx = 222;
constexpr Result kInvalidHandle = 400;
constexpr Result kNotFound = 500;
constexpr Result kNotReady = 600;
constexpr Result kSystemNotReady = 802;
constexpr Result kDriverMismatch = 803;
constexpr Result kCompatibilityUnsupported = 804;

constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventNoTiming = 2;
constexpr unsigned kHostPortable = 1;

constexpr int kAttributeMultiprocessors = 16;
constexpr int kAttributeCapabilityMajor = 75;
constexpr int kAttributeCapabilityMinor = 76;
constexpr int kAttributeMemoryPools = 115;
constexpr int kPointerContext = 1;
constexpr int kPointerManaged = 8;
constexpr int kPointerOrdinal = 9;
constexpr int kPointerLegacyIpc = 10;
constexpr int kPointerPool = 17;
constexpr int kPoolReleaseThreshold = 4;
constexpr int kLocationDevice = 1;
constexpr int kReadAndWrite = 3;

}  // namespace coll::cuda
