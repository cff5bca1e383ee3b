#include "findings.h"

#include "../work/runtime.h"

namespace coll {
namespace {

std::string text_in(const Napi::Value& choice, const char* name) {
  if (!choice.IsObject()) return "";
  const Napi::Value value = choice.As<Napi::Object>().Get(name);
  return value.IsString() ? value.As<Napi::String>().Utf8Value() : "";
}

Napi::Object finding_of(Napi::Env env, const Library* library, int version, const Failure& failure) {
  Napi::Object finding = Napi::Object::New(env);
  finding.Set("isDouble", library != nullptr && library->is_double);
  if (library == nullptr) {
    finding.Set("failure", failure.message);
    return finding;
  }
  finding.Set("path", library->path);
  finding.Set("how", library->how);
  finding.Set("version", version);
  return finding;
}

std::string uuid_of(const cuda::Driver& driver, int device) {
  cuda::Uuid uuid{};
  driver.require(driver.device_uuid(&uuid, device), "cuDeviceGetUuid");
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[uuid.bytes[i] >> 4];
    text += kDigits[uuid.bytes[i] & 15];
  }
  return text;
}

int attribute(const cuda::Driver& driver, int device, int which) {
  int value = 0;
  driver.require(driver.device_attribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

Napi::Object device_of(Napi::Env env, const cuda::Driver& driver, int index) {
  int device = 0;
  char text[256] = {};
  std::size_t bytes = 0;
  driver.require(driver.device_get(&device, index), "cuDeviceGet");
  Napi::Object found = Napi::Object::New(env);
  found.Set("index", index);
  driver.require(driver.device_name(text, sizeof text, device), "cuDeviceGetName");
  found.Set("name", std::string(text));
  found.Set("uuid", uuid_of(driver, device));
  driver.require(driver.device_bus_id(text, sizeof text, device), "cuDeviceGetPCIBusId");
  found.Set("busId", std::string(text));
  driver.require(driver.device_bytes(&bytes, device), "cuDeviceTotalMem");
  found.Set("bytes", static_cast<double>(bytes));
  found.Set("multiprocessors", attribute(driver, device, cuda::kAttributeMultiprocessors));
  Napi::Array capability = Napi::Array::New(env, 2);
  capability.Set(0u, attribute(driver, device, cuda::kAttributeCapabilityMajor));
  capability.Set(1u, attribute(driver, device, cuda::kAttributeCapabilityMinor));
  found.Set("capability", capability);
  return found;
}

}  // namespace

Napi::Value probe(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto text = [&](const char* name) { return text_in(info[0], name); };
  Opened opened = open_libraries({text("cudaLibrary"), {text("ncclLibrary"), text("libraryPath")}, text("nvmlLibrary")});
  Napi::Array devices = Napi::Array::New(env);
  Runtime* runtime = opened.runtime;
  if (runtime != nullptr) {
    try {
      for (int i = 0; i < runtime->device_count; ++i) devices.Set(static_cast<std::uint32_t>(i), device_of(env, runtime->driver, i));
    } catch (const Error& error) {
      opened.driver_failure = error.failure();
      runtime = nullptr;
      devices = Napi::Array::New(env);
    }
  }
  const nccl::Nccl* const nccl = runtime != nullptr && runtime->has_nccl() ? &runtime->nccl() : nullptr;
  if (nccl == nullptr && opened.nccl_failure.message.empty()) opened.nccl_failure.message = "NCCL was not tried, because no GPU can be used";
  Napi::Object findings = Napi::Object::New(env);
  findings.Set("driver", finding_of(env, runtime ? &runtime->driver.library : nullptr, runtime ? runtime->driver.version : 0, opened.driver_failure));
  findings.Set("nccl", finding_of(env, nccl ? &nccl->library : nullptr, nccl ? nccl->version : 0, opened.nccl_failure));
  findings.Set("devices", devices);
  return findings;
}

Napi::Value flight_recorder(const Napi::CallbackInfo& info) {
  static constexpr const char* kStates[] = {"queued", "launched", "done", "failed"};
  const Napi::Env env = info.Env();
  Napi::Array list = Napi::Array::New(env);
  for (const FlightEntry& entry : the_runtime().scheduler.flight_record()) {
    Napi::Object record = Napi::Object::New(env);
    record.Set("group", entry.group);
    record.Set("sequence", static_cast<double>(entry.sequence));
    record.Set("operation", entry.operation);
    if (*entry.dtype != '\0') record.Set("dtype", entry.dtype);
    if (*entry.op != '\0') record.Set("op", entry.op);
    if (entry.elements > 0) record.Set("elements", static_cast<double>(entry.elements));
    record.Set("state", kStates[static_cast<int>(entry.state)]);
    record.Set("queued", entry.queued);
    record.Set("launched", entry.launched);
    record.Set("settled", entry.settled);
    list.Set(list.Length(), record);
  }
  return list;
}

Napi::Value counts(const Napi::CallbackInfo& info) {
  const Runtime& runtime = the_runtime();
  Napi::Object found = Napi::Object::New(info.Env());
  found.Set("buffers", static_cast<double>(runtime.counts.buffers));
  found.Set("bufferBytes", static_cast<double>(runtime.counts.buffer_bytes));
  found.Set("hostBytes", static_cast<double>(runtime.counts.host_bytes));
  found.Set("communicators", static_cast<double>(runtime.counts.communicators));
  found.Set("unsettled", static_cast<double>(runtime.scheduler.unsettled()));
  return found;
}

}  // namespace coll
