// A test double of an MPI library with the binary interface of MPI 5.0 (chapter 20): the functions that @coll/mpi calls, and no others. It is
// strict: a handle or constant that the standard does not define is an error, so that a wrong one in the addon fails a test.
//
// Ranks exchange files in the folder COLL_DOUBLE_FOLDER. PMI_RANK and PMI_SIZE say which rank this is, as a launcher would; without them it is
// alone. Reductions combine in the order of ranks.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

using Bytes = std::vector<char>;
using Handle = void*;
using UserFunction = void (*)(void* in, void* inout, int* count, Handle* type);

enum Result { kSuccess = 0, kErrCount = 2, kErrType = 3, kErrComm = 5, kErrRank = 6, kErrRequest = 7, kErrOp = 10, kErrArg = 13, kErrTruncate = 15, kErrOther = 16 };

Handle at(std::uintptr_t value) { return reinterpret_cast<Handle>(value); }
const Handle kWorld = at(0x101), kNoInfo = at(0x130), kErrorsReturn = at(0x143), kNoRequest = at(0x180), kNoComm = at(0x100);
const void* const kInPlace = at(1);
constexpr int kAnySource = -1, kAnyTag = -2, kUndefined = -32766, kTypeShared = 221;
constexpr int kThreadLevels[] = {0, 1024, 2048, 4096};

struct Status {
  int source;
  int tag;
  int error;
  int internal[5];
};

struct Comm {
  std::string name;
  // Ranks of the world, by rank.
  std::vector<int> members;
  int rank = 0;
  int collectives = 0;
  std::map<int, int> sent;
};

// A request. Its function returns whether the request has ended; `result` then holds an error, if
// any.
struct Request {
  std::function<bool(Result&)> poll;
};

struct Op {
  UserFunction function;
};

Comm* world = nullptr;
std::string folder;
bool is_started = false;

Comm* comm_of(Handle handle) { return handle == kWorld ? world : handle == nullptr || handle == kNoComm ? nullptr : static_cast<Comm*>(handle); }

int number_of(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

// Bytes of an element; 0 for a type that the standard does not define.
int size_of(Handle type) {
  switch (reinterpret_cast<std::uintptr_t>(type)) {
    case 0x240: case 0x241: case 0x247: return 1;
    case 0x248: case 0x249: return 2;
    case 0x210: case 0x250: case 0x251: return 4;
    case 0x214: case 0x258: case 0x259: return 8;
    default: return 0;
  }
}

template <class T>
bool combine_as(std::uintptr_t op, const char* from, char* into, int count) {
  for (int i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, from + i * sizeof(T), sizeof(T));
    std::memcpy(&b, into + i * sizeof(T), sizeof(T));
    switch (op) {
      case 0x21: b = static_cast<T>(b + a); break;
      case 0x22: b = std::min(a, b); break;
      case 0x23: b = std::max(a, b); break;
      case 0x24: b = static_cast<T>(b * a); break;
      default: return false;
    }
    std::memcpy(into + i * sizeof(T), &b, sizeof(T));
  }
  return true;
}

bool combine(Handle op, Handle type, char* from, char* into, int count) {
  const auto number = reinterpret_cast<std::uintptr_t>(op);
  if (number > 0x3d) {
    static_cast<Op*>(op)->function(from, into, &count, &type);
    return true;
  }
  switch (reinterpret_cast<std::uintptr_t>(type)) {
    case 0x210: return combine_as<float>(number, from, into, count);
    case 0x214: return combine_as<double>(number, from, into, count);
    case 0x240: return combine_as<std::int8_t>(number, from, into, count);
    case 0x241: return combine_as<std::uint8_t>(number, from, into, count);
    case 0x248: return combine_as<std::int16_t>(number, from, into, count);
    case 0x249: return combine_as<std::uint16_t>(number, from, into, count);
    case 0x250: return combine_as<std::int32_t>(number, from, into, count);
    case 0x251: return combine_as<std::uint32_t>(number, from, into, count);
    case 0x258: return combine_as<std::int64_t>(number, from, into, count);
    case 0x259: return combine_as<std::uint64_t>(number, from, into, count);
    default: return false;
  }
}

