#include "gpus.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

namespace coll::test {
namespace {

std::string control_file() { return "/tmp/coll-double-control-" + std::to_string(getpid()); }

// Events are reused, so there are far fewer of them than operations.
constexpr long kMostEvents = 4000;

long count_of(const char* library, const char* counter) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return 0;
  return reinterpret_cast<long (*)()>(dlsym(handle, counter))();
}

class Doubles : public testing::Environment {
 public:
  void SetUp() override {
    setenv("COLL_DOUBLE_DEVICES", std::to_string(kGpus).c_str(), 1);
    setenv("COLL_DOUBLE_DELAY_MICROS", "100", 1);
    setenv("COLL_DOUBLE_CONTROL", control_file().c_str(), 1);
    const Opened opened = open_libraries({COLL_CUDA_DOUBLE, {COLL_NCCL_DOUBLE, ""}, COLL_NVML_DOUBLE});
    ASSERT_NE(opened.runtime, nullptr) << opened.driver_failure.message;
    ASSERT_TRUE(opened.runtime->has_nccl()) << opened.nccl_failure.message;
  }
  void TearDown() override {
    unlink(control_file().c_str());
    // Waits, because memory is freed later, by chores.
    for (int looks = 0; looks < 60'000 && count_of(COLL_CUDA_DOUBLE, "coll_double_blocks") > 0; ++looks) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(count_of(COLL_CUDA_DOUBLE, "coll_double_blocks"), 0);
    EXPECT_EQ(count_of(COLL_NCCL_DOUBLE, "coll_double_communicators"), 0);
    EXPECT_LE(count_of(COLL_CUDA_DOUBLE, "coll_double_streams"), kGpus * kLanes);
    EXPECT_LE(count_of(COLL_CUDA_DOUBLE, "coll_double_events"), kMostEvents);
  }
};

testing::Environment* const doubles = testing::AddGlobalTestEnvironment(new Doubles);

}  // namespace

Runtime& gpus() { return the_runtime(); }

Wish::Wish(const std::string& lines) { std::ofstream(control_file()) << lines << "\n"; }

Wish::~Wish() { unlink(control_file().c_str()); }

Outcome submit(const SharedOperation& operation) {
  const auto promise = std::make_shared<std::promise<std::optional<Failure>>>();
  operation->settle = [promise](const Operation&, const Failure* failure) {
    promise->set_value(failure == nullptr ? std::nullopt : std::optional<Failure>(*failure));
  };
  gpus().scheduler.submit(operation);
  return promise->get_future();
}

std::optional<Failure> run(const SharedOperation& operation) { return submit(operation).get(); }

SharedAllocation allocate(int device, std::size_t bytes) {
  SharedAllocation made = gpus().new_allocation(device, bytes, true);
  gpus().scheduler.submit(make_allocation(gpus(), made));
  return made;
}

HostMemory memory_of(void* begin, std::size_t bytes) {
  return {static_cast<std::byte*>(begin), bytes, nullptr, [](const std::function<void()>& use) {
            use();
            return true;
          }};
}

void write(const SharedAllocation& into, const void* from, std::size_t bytes) {
  for (const SharedOperation& part : write_buffer(gpus(), {into, 0}, memory_of(const_cast<void*>(from), bytes))) EXPECT_FALSE(run(part));
}

std::optional<Failure> read(const SharedAllocation& from, void* into, std::size_t bytes) {
  std::vector<Outcome> outcomes;
  for (const SharedOperation& part : read_buffer(gpus(), {from, 0}, memory_of(into, bytes))) outcomes.push_back(submit(part));
  std::optional<Failure> failure;
  for (Outcome& outcome : outcomes) {
    std::optional<Failure> found = outcome.get();
    if (found && !failure) failure = found;
  }
  return failure;
}

std::shared_ptr<Clique> open_all(int size, bool is_blocking) {
  const auto id = std::make_shared<nccl::UniqueId>();
  EXPECT_FALSE(run(make_unique_id(gpus(), id)));
  CliqueRequest request{size, {}, {}, "test", is_blocking};
  for (int rank = 0; rank < size; ++rank) {
    request.ranks.push_back(rank);
    request.devices.push_back(rank);
  }
  std::shared_ptr<Clique> clique = new_clique(gpus(), request);
  const std::optional<Failure> failure = run(open_clique(gpus(), clique, *id));
  EXPECT_FALSE(failure) << failure->message;
  return clique;
}

Call call_of(Kind kind, int dtype, int op, std::size_t count, const std::vector<SharedAllocation>& inputs, const std::vector<SharedAllocation>& outputs, int root) {
  Call call{kind, dtype, op, root, count, {}, {}};
  for (const SharedAllocation& input : inputs) call.inputs.push_back({input, 0});
  for (const SharedAllocation& output : outputs) call.outputs.push_back({output, 0});
  return call;
}

SharedOperation all_reduce(const std::shared_ptr<Clique>& clique, const std::vector<SharedAllocation>& buffers) {
  return run_calls(gpus(), clique, {call_of(Kind::kAllReduce, kFloat32, kSum, 4, buffers, buffers)});
}

std::vector<SharedAllocation> two_buffers() { return {allocate_with<float>(0, {1, 2, 3, 4}), allocate_with<float>(1, {1, 2, 3, 4})}; }

void expect_kind(const std::optional<Failure>& failure, FailureKind kind) {
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, kind) << failure->message;
}

void expect_usable() {
  const std::shared_ptr<Clique> clique = open_all(2);
  const std::vector<SharedAllocation> buffers = two_buffers();
  EXPECT_FALSE(run(all_reduce(clique, buffers)));
  EXPECT_EQ(values_of<float>(buffers[1])[3], 8);
  EXPECT_FALSE(run(destroy_clique(gpus(), clique)));
}

SharedOperation within(SharedOperation operation, int millis) {
  operation->deadline = Clock::now() + std::chrono::milliseconds(millis);
  return operation;
}

}  // namespace coll::test
