// A `fake_tidegate launch` under test, as a process of its own.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tidegate::launch {

class launched {
 public:
  // Writes the YAML beside a fresh run folder and starts the launcher on it.
  explicit launched(const std::string& yaml,
                    const std::vector<std::string>& more_arguments = {},
                    const std::string& environment = "");
  ~launched();
  launched(const launched&) = delete;
  launched& operator=(const launched&) = delete;

  // Blocks for the end; the exit code, or 128 + signal.
  int wait();
  // Everything on stdout and stderr; after wait().
  const std::string& output() const noexcept { return output_; }
  double seconds() const noexcept { return seconds_; }  // from start to end; after wait()

  void signal(int number) const;
  // Blocks until so many processes are in pids.json (fails the test after 10 s).
  nlohmann::json wait_for_processes(std::size_t count) const;
  // Blocks until a file of the run folder holds the text.
  void wait_for_text(const std::string& file, const std::string& text) const;

  std::string path(const std::string& file) const { return run_dir_ + "/" + file; }
  std::string read(const std::string& file) const;
  nlohmann::json read_json(const std::string& file) const;
  int pid() const noexcept { return pid_; }

 private:
  std::string folder_;
  std::string run_dir_;
  std::string output_;
  double seconds_ = 0;
  double begin_ = 0;
  int pid_ = -1;
  int output_fd_ = -1;
};

// The YAML of jobs of fake workers: each "name: {workers: 2, action: [...]}".
std::string fake_yaml(int shards, const std::string& job_lines, const std::string& name = "t");
// One job: `workers` that all do the same.
std::string fake_job(const std::string& name, int workers, const std::string& action,
                     const std::string& on_worker_loss = "fail");

bool is_alive(int pid);  // neither gone nor a zombie
// Blocks until it is not (fails the test after 5 s).
void wait_for_death(int pid);

}  // namespace tidegate::launch
