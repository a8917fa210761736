#include "launch/simulate/cluster/frame_process.hpp"

#include <algorithm>
#include <utility>

#include "launch/simulate/cluster/coordinator.hpp"

namespace tidegate::sim {

// Hands on at once, for a simulated process is always between two turns when something reaches
// it; but for what place() says.
class frame_process::intake final : public actors::frame_intake {
 public:
  explicit intake(frame_process& owner) : frame_intake(*owner.shell_, owner), owner_(owner) {}

  runtime::buffer arriving(const runtime::frame_header& header) {
    placing_ = true;
    auto room = place(header);
    placing_ = false;
    return room;
  }

 private:
  void deliver(const runtime::frame_header& header, runtime::buffer payload,
               std::uint64_t copied) override {
    if (placing_)
      return owner_.later(0, [this, header, copied] {
        if (owner_.serves()) hand_on({.header = header, .payload = {}, .copied = copied}, 0);
      });
    hand_on({.header = header, .payload = std::move(payload), .copied = copied},
            owner_.current_from_);
  }
  void hand_on(actors::frame_event event, process_id from) {
    owner_.current_ = event.header;
    owner_.current_from_ = from;
    owner_.turn_begins();
    owner_.shell_->on_frame(event);
    owner_.turn_ends();
    owner_.after_frame();
    owner_.after_turn();
  }
  void deliver(actors::peer_lost_event event) override {
    owner_.shell_->on_peer_lost(event);
    owner_.after_turn();
  }

  frame_process& owner_;
  bool placing_ = false;
};

frame_process::frame_process(world& where, process_id id, role kind, std::string name,
                             std::uint32_t host)
    : process(where, id, kind, std::move(name), host),
      address_(process::address()),
      link_(where, *this) {
  const auto& set = where.plan.set;
  limits_ = {.sends = set.sends,
             .turn_bytes = set.turn_bytes,
             .opening_bytes = set.opening_bytes,
             .retransmit = set.retransmit,
             .reconnects = policies::reconnect_limits::within(
                 where.plan.spec.supervision.unreachable_ms * policies::millisecond),
             .look_mending_ns = set.mend,
             .look_lossy_ns = set.look};
}

frame_process::~frame_process() = default;

void frame_process::serve(actors::frame_shell& shell) {
  shell_ = &shell;
  intake_ = std::make_unique<intake>(*this);
}

runtime::status frame_process::fence(const std::string& replaced) {
  process::fence(id_of(replaced));
  return {};
}

void frame_process::break_link() {
  shell_ = nullptr;
  world_.net.disconnect_all(id());
}

void frame_process::put_off(work_list& list, actors::continuation& work, nanoseconds delay) {
  list.push_back(&work);
  if (list.size() == 1) later(delay, [this, &list] { run(list); });
}

void frame_process::run(work_list& list) {
  running_ = std::exchange(list, {});
  turn_begins();
  while (!running_.empty()) {
    auto* const next = running_.front();
    running_.erase(running_.begin());
    next->go_on();
  }
  turn_ends();
  after_turn();
}

void frame_process::turn_ends() {
  if (const auto takes = std::exchange(spent_, 0); takes > 0) {
    world_.net.stall(id());
    world_.time.after(takes, [&net = world_.net, me = id()] { net.go_on(me); });
  }
}

void frame_process::after_progress(actors::continuation& work) {
  put_off(put_off_, work, world_.plan.set.go_on);
}

// A process reads its mail before it looks at the network again.
void frame_process::before_progress(actors::continuation& work) {
  put_off(ending_, work, world_.plan.set.turn);
}

void frame_process::forget(const actors::continuation& work) {
  for (auto* const list : {&put_off_, &ending_, &running_}) std::erase(*list, &work);
}

void frame_process::tell_coordinator(std::function<void(coordinator_process&)> news) {
  ask<coordinator_process>(
      world_.coordinator,
      [news = std::move(news)](coordinator_process& to, const answer_to& reply) {
        news(to);
        reply({});
      },
      [](const answer&) {});
}

void frame_process::report_unreachable(const std::vector<policies::unreachable_peer>& peers) {
  tell_coordinator([reporter = address_, peers](coordinator_process& to) {
    to.unreachable(reporter, peers);
  });
}

void frame_process::report_arrivals(const policies::shard_report& report) {
  tell_news<coordinator_process>(world_.coordinator,
                                 [reporter = address_, report](coordinator_process& to) {
                                   to.arrivals(reporter, report);
                                 });
}

// Its clock may go at another pace than that of the simulation.
void frame_process::record(const runtime::trace_span& span) noexcept {
  if (!records()) return;
  const auto ahead = world_.time.now() - local_now() + noted_spans::begin;
  auto& own = (*world_.spans)[id()];
  own.process = name();
  auto& noted = own.all.emplace_back(span);
  noted.begin_ns += ahead;
  noted.end_ns += ahead;
}

void frame_process::look_in(std::int64_t pause_ns) {
  later(pause_ns, [this] {
    if (!serves()) return;
    shell_->look();
    after_turn();
  });
}

runtime::buffer frame_process::frame_arriving(process_id, const runtime::frame_header& header) {
  if (!serves()) return {};
  auto room = intake_->arriving(header);
  if (room) placed(header);
  return room;
}

void frame_process::frame_arrived(process_id from, const runtime::frame_header& header,
                                  runtime::buffer payload) {
  if (!serves()) return;
  current_from_ = from;
  intake_->on_frame(header, std::move(payload));
}

void frame_process::frame_lost(process_id, const runtime::frame_header& header) {
  if (serves()) intake_->on_frame_lost(header);
}

void frame_process::frame_sent(std::uint64_t token) {
  if (serves()) intake_->on_sent(token, {});
}

// A network tells only that a connection broke; a ring tells that a process has ended.
void frame_process::connection_lost(connection_id over, bool died) {
  if (!serves()) return;
  const auto* const peer = world_.find_dead(world_.net.peer_of(over));
  const bool ended = died && peer != nullptr && shares_memory_with(*peer);
  intake_->on_peer_lost(over, ended ? runtime::status(runtime::errc::not_found, "it has ended")
                                    : runtime::status(runtime::errc::unavailable, "it broke"));
}

}  // namespace tidegate::sim
