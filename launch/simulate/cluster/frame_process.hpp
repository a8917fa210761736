// A simulated process that exchanges frames: what a shell of the data path lives on, in place
// of a reactor and its actor. It decides nothing, and tells the checker what it sees. One
// thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/seam/frame_intake.hpp"
#include "actors/seam/shell_home.hpp"
#include "launch/simulate/cluster/process.hpp"
#include "launch/simulate/cluster/process_link.hpp"

namespace tidegate::sim {

class coordinator_process;

class frame_process : public process, public actors::shell_home {
 public:
  frame_process(world& where, process_id id, role kind, std::string name, std::uint32_t host);
  ~frame_process() override;

  // What it does in this turn takes so much longer: what it sends leaves later, and what comes
  // meanwhile waits.
  void spend(nanoseconds takes) noexcept { spent_ += takes; }
  nanoseconds spent() const noexcept { return spent_; }

  // A frame without payload is being sent.
  virtual void says(const runtime::frame_header&) {}

  const std::string& address() const noexcept final { return address_; }
  bool shares_memory_with(const std::string& address) const final {
    return process::shares_memory_with(address);
  }

 protected:
  // Before the first frame, for as long as this lives.
  void serve(actors::frame_shell& shell);
  bool serves() const noexcept { return shell_ != nullptr; }
  // Over the control plane, to the coordinator of that moment.
  void tell_coordinator(std::function<void(coordinator_process&)> news);
  // A frame has been given a place.
  virtual void placed(const runtime::frame_header&) {}
  // The shell had a turn, of a frame or of anything.
  virtual void after_frame() {}
  virtual void after_turn() {}
  // The frame that is being handled, and its sender; 0: an acknowledgement of a refused one.
  const runtime::frame_header& current() const noexcept { return current_; }
  process_id current_from() const noexcept { return current_from_; }

  // What shells live on.
  void log(actors::severity, const std::string& line) final { note(line); }
  runtime::link& link() noexcept final { return link_; }
  std::int64_t now() const final { return local_now(); }
  std::int64_t record_now() const final { return local_now() + spent_; }
  policies::process_pressure pressure() const final { return pressure_of_process(); }
  const actors::shell_limits& limits() const noexcept final { return limits_; }
  runtime::expected<runtime::peer_id> connect(const std::string& address) final {
    return link_.connect(address, runtime::reach::network);
  }
  runtime::status fence(const std::string& replaced) final;
  void break_link() final;
  void after_progress(actors::continuation& work) final;
  void before_progress(actors::continuation& work) final;
  void forget(const actors::continuation& work) final;
  void report_unreachable(const std::vector<policies::unreachable_peer>& peers) final;
  void report_arrivals(const policies::shard_report& report) final;
  void look_in(std::int64_t pause_ns) final;
  bool records() const noexcept final { return world_.spans != nullptr; }
  void record(const runtime::trace_span& span) noexcept final;

  // What the network tells.
  runtime::buffer frame_arriving(process_id from, const runtime::frame_header& header) final;
  void frame_arrived(process_id from, const runtime::frame_header& header,
                     runtime::buffer payload) final;
  void frame_lost(process_id from, const runtime::frame_header& header) final;
  void frame_sent(std::uint64_t token) final;
  void connection_lost(connection_id over, bool died) final;

 private:
  class intake;
  using work_list = std::vector<actors::continuation*>;
  void put_off(work_list& list, actors::continuation& work, nanoseconds delay);
  void run(work_list& list);

  std::string address_;
  process_link link_;
  actors::shell_limits limits_;
  actors::frame_shell* shell_ = nullptr;
  std::unique_ptr<intake> intake_;
  work_list put_off_;
  work_list ending_;
  work_list running_;
  void turn_begins() noexcept { spent_ = 0; }
  void turn_ends();

  nanoseconds spent_ = 0;  // in this turn
  runtime::frame_header current_;
  process_id current_from_ = 0;
};

}  // namespace tidegate::sim