// Writes a message as a file, under a temporary name first, so that readers see only complete
// files.
void post(const std::string& box, const std::string& name, const void* data, std::size_t bytes) {
  mkdir((folder + "/" + box).c_str(), 0700);
  const std::string begun = folder + "/" + box + "/." + name;
  FILE* const file = std::fopen(begun.c_str(), "wb");
  if (file == nullptr || (bytes > 0 && std::fwrite(data, 1, bytes, file) != bytes) || std::fclose(file) != 0) {
    std::fprintf(stderr, "the double of MPI cannot write %s\n", begun.c_str());
    std::abort();
  }
  std::rename(begun.c_str(), (folder + "/" + box + "/" + name).c_str());
}

bool take(const std::string& path, Bytes& bytes) {
  FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return false;
  struct stat facts;
  fstat(fileno(file), &facts);
  bytes.resize(static_cast<std::size_t>(facts.st_size));
  const std::size_t read = bytes.empty() ? 0 : std::fread(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  unlink(path.c_str());
  return read == bytes.size();
}

std::string box_of(const Comm& comm, int to) { return comm.name + "-to-" + std::to_string(to); }

// The messages that this rank sends to and expects from each other rank in one collective, and the
// function that uses them once all have arrived.
class Exchange {
 public:
  explicit Exchange(Comm& comm) : comm_(comm), call_(comm.collectives++), got_(comm.members.size()) {}

  void send(int to, const void* data, std::size_t bytes) const {
    post(box_of(comm_, to), "c" + std::to_string(call_) + "-" + std::to_string(comm_.rank), data, bytes);
  }
  void send_all(const void* data, std::size_t bytes) const {
    for (int to = 0; to < size(); ++to) send(to, data, bytes);
  }
  void expect(int from) { missing_.push_back(from); }
  void expect_all() {
    for (int from = 0; from < size(); ++from) expect(from);
  }
  bool poll() {
    const auto has_come = [this](int from) {
      const std::string name = "/c" + std::to_string(call_) + "-" + std::to_string(from);
      return take(folder + "/" + box_of(comm_, comm_.rank) + name, got_[static_cast<std::size_t>(from)]);
    };
    missing_.erase(std::remove_if(missing_.begin(), missing_.end(), has_come), missing_.end());
    return missing_.empty();
  }
  Bytes& got(int from) { return got_[static_cast<std::size_t>(from)]; }
  int size() const { return static_cast<int>(comm_.members.size()); }
  int rank() const { return comm_.rank; }
  int call() const { return call_; }

 private:
  Comm& comm_;
  const int call_;
  std::vector<int> missing_;
  std::vector<Bytes> got_;
};

using Finish = std::function<Result(Exchange&)>;

int start(Exchange exchange, Handle* request, Finish finish) {
  auto made = new Request;
  made->poll = [exchange = std::move(exchange), finish = std::move(finish)](Result& result) mutable {
    if (!exchange.poll()) return false;
    result = finish(exchange);
    return true;
  };
  *request = made;
  return kSuccess;
}

Result copy(const Bytes& from, void* into, std::size_t most) {
  if (from.size() > most) return kErrTruncate;
  if (!from.empty()) std::memcpy(into, from.data(), from.size());
  return kSuccess;
}

// Combines what all ranks have sent, from the first to the last.
Result fold(Exchange& exchange, void* into, int count, Handle type, Handle op) {
  const std::size_t bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(size_of(type));
  for (int from = 0; from < exchange.size(); ++from)
    if (exchange.got(from).size() != bytes) return kErrTruncate;
  Bytes total = exchange.got(0);
  for (int from = 1; from < exchange.size(); ++from) {
    // A user's function combines `in op inout` into inout, so that the lower rank is `in`.
    Bytes next = exchange.got(from);
    if (!combine(op, type, total.data(), next.data(), count)) return kErrOp;
    total = std::move(next);
  }
  return copy(total, into, bytes);
}

// A message of a sender to this rank. Its number determines the order in which it is received.
struct Letter {
  int number;
  int source;
  int tag;
  std::string path;
  long bytes;
};

bool first_letter(const Comm& comm, int source, int tag, Letter& first) {
  const std::string box = folder + "/" + box_of(comm, comm.rank);
  DIR* const files = opendir(box.c_str());
  if (files == nullptr) return false;
  bool has_one = false;
  while (const dirent* const file = readdir(files)) {
    Letter letter{};
    if (std::sscanf(file->d_name, "p%d-%d-%d", &letter.number, &letter.source, &letter.tag) != 3) continue;
    if ((source != kAnySource && letter.source != source) || (tag != kAnyTag && letter.tag != tag)) continue;
    if (has_one && first.number <= letter.number) continue;
    letter.path = box + "/" + file->d_name;
    first = letter;
    has_one = true;
  }
  closedir(files);
  struct stat facts;
  if (has_one && stat(first.path.c_str(), &facts) == 0) first.bytes = facts.st_size;
  return has_one;
}

void tell(const Letter& letter, void* status) {
  if (status == nullptr) return;
  auto* const result = static_cast<Status*>(status);
  result->source = letter.source;
  result->tag = letter.tag;
  result->error = kSuccess;
  result->internal[0] = static_cast<int>(letter.bytes);
}

// Executes an exchange at once and blocks, as MPI_Comm_split does.
void finish_now(Exchange& exchange) {
  while (!exchange.poll()) usleep(200);
}

Comm* split(Comm& comm, int color, int key) {
  Exchange exchange(comm);
  const int own[] = {color, key};
  exchange.send_all(own, sizeof own);
  exchange.expect_all();
  finish_now(exchange);
  std::vector<std::pair<int, int>> part;
  for (int from = 0; from < exchange.size(); ++from) {
    int their[2];
    std::memcpy(their, exchange.got(from).data(), sizeof their);
    if (their[0] == color) part.emplace_back(their[1], from);
  }
  if (color == kUndefined) return nullptr;
  std::sort(part.begin(), part.end());
  auto* const made = new Comm;
  made->name = comm.name + "." + std::to_string(exchange.call()) + "c" + std::to_string(color);
  for (const auto& [_, from] : part) {
    if (from == comm.rank) made->rank = static_cast<int>(made->members.size());
    made->members.push_back(comm.members[static_cast<std::size_t>(from)]);
  }
  return made;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int MPI_Abi_get_version(int* major, int* minor) {
  *major = 1;
  *minor = 0;
  return kSuccess;
}

int MPI_Get_library_version(char* text, int* length) {
  *length = std::snprintf(text, 8192, "a test double of MPI 5.0");
  return kSuccess;
}

int MPI_Error_string(int code, char* text, int* length) {
  *length = std::snprintf(text, 512, "error %d of the test double of MPI", code);
  return kSuccess;
}

int MPI_Initialized(int* flag) {
  *flag = is_started ? 1 : 0;
  return kSuccess;
}

int MPI_Init_thread(int*, char***, int required, int* provided) {
  if (std::count(std::begin(kThreadLevels), std::end(kThreadLevels), required) == 0) return kErrArg;
  const int size = number_of("PMI_SIZE", 1);
  const char* const where = std::getenv("COLL_DOUBLE_FOLDER");
  if (where == nullptr && size > 1) return kErrOther;
  folder = where == nullptr ? "" : where;
  if (where == nullptr) {
    char made[] = "/tmp/coll-double-mpi-XXXXXX";
    folder = mkdtemp(made);
  }
  world = new Comm;
  world->name = "world";
  world->rank = number_of("PMI_RANK", 0);
  for (int rank = 0; rank < size; ++rank) world->members.push_back(rank);
  is_started = true;
  *provided = required;
  return kSuccess;
}

int MPI_Finalize() {
  // No rank ends before all ranks have called MPI_Finalize.
  Exchange exchange(*world);
  exchange.send_all(nullptr, 0);
  exchange.expect_all();
  finish_now(exchange);
  return kSuccess;
}

int MPI_Abort(Handle, int code) { _exit(code); }

int MPI_Comm_set_errhandler(Handle comm, Handle handler) {
  if (comm_of(comm) == nullptr) return kErrComm;
  return handler == kErrorsReturn ? kSuccess : kErrArg;
}

int MPI_Comm_rank(Handle comm, int* rank) {
  if (comm_of(comm) == nullptr) return kErrComm;
  *rank = comm_of(comm)->rank;
  return kSuccess;
}

int MPI_Comm_size(Handle comm, int* size) {
  if (comm_of(comm) == nullptr) return kErrComm;
  *size = static_cast<int>(comm_of(comm)->members.size());
  return kSuccess;
}

int MPI_Comm_split(Handle comm, int color, int key, Handle* made) {
  if (comm_of(comm) == nullptr) return kErrComm;
  if (color < 0 && color != kUndefined) return kErrArg;
  Comm* const part = split(*comm_of(comm), color, key);
  *made = part == nullptr ? kNoComm : part;
  return kSuccess;
}

// All ranks of the double are on one host.
int MPI_Comm_split_type(Handle comm, int type, int key, Handle info, Handle* made) {
  if (comm_of(comm) == nullptr) return kErrComm;
  if (type != kTypeShared || info != kNoInfo) return kErrArg;
  *made = split(*comm_of(comm), 0, key);
  return kSuccess;
}

int MPI_Comm_idup(Handle comm, Handle* made, Handle* request) {
  if (comm_of(comm) == nullptr) return kErrComm;
  Comm& parent = *comm_of(comm);
  Exchange exchange(parent);
  auto* const duplicate = new Comm;
  duplicate->name = parent.name + "." + std::to_string(exchange.call());
  duplicate->members = parent.members;
  duplicate->rank = parent.rank;
  *made = duplicate;
  exchange.send_all(nullptr, 0);
  exchange.expect_all();
  return start(std::move(exchange), request, [](Exchange&) { return kSuccess; });
}

int MPI_Comm_free(Handle* comm) {
  if (*comm == kWorld || comm_of(*comm) == nullptr) return kErrComm;
  delete comm_of(*comm);
  *comm = kNoComm;
  return kSuccess;
}

int MPI_Op_create(UserFunction function, int, Handle* op) {
  *op = new Op{function};
  return kSuccess;
}

int MPI_Ibarrier(Handle comm, Handle* request) {
  if (comm_of(comm) == nullptr) return kErrComm;
  Exchange exchange(*comm_of(comm));
  exchange.send_all(nullptr, 0);
  exchange.expect_all();
  return start(std::move(exchange), request, [](Exchange&) { return kSuccess; });
}

int MPI_Iallreduce(const void* in, void* out, int count, Handle type, Handle op, Handle comm, Handle* request) {
  if (comm_of(comm) == nullptr) return kErrComm;
  if (size_of(type) == 0) return kErrType;
  Exchange exchange(*comm_of(comm));
  exchange.send_all(in == kInPlace ? out : in, static_cast<std::size_t>(count) * static_cast<std::size_t>(size_of(type)));
  exchange.expect_all();
  return start(std::move(exchange), request, [=](Exchange& done) { return fold(done, out, count, type, op); });
}

int MPI_Ireduce(const void* in, void* out, int count, Handle type, Handle op, int root, Handle comm, Handle* request) {
  if (comm_of(comm) == nullptr) return kErrComm;
  if (size_of(type) == 0) return kErrType;
  Exchange exchange(*comm_of(comm));
  const bool is_root = exchange.rank() == root;
  if (in == kInPlace && !is_root) return kErrArg;
  exchange.send(root, in == kInPlace ? out : in, static_cast<std::size_t>(count) * static_cast<std::size_t>(size_of(type)));
  if (is_root) exchange.expect_all();
  return start(std::move(exchange), request, [=](Exchange& done) { return is_root ? fold(done, out, count, type, op) : kSuccess; });
}

int MPI_Ireduce_scatter_block(const void* in, void* out, int count, Handle type, Handle op, Handle comm, Handle* request) {
  if (comm_of(comm) == nullptr) return kErrComm;
  if (size_of(type) == 0) return kErrType;
  Exchange exchange(*comm_of(comm));
  const std::size_t block = static_cast<std::size_t>(count) * static_cast<std::size_t>(size_of(type));
  const char* const from = static_cast<const char*>(in == kInPlace ? out : in);
  for (int to = 0; to < exchange.size(); ++to) exchange.send(to, from + static_cast<std::size_t>(to) * block, block);
  exchange.expect_all();
  return start(std::move(exchange), request, [=](Exchange& done) { return fold(done, out, count, type, op); });
}

int MPI_Ibcast(void* data, int count, Handle type, int root, Handle comm, Handle* request) {
  if (comm_of(comm) == nullptr) return kErrComm;
  if (size_of(type) == 0) return kErrType;
  Exchange exchange(*comm_of(comm));
  const std::size_t bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(size_of(type));
  if (exchange.rank() == root) exchange.send_all(data, bytes);
  exchange.expect(root);
  return start(std::move(exchange), request, [=](Exchange& done) { return copy(done.got(root), data, bytes); });
}

int MPI_Iallgather(const void* in, int in_count, Handle in_type, void* out, int count, Handle type, Handle comm, Handle* request) {
  if (comm_of(comm) == nullptr) return kErrComm;
  if (size_of(type) == 0 || (in != kInPlace && size_of(in_type) == 0)) return kErrType;
  Exchange exchange(*comm_of(comm));
  const std::size_t block = static_cast<std::size_t>(count) * static_cast<std::size_t>(size_of(type));
  if (in == kInPlace) exchange.send_all(static_cast<char*>(out) + static_cast<std::size_t>(exchange.rank()) * block, block);
  else exchange.send_all(in, static_cast<std::size_t>(in_count) * static_cast<std::size_t>(size_of(in_type)));
  exchange.expect_all();
  return start(std::move(exchange), request, [=](Exchange& done) {
    for (int from = 0; from < done.size(); ++from) {
      const Result result = copy(done.got(from), static_cast<char*>(out) + static_cast<std::size_t>(from) * block, block);
      if (result != kSuccess) return result;
    }
    return kSuccess;
  });
}

int MPI_Igather(const void* in, int in_count, Handle in_type, void* out, int count, Handle type, int root, Handle comm, Handle* request) {
  if (comm_of(comm) == nullptr) return kErrComm;
  Exchange exchange(*comm_of(comm));
  const bool is_root = exchange.rank() == root;
  if (size_of(is_root ? type : in_type) == 0) return kErrType;
  if (in == kInPlace && !is_root) return kErrArg;
  const std::size_t block = static_cast<std::size_t>(count) * static_cast<std::size_t>(size_of(type));
  if (in == kInPlace) exchange.send(root, static_cast<char*>(out) + static_cast<std::size_t>(root) * block, block);
  else exchange.send(root, in, static_cast<std::size_t>(in_count) * static_cast<std::size_t>(size_of(in_type)));
  if (is_root) exchange.expect_all();
  return start(std::move(exchange), request, [=](Exchange& done) {
    for (int from = 0; is_root && from < done.size(); ++from) {
      const Result result = copy(done.got(from), static_cast<char*>(out) + static_cast<std::size_t>(from) * block, block);
      if (result != kSuccess) return result;
    }
    return kSuccess;
  });
}

int MPI_Iscatter(const void* in, int in_count, Handle in_type, void* out, int count, Handle type, int root, Handle comm, Handle* request) {
  if (comm_of(comm) == nullptr) return kErrComm;
  Exchange exchange(*comm_of(comm));
  const bool is_root = exchange.rank() == root;
  if (size_of(is_root ? in_type : type) == 0) return kErrType;
  if (out == kInPlace && !is_root) return kErrArg;
  const std::size_t block = static_cast<std::size_t>(in_count) * static_cast<std::size_t>(size_of(in_type));
  for (int to = 0; is_root && to < exchange.size(); ++to) exchange.send(to, static_cast<const char*>(in) + static_cast<std::size_t>(to) * block, block);
  exchange.expect(root);
  const std::size_t room = static_cast<std::size_t>(count) * static_cast<std::size_t>(size_of(type));
  return start(std::move(exchange), request, [=](Exchange& done) { return out == kInPlace ? kSuccess : copy(done.got(root), out, room); });
}

int MPI_Ialltoall(const void* in, int in_count, Handle in_type, void* out, int count, Handle type, Handle comm, Handle* request) {
  if (comm_of(comm) == nullptr) return kErrComm;
  if (size_of(type) == 0 || (in != kInPlace && size_of(in_type) == 0)) return kErrType;
  Exchange exchange(*comm_of(comm));
  const std::size_t block = static_cast<std::size_t>(count) * static_cast<std::size_t>(size_of(type));
  const std::size_t sent = in == kInPlace ? block : static_cast<std::size_t>(in_count) * static_cast<std::size_t>(size_of(in_type));
  const char* const from = static_cast<const char*>(in == kInPlace ? out : in);
  for (int to = 0; to < exchange.size(); ++to) exchange.send(to, from + static_cast<std::size_t>(to) * sent, sent);
  exchange.expect_all();
  return start(std::move(exchange), request, [=](Exchange& done) {
    for (int source = 0; source < done.size(); ++source) {
      const Result result = copy(done.got(source), static_cast<char*>(out) + static_cast<std::size_t>(source) * block, block);
      if (result != kSuccess) return result;
    }
    return kSuccess;
  });
}

int MPI_Isend(const void* data, int count, Handle type, int to, int tag, Handle comm, Handle* request) {
  Comm* const own = comm_of(comm);
  if (own == nullptr) return kErrComm;
  if (size_of(type) == 0) return kErrType;
  if (to < 0 || to >= static_cast<int>(own->members.size())) return kErrRank;
  const std::string name = "p" + std::to_string(own->sent[to]++) + "-" + std::to_string(own->rank) + "-" + std::to_string(tag);
  post(box_of(*own, to), name, data, static_cast<std::size_t>(count) * static_cast<std::size_t>(size_of(type)));
  *request = new Request{[](Result&) { return true; }};
  return kSuccess;
}

int MPI_Irecv(void* data, int count, Handle type, int from, int tag, Handle comm, Handle* request) {
  Comm* const own = comm_of(comm);
  if (own == nullptr) return kErrComm;
  if (size_of(type) == 0) return kErrType;
  const std::size_t room = static_cast<std::size_t>(count) * static_cast<std::size_t>(size_of(type));
  *request = new Request{[=](Result& result) {
    Letter letter;
    Bytes bytes;
    if (!first_letter(*own, from, tag, letter) || !take(letter.path, bytes)) return false;
    result = copy(bytes, data, room);
    return true;
  }};
  return kSuccess;
}

int MPI_Iprobe(int source, int tag, Handle comm, int* flag, void* status) {
  if (comm_of(comm) == nullptr) return kErrComm;
  Letter letter;
  *flag = first_letter(*comm_of(comm), source, tag, letter) ? 1 : 0;
  if (*flag != 0) tell(letter, status);
  return kSuccess;
}

int MPI_Get_count(const void* status, Handle type, int* count) {
  const int size = size_of(type);
  if (size == 0) return kErrType;
  *count = static_cast<const Status*>(status)->internal[0] / size;
  return kSuccess;
}

int MPI_Test(Handle* request, int* flag, void*) {
  if (*request == kNoRequest) {
    *flag = 1;
    return kSuccess;
  }
  if (*request == nullptr) return kErrRequest;
  auto* const pending = static_cast<Request*>(*request);
  Result result = kSuccess;
  *flag = pending->poll(result) ? 1 : 0;
  if (*flag == 0) return kSuccess;
  delete pending;
  *request = kNoRequest;
  return result;
}

}  // extern "C"
#pragma GCC visibility pop
