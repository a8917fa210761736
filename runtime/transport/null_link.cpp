#include "runtime/transport/null_link.hpp"

#include <cerrno>
#include <cstring>
#include <sys/eventfd.h>

#include "runtime/base/assert.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/memory/memory_source.hpp"
#include "runtime/transport/bundle.hpp"

namespace tidegate::runtime {

namespace {

class null_link final : public link {
 public:
  explicit null_link(unique_fd never) : never_(std::move(never)) {}

  void set_sink(frame_sink* /*sink*/) override {}
  std::string address() const override { return {}; }
  expected<peer_id> connect(std::string_view /*address*/, reach /*where*/) override {
    return fail(errc::unavailable,
                "a peer of this host whose memory cannot be shared: all processes of a cluster "
                "of one host must be of one user, in one PID namespace; or set "
                "cluster.transport: tcp");
  }
  void disconnect(peer_id /*peer*/) override { no_peer(); }
  void post(peer_id /*peer*/, const frame_header& /*header*/,
            std::span<const std::byte> /*payload*/, send_token /*token*/) override {
    no_peer();
  }
  void post_bundle(peer_id /*peer*/, std::span<const outgoing> /*frames*/) override {
    no_peer();
  }
  std::size_t bundle_frames_most() const override { return bundle_frames_max; }
  unsigned progress() override { return 0; }
  int event_fd() const override { return never_.get(); }
  bool arm() override { return true; }
  void close(std::uint32_t /*flush_ms_max*/) override {}
  std::shared_ptr<memory_source> memory() override { return memory_; }
  const link_counters& counters() const override { return counters_; }

 private:
  static void no_peer() { TIDEGATE_ASSERT(false, "a link to nowhere has no peers"); }

  unique_fd never_;  // becomes readable
  std::shared_ptr<memory_source> memory_ = std::make_shared<heap_source>();
  link_counters counters_;
};

}  // namespace

expected<std::unique_ptr<link>> make_null_link() {
  unique_fd never(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!never) return fail(errc::io_error, std::string("a descriptor: ") + std::strerror(errno));
  return std::make_unique<null_link>(std::move(never));
}

}  // namespace tidegate::runtime
