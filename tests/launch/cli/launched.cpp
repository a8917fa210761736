#include "tests/launch/cli/launched.hpp"

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <signal.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace tidegate::launch {

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Looks again and again: what is waited for happens in other processes, in files.
void wait_until(const std::string& subject, double seconds_max,
                const std::function<bool()>& holds) {
  const auto deadline = now() + seconds_max;
  while (!holds()) {
    if (now() > deadline) FAIL() << "waited in vain for " << subject;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

std::string slurp(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

launched::launched(const std::string& yaml, const std::vector<std::string>& more_arguments,
                   const std::string& environment)
    : folder_(testing::TempDir() + "tidegate_launch_XXXXXX") {
  if (::mkdtemp(folder_.data()) == nullptr) std::abort();
  run_dir_ = folder_ + "/run";
  std::ofstream(folder_ + "/c.yaml") << yaml;
  std::vector<std::string> words{FAKE_TIDEGATE, "launch", folder_ + "/c.yaml", "--run-dir",
                                 run_dir_};
  words.insert(words.end(), more_arguments.begin(), more_arguments.end());
  std::vector<char*> arguments;
  for (auto& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  begin_ = now();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(ends[1], 1);
    ::dup2(ends[1], 2);
    ::setenv("FAKE", FAKE_TIDEGATE, 1);  // for workers that are shell scripts
    if (!environment.empty()) ::putenv(const_cast<char*>(environment.c_str()));
    ::execv(FAKE_TIDEGATE, arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  output_fd_ = ends[0];
}

launched::~launched() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (output_fd_ >= 0) ::close(output_fd_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

int launched::wait() {
  char block[4096];
  for (ssize_t n = 0; (n = ::read(output_fd_, block, sizeof block)) > 0;) {
    output_.append(block, static_cast<std::size_t>(n));
  }
  int status = 0;
  ::waitpid(pid_, &status, 0);
  seconds_ = now() - begin_;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void launched::signal(int number) const {
  ::kill(pid_, number);
}

nlohmann::json launched::wait_for_processes(std::size_t count) const {
  nlohmann::json list;
  wait_until(std::to_string(count) + " processes", 10, [&] {
    list = nlohmann::json::parse(read("pids.json"), nullptr, false);
    return list.is_array() && list.size() >= count;
  });
  return list;
}

void launched::wait_for_text(const std::string& file, const std::string& text) const {
  wait_until(text, 10, [&] { return read(file).find(text) != std::string::npos; });
}

std::string launched::read(const std::string& file) const {
  return slurp(path(file));
}

nlohmann::json launched::read_json(const std::string& file) const {
  return nlohmann::json::parse(read(file), nullptr, false);
}

std::string fake_yaml(int shards, const std::string& job_lines, const std::string& name) {
  return "cluster: {name: " + name + ", shards: " + std::to_string(shards) +
         ", start_timeout: 3s}\njobs:\n" + job_lines;
}

std::string fake_job(const std::string& name, int workers, const std::string& action,
                     const std::string& on_worker_loss) {
  return "  " + name + ": {workers: " + std::to_string(workers) +
         ", command: [fake_tidegate, worker, " + action +
         "], on_worker_loss: " + on_worker_loss + "}\n";
}

bool is_alive(int pid) {
  const auto stat = slurp("/proc/" + std::to_string(pid) + "/stat");
  const auto at = stat.rfind(") ");
  return at != std::string::npos && stat[at + 2] != 'Z' && stat[at + 2] != 'X';
}

void wait_for_death(int pid) {
  wait_until("the death of " + std::to_string(pid), 5, [&] { return !is_alive(pid); });
}

}  // namespace tidegate::launch
