#include "actors/control/control_plane.hpp"

#include <set>
#include <utility>

#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman_actor_impl.hpp>
#include <caf/io/network/acceptor_impl.hpp>
#include <caf/io/network/default_multiplexer.hpp>

#include "actors/control/errors.hpp"
#include "actors/control/gate.hpp"
#include "runtime/sockets/tcp_socket.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::expected;
using runtime::fail;

namespace network = caf::io::network;

namespace {

// In place of accept(2): connections come proven, from the gate.
struct take_from_gate {
  static bool try_accept(network::native_socket& taken, network::native_socket proven) {
    taken = control_gate::take(proven).release();
    return taken != network::invalid_native_socket;
  }
};

// As CAF's own, but for where connections come from.
class gated_doorman final : public caf::io::doorman {
 public:
  gated_doorman(network::default_multiplexer& loop, std::unique_ptr<control_gate> gate,
                int proven, std::string address, std::uint16_t port)
      : doorman(network::accept_hdl_from_socket(proven)),
        gate_(std::move(gate)),
        acceptor_(loop, proven),
        address_(std::move(address)),
        port_(port) {}

  ~gated_doorman() override {
    gate_.reset();
    while (control_gate::take(acceptor_.fd())) {
    }
  }

  bool new_connection() override {
    auto& loop = acceptor_.backend();
    runtime::unique_fd accepted(acceptor_.accepted_socket());
    if (detached()) return false;  // the broker has ended, its loop not yet
    auto scribe = loop.new_scribe(accepted.release());
    const auto handle = scribe->hdl();
    parent()->add_scribe(std::move(scribe));
    return doorman::new_connection(&loop, handle);
  }

  void graceful_shutdown() override {
    acceptor_.graceful_shutdown();
    detach(&acceptor_.backend(), false);
  }

  void launch() override { acceptor_.start(this); }
  std::string addr() const override { return address_; }
  std::uint16_t port() const override { return port_; }
  void add_to_loop() override { acceptor_.activate(this); }
  void remove_from_loop() override { acceptor_.passivate(); }

 private:
  std::unique_ptr<control_gate> gate_;
  network::acceptor_impl<take_from_gate> acceptor_;
  std::string address_;
  std::uint16_t port_;
};

// CAF's actor for connections, with connections of ours.
class proving_middleman final : public caf::io::middleman_actor_impl {
 public:
  proving_middleman(caf::actor_config& config, caf::actor broker,
                    const control_options& options)
      : middleman_actor_impl(config, std::move(broker)), options_(options) {}

  const char* name() const override { return "tidegate.middleman"; }

 protected:
  caf::expected<caf::io::scribe_ptr> connect(const std::string& host,
                                             std::uint16_t port) override {
    auto connection = connect_proven(host, port, options_);
    if (!connection) return to_error(connection.error());
    return loop().new_scribe(connection->release());
  }

  caf::expected<caf::io::doorman_ptr> open(std::uint16_t port, const char* address,
                                           bool /*reuse*/) override {
    const std::string host(address != nullptr ? address : "127.0.0.1");
    auto listener = runtime::listen_on(host, port);
    if (!listener) return to_error(listener.error());
    const auto bound = runtime::port_of(listener->get());
    auto gate = control_gate::open(std::move(*listener), options_);
    if (!gate) return to_error(gate.error());
    const int proven = (*gate)->release_proven();
    return caf::make_counted<gated_doorman>(loop(), std::move(*gate), proven, host, bound);
  }

 private:
  network::default_multiplexer& loop() {
    return static_cast<network::default_multiplexer&>(system().middleman().backend());
  }

  control_options options_;
};

}  // namespace

struct control_plane::impl {
  caf::actor_system& system;
  caf::io::middleman_actor middleman;
};

control_plane::control_plane(caf::actor_system& system, const control_options& options)
    : impl_(std::make_unique<impl>(impl{system, {}})) {
  auto broker = system.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"));
  // On a thread of its own: it waits for connections.
  impl_->middleman =
      system.spawn<proving_middleman, caf::detached + caf::hidden>(std::move(broker), options);
}

control_plane::~control_plane() = default;

expected<coordinator_actor> control_plane::connect(const std::string& host,
                                                   std::uint16_t port) {
  const auto where = host + ":" + std::to_string(port);
  auto ask = caf::make_function_view(impl_->middleman);
  auto found = ask(caf::connect_atom::value, host, port);
  if (!found) return fail(to_status(found.error(), "connecting to " + where));
  const auto& there = std::get<1>(*found);
  const auto expected_interface = impl_->system.message_types<coordinator_actor>();
  if (!there || !impl_->system.assignable(std::get<2>(*found), expected_interface))
    return fail(errc::unavailable, "the actor that answers at " + where + " is no coordinator");
  return caf::actor_cast<coordinator_actor>(there);
}

expected<std::uint16_t> control_plane::publish(const coordinator_actor& coordinator,
                                               const std::string& host, std::uint16_t port) {
  auto ask = caf::make_function_view(impl_->middleman);
  auto bound =
      ask(caf::publish_atom::value, port, caf::actor_cast<caf::strong_actor_ptr>(coordinator),
          impl_->system.message_types(coordinator), host, true);
  if (!bound)
    return fail(to_status(bound.error(), "listening on " + host + ":" + std::to_string(port)));
  return *bound;
}

void control_plane::end() {
  if (!impl_->middleman) return;
  caf::scoped_actor self(impl_->system, true);
  self->send_exit(impl_->middleman, caf::exit_reason::kill);
  self->wait_for(impl_->middleman);
  // Its thread ends with the last handle, and the system waits for its thread.
  impl_->middleman = nullptr;
}

}  // namespace tidegate::actors
