// Whether the coordinator listens to the sender of a message: a process of its run, whose place
// no other has taken. The shell asks before it acts on a message. One thread, the port's.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "actors/coordinator/control_port.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::actors {

class sender_check {
 public:
  // `token`: of the run.
  explicit sender_check(std::uint64_t token) : token_(token) {}

  // Returns ok if the sender is listened to. Errors: refused; that of close().
  runtime::status check(const control_sender& from) const;
  // Likewise for a process that joins, which has no place yet.
  runtime::status check_token(const control_sender& from) const;

  // The process is refused, for this reason, until a process of its number joins.
  void put_out(std::uint64_t process, const runtime::status& why) {
    put_out_.insert_or_assign(process, why);
  }
  // A process joins whose number may have been another's.
  void joins(std::uint64_t process) { put_out_.erase(process); }
  // All others are refused from now on, for this reason.
  void close(const runtime::status& why) { closed_ = why; }

 private:
  std::uint64_t token_;
  std::map<std::uint64_t, runtime::status> put_out_;  // by process
  runtime::status closed_;                            // ok: not yet
};

}  // namespace tidegate::actors
