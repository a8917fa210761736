#include "tests/support/hooked_link.hpp"

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace tidegate::tests {
namespace {

using runtime::buffer;
using runtime::frame_header;
using runtime::status;

class hooked_link final : public runtime::link, public runtime::frame_sink {
 public:
  hooked_link(std::unique_ptr<runtime::link> inner, link_hooks& hooks)
      : inner_(std::move(inner)), hooks_(hooks) {}

  void set_sink(runtime::frame_sink* sink) override {
    sink_ = sink;
    inner_->set_sink(this);
  }
  std::string address() const override { return inner_->address(); }
  runtime::expected<runtime::peer_id> connect(std::string_view address,
                                              runtime::reach where) override {
    return inner_->connect(address, where);
  }
  void disconnect(runtime::peer_id peer) override { inner_->disconnect(peer); }
  void post(runtime::peer_id peer, const frame_header& header,
            std::span<const std::byte> payload, runtime::send_token token) override {
    if (!payload.empty()) ++hooks_.payloads_posted;
    inner_->post(peer, header, payload, token);
  }
  // One by one, so that the hooks see each.
  void post_bundle(runtime::peer_id peer, std::span<const runtime::outgoing> frames) override {
    for (const auto& frame : frames) post(peer, frame.header, frame.payload, frame.token);
  }
  std::size_t bundle_frames_most() const override { return 1; }
  unsigned progress() override {
    const unsigned happened = inner_->progress();
    return happened + tell_sent() + tell_arrived();
  }
  int event_fd() const override { return inner_->event_fd(); }
  bool arm() override { return sent_.empty() && arriving_.empty() && inner_->arm(); }
  // As a real one: what is arriving ends here, and nothing is told any more.
  void close(std::uint32_t flush_ms_max) override {
    inner_->close(flush_ms_max);
    sent_.clear();
    arriving_.clear();
  }
  std::shared_ptr<runtime::memory_source> memory() override { return inner_->memory(); }
  const runtime::link_counters& counters() const override { return inner_->counters(); }

 private:
  struct reply {
    frame_header header;
    buffer place;
    std::vector<std::byte> payload;
  };

  buffer place(const frame_header& header) override {
    auto place = sink_->place(header);
    if (!place || header.kind != runtime::frame_kind::pull_reply || !hooks_.keep_arriving)
      return place;
    arriving_.push_back({header, place, std::vector<std::byte>(place.size())});
    return buffer::view(arriving_.back().payload);
  }
  void on_frame(const frame_header& header, buffer payload) override {
    if (!arriving_.empty() && payload.data() == arriving_.back().payload.data()) {
      ++hooks_.arriving;
      return;
    }
    auto changed = header;
    if (hooks_.receiving) hooks_.receiving(changed);
    sink_->on_frame(changed, std::move(payload));
  }
  void on_frame_lost(const frame_header& header) override { sink_->on_frame_lost(header); }
  void on_sent(runtime::send_token token, const status&) override { sent_.push_back(token); }
  void on_bad_frame(const status& why) override { sink_->on_bad_frame(why); }
  void on_peer_lost(runtime::peer_id peer, const status& why) override {
    sink_->on_peer_lost(peer, why);
  }

  unsigned tell_sent() {
    if (hooks_.keep_sent) return 0;
    const auto telling = std::exchange(sent_, {});
    for (const auto token : telling) sink_->on_sent(token, {});
    return static_cast<unsigned>(telling.size());
  }
  unsigned tell_arrived() {
    if (hooks_.keep_arriving) return 0;
    auto telling = std::exchange(arriving_, {});
    for (auto& waiting : telling) {
      std::memcpy(waiting.place.data(), waiting.payload.data(), waiting.payload.size());
      sink_->on_frame(waiting.header, std::move(waiting.place));
    }
    return static_cast<unsigned>(telling.size());
  }

  std::unique_ptr<runtime::link> inner_;
  link_hooks& hooks_;
  runtime::frame_sink* sink_ = nullptr;
  std::vector<runtime::send_token> sent_;
  std::vector<reply> arriving_;
};

}  // namespace

std::unique_ptr<runtime::link> link_hooks::on(std::unique_ptr<runtime::link> inner) {
  return std::make_unique<hooked_link>(std::move(inner), *this);
}

}  // namespace tidegate::tests
