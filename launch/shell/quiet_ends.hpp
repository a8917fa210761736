// Workers that have ended with status 0 although their job has not heard that they were done.
// When the job fails, people want to see what these have said last. Pure, one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "policies/model/cluster_status.hpp"
#include "policies/model/process_name.hpp"
#include "policies/protocol/agent_messages.hpp"

namespace tidegate::launch {

class quiet_ends {
 public:
  // A worker has ended with status 0; `text` says so.
  void ended(policies::process_number process, const policies::process_name& name,
             const std::string& text) {
    ends_[process] = {name, text};
  }
  // It is started again.
  void began(policies::process_number process) { ends_.erase(process); }
  // No process of the epoch before lives.
  void begin_epoch() { ends_.clear(); }

  // Returns the texts of those of this job that have neither finished nor left it, each once.
  std::vector<std::string> take(const policies::job_status& job);

 private:
  struct end {
    policies::process_name name;
    std::string text;
  };
  std::map<policies::process_number, end> ends_;
};

}  // namespace tidegate::launch
