#include "nccl_library.h"

#include <mutex>
#include <set>

#include "machine.h"

namespace coll::nccl {
namespace {

constexpr int kOldestVersion = 21801;

// Before 2.9 the code was 1000 * major + 100 * minor + patch.
std::string in_words(int version) {
  const int major = version < 10000 ? 1000 : 10000;
  return std::to_string(version / major) + "." + std::to_string(version % major / 100) + "." + std::to_string(version % 100);
}

std::string bind_all(Nccl& nccl) {
  std::string missing;
  const auto set = [&](const char* name, auto& function) { bind(nccl.library, name, function, missing); };
  set(kProof, nccl.get_version);
  set("ncclGetErrorString", nccl.error_string);
  set("ncclGetLastError", nccl.last_error);
  set("ncclGetUniqueId", nccl.unique_id);
  set("ncclCommInitRankConfig", nccl.init);
  set("ncclCommFinalize", nccl.finalize);
  set("ncclCommDestroy", nccl.destroy);
  set("ncclCommAbort", nccl.abort);
  set("ncclCommGetAsyncError", nccl.async_error);
  set("ncclCommCount", nccl.count);
  set("ncclCommUserRank", nccl.rank);
  set("ncclCommSplit", nccl.split);
  set("ncclGroupStart", nccl.group_start);
  set("ncclGroupEnd", nccl.group_end);
  set("ncclAllReduce", nccl.all_reduce);
  set("ncclReduce", nccl.reduce);
  set("ncclBroadcast", nccl.broadcast);
  set("ncclAllGather", nccl.all_gather);
  set("ncclReduceScatter", nccl.reduce_scatter);
  set("ncclSend", nccl.send);
  set("ncclRecv", nccl.receive);
  return missing;
}

}  // namespace

Failure Nccl::failure_of(Result result, Communicator communicator) const {
  std::string text = error_string(result);
  const char* const detail = last_error(communicator);
  const std::string said = detail != nullptr ? detail : "";
  if (!said.empty()) text += ": " + said;
  if (said.find("driver version is insufficient") != std::string::npos) text += " (no NVIDIA driver was found, or it is too old for this NCCL)";
  text += " (NCCL result " + std::to_string(result) + ")";
  if (result == kInvalidArgument) return {FailureKind::kInvalidArgument, result, text};
  const std::string advice = result == kSystemError ? advice_for_machine(said) : "";
  if (!advice.empty()) return {FailureKind::kMachine, result, advice + "; NCCL says " + text};
  return {FailureKind::kNccl, result, text};
}

Config Nccl::config_for(const std::string& name, bool is_blocking) const {
  // Names are kept for good, because NCCL may read them at any time.
  static std::mutex mutex;
  static auto* const names = new std::set<std::string>;
  Config config;
  config.blocking = is_blocking ? 1 : 0;
  if (version < static_cast<int>(kNamedConfigVersion)) return config;
  const std::lock_guard<std::mutex> lock(mutex);
  config.name = names->insert(name).first->c_str();
  config.size = kNamedConfigBytes;
  config.version = kNamedConfigVersion;
  return config;
}

Nccl open_nccl(const Choice& choice, const Surroundings& surroundings) {
  Nccl nccl;
  nccl.library = find_library(choice, surroundings);
  const std::string missing = bind_all(nccl);
  identify(nccl.library, kProof);
  if (nccl.get_version == nullptr) throw Error(FailureKind::kNoLibrary, nccl.library.path + " is not an NCCL library: it has no " + kProof);
  nccl.get_version(&nccl.version);
  const std::string found = "NCCL " + in_words(nccl.version) + " (" + nccl.library.path + ")";
  if (nccl.version < kOldestVersion) throw Error(FailureKind::kNoLibrary, found + " is too old: 2.18.1 or newer is needed");
  if (!missing.empty()) throw Error(FailureKind::kNoLibrary, found + " is incomplete: it has no " + missing);
  return nccl;
}

}  // namespace coll::nccl
