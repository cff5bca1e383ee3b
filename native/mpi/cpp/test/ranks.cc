#include "ranks.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <vector>

namespace coll::test {
namespace {

// A rank that hangs ends the test.
constexpr unsigned kLongestSeconds = 120;

[[noreturn]] void become_rank(int rank, int size, const std::string& folder, const std::function<bool()>& check) {
  alarm(kLongestSeconds);
  setenv("PMI_RANK", std::to_string(rank).c_str(), 1);
  setenv("PMI_SIZE", std::to_string(size).c_str(), 1);
  setenv("COLL_DOUBLE_FOLDER", folder.c_str(), 1);
  bool is_right = false;
  try {
    is_right = check();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
  }
  // Skips the exit handlers of the parent process.
  _exit(is_right ? 0 : 1);
}

std::shared_ptr<Group> made_by(std::unique_ptr<Task> (*make)(SettleGroup), const std::shared_ptr<Group>& parent, int color, int key) {
  auto made = std::make_shared<std::promise<std::shared_ptr<Group>>>();
  std::future<std::shared_ptr<Group>> group = made->get_future();
  const SettleGroup settle = [made](std::shared_ptr<Group> opened, const Error* error) {
    if (error != nullptr) made->set_exception(std::make_exception_ptr(*error));
    else made->set_value(std::move(opened));
  };
  Engine::the().submit(parent ? splitting(parent, color, key, settle) : make(settle));
  return group.get();
}

}  // namespace

std::string in_ranks(int size, const std::function<bool()>& check) {
  std::string folder = std::filesystem::temp_directory_path() / "coll-mpi-test-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return "no folder";
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t child = fork();
    if (child == 0) become_rank(rank, size, folder, check);
    ranks.push_back(child);
  }
  std::string wrong;
  for (int rank = 0; rank < size; ++rank) {
    int status = 0;
    waitpid(ranks[static_cast<std::size_t>(rank)], &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    const std::string how = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) : "code " + std::to_string(WEXITSTATUS(status));
    wrong += "rank " + std::to_string(rank) + " has ended with " + how + "; ";
  }
  std::filesystem::remove_all(folder);
  return wrong;
}

Engine& started_engine() {
  Engine& engine = Engine::the();
  engine.load(COLL_MPI_DOUBLE);
  std::promise<void> started;
  engine.submit(starting([&](const Error* error) {
    if (error != nullptr) started.set_exception(std::make_exception_ptr(*error));
    else started.set_value();
  }));
  started.get_future().get();
  return engine;
}

std::shared_ptr<Group> open_group() { return made_by(opening, nullptr, 0, 0); }
std::shared_ptr<Group> split_group(const std::shared_ptr<Group>& parent, int color, int key) { return made_by(opening, parent, color, key); }

void end_engine() { Engine::the().finalize_at_exit(60); }

std::shared_ptr<Plan> plan_of(Kind kind, Op op, DType dtype, std::size_t count, std::vector<Segment> inputs, std::vector<Segment> outputs, int root) {
  auto plan = std::make_shared<Plan>();
  plan->kind = kind;
  plan->op = op;
  plan->dtype = dtype;
  plan->root = root;
  plan->count = count;
  plan->is_wide = false;
  plan->inputs = std::move(inputs);
  plan->outputs = std::move(outputs);
  plan->announcement = {static_cast<double>(kind), static_cast<double>(op), static_cast<double>(dtype), static_cast<double>(root), static_cast<double>(count)};
  plan->name = "the call";
  return plan;
}

Status run(Group& group, const std::shared_ptr<Plan>& plan, double millis, bool is_checked) {
  Engine& engine = Engine::the();
  Status status = engine.begin_and_wait(group, plan, millis, is_checked);
  while (status == Status::kPending) status = engine.wait(group);
  return status;
}

}  // namespace coll::test
