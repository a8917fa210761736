#include "runtime/transport/lossy_link.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::runtime {

namespace {

using clock = std::chrono::steady_clock;

class lossy_link final : public link, private frame_sink {
 public:
  lossy_link(std::unique_ptr<link> inner, const link_faults& faults, unique_fd all,
             unique_fd timer)
      : inner_(std::move(inner)),
        faults_(faults),
        random_(faults.seed),
        all_(std::move(all)),
        timer_(std::move(timer)) {}

  void set_sink(frame_sink* sink) override {
    sink_ = sink;
    inner_->set_sink(sink == nullptr ? nullptr : this);
  }
  std::string address() const override { return inner_->address(); }
  expected<peer_id> connect(std::string_view address, reach where) override {
    return inner_->connect(address, where);
  }
  void disconnect(peer_id peer) override {
    std::erase_if(late_, [&](const late_frame& frame) { return frame.peer == peer; });
    inner_->disconnect(peer);
  }

  void post(peer_id peer, const frame_header& header, std::span<const std::byte> payload,
            send_token token) override {
    ++frames_;
    if (happens(faults_.drop)) {
      ++dropped_;
      return settled(token);
    }
    if (happens(faults_.duplicate)) {
      ++doubled_;
      post_copy(peer, header, copy_of(payload));
    }
    if (happens(faults_.delay)) {
      ++delayed_;
      const auto spread = faults_.delay_ms_max - faults_.delay_ms_min;
      const auto wait =
          std::chrono::milliseconds(faults_.delay_ms_min + random_.below(spread + 1));
      late_.push_back({clock::now() + wait, peer, header, copy_of(payload)});
      return settled(token);
    }
    TIDEGATE_ASSERT(token < send_token{1} << 63U, "a token has room for a mark");
    inner_->post(peer, header, payload, token << 1U);
  }
  void post_bundle(peer_id peer, std::span<const outgoing> frames) override {
    for (const auto& frame : frames) post(peer, frame.header, frame.payload, frame.token);
  }
  std::size_t bundle_frames_most() const override { return 1; }  // each has its own fate
  bool loses_frames() const noexcept override { return true; }

  unsigned progress() override {
    unsigned happened = 0;
    for (const auto token : std::exchange(settled_, {})) {
      sink_->on_sent(token, {});
      ++happened;
    }
    const auto now = clock::now();
    const auto due = std::stable_partition(late_.begin(), late_.end(),
                                           [&](const auto& entry) { return entry.due > now; });
    std::vector<late_frame> ready(std::make_move_iterator(due),
                                  std::make_move_iterator(late_.end()));
    late_.erase(due, late_.end());
    for (auto& frame : ready) {
      post_copy(frame.peer, frame.header, std::move(frame.payload));
      ++happened;
    }
    return happened + inner_->progress();
  }
  int event_fd() const override { return all_.get(); }
  bool arm() override {
    if (!settled_.empty()) return false;
    itimerspec when{};
    if (!late_.empty()) {
      const auto first =
          std::min_element(late_.begin(), late_.end(),
                           [](const auto& a, const auto& b) { return a.due < b.due; });
      const auto left =
          std::chrono::duration_cast<std::chrono::nanoseconds>(first->due - clock::now())
              .count();
      if (left <= 0) return false;
      when.it_value = {left / 1'000'000'000, left % 1'000'000'000};
    }
    const auto set = ::timerfd_settime(timer_.get(), 0, &when, nullptr);
    TIDEGATE_ASSERT(set == 0, "a time in the future");
    return inner_->arm();
  }
  void set_patient(bool patient) override { inner_->set_patient(patient); }
  void close(std::uint32_t flush_ms_max) override {
    log::info("link faults: of " + std::to_string(std::exchange(frames_, 0)) + " frames " +
              std::to_string(dropped_) + " dropped, " + std::to_string(doubled_) +
              " doubled, " + std::to_string(delayed_) + " delayed");
    late_.clear();
    for (const auto token : std::exchange(settled_, {}))
      if (sink_ != nullptr) sink_->on_sent(token, {});
    inner_->close(flush_ms_max);
  }
  std::shared_ptr<memory_source> memory() override { return inner_->memory(); }
  const link_counters& counters() const override { return inner_->counters(); }

 private:
  using bytes = std::vector<std::byte>;
  struct late_frame {
    clock::time_point due;
    peer_id peer = 0;
    frame_header header;
    bytes payload;
  };

  bool happens(double share) {
    return share > 0 && static_cast<double>(random_.next() >> 11U) * 0x1p-53 < share;
  }
  // As if it had been sent; told in progress().
  void settled(send_token token) {
    if (token != 0) settled_.push_back(token);
  }
  static bytes copy_of(std::span<const std::byte> payload) {
    return {payload.begin(), payload.end()};
  }
  // Odd tokens are ours.
  void post_copy(peer_id peer, const frame_header& header, bytes payload) {
    const auto token = ++last_copy_ << 1U | 1U;
    const auto& kept = copies_[token] = std::move(payload);
    inner_->post(peer, header, kept, token);
  }

  buffer place(const frame_header& header) override { return sink_->place(header); }
  void on_frame(const frame_header& header, buffer payload) override {
    sink_->on_frame(header, std::move(payload));
  }
  void on_frame_lost(const frame_header& header) override { sink_->on_frame_lost(header); }
  void on_sent(send_token token, const status& outcome) override {
    if ((token & 1U) != 0)
      copies_.erase(token);
    else
      sink_->on_sent(token >> 1U, outcome);
  }
  void on_bad_frame(const status& why) override { sink_->on_bad_frame(why); }
  void on_peer_lost(peer_id peer, const status& why) override {
    std::erase_if(late_, [&](const late_frame& frame) { return frame.peer == peer; });
    sink_->on_peer_lost(peer, why);
  }

  std::unique_ptr<link> inner_;
  link_faults faults_;
  rng random_;
  unique_fd all_;    // the inner link's descriptor and the timer
  unique_fd timer_;  // of the next late frame
  frame_sink* sink_ = nullptr;
  std::vector<send_token> settled_;  // to be told
  std::vector<late_frame> late_;
  std::map<send_token, bytes> copies_;
  send_token last_copy_ = 0;
  std::uint64_t frames_ = 0, dropped_ = 0, doubled_ = 0, delayed_ = 0;
};

status failed() {
  return {errc::io_error, std::string("descriptors of a lossy link: ") + std::strerror(errno)};
}

}  // namespace

expected<std::unique_ptr<link>> make_lossy(std::unique_ptr<link> inner,
                                           const link_faults& faults) {
  unique_fd all(::epoll_create1(EPOLL_CLOEXEC));
  unique_fd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!all || !timer) return fail(failed());
  for (const int fd : {inner->event_fd(), timer.get()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(all.get(), EPOLL_CTL_ADD, fd, &event) != 0) return fail(failed());
  }
  return std::unique_ptr<link>(
      std::make_unique<lossy_link>(std::move(inner), faults, std::move(all), std::move(timer)));
}

}  // namespace tidegate::runtime
