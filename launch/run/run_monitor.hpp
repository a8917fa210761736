// Answers HTTP requests how the run goes on (monitor in the cluster file). The main thread
// shows it views; requests are answered on threads of the server, from the last view.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launch/monitor/http_server.hpp"
#include "launch/run/run_status.hpp"
#include "launch/text/endpoint.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// What else is answered with of the run: a page. Its functions are of any thread, and live as
// long as the source does.
struct page_source {
  std::function<std::string()> run_dir;  // empty: it is not known yet
};
using page_maker = std::function<std::vector<http_document>(const page_source&)>;

class run_monitor {
 public:
  // Listens, and answers with an empty view until the first is shown; null: the cluster wants
  // no port. `page`: what is answered beside /metrics and /status.json; may be empty. Errors:
  // those of http_server::listen() and read_monitor_key().
  static runtime::expected<std::unique_ptr<run_monitor>> open(
      const policies::cluster_spec& spec, const page_maker& page);

  // Returns true if the last view is so old that show() is to be called.
  bool is_due(std::int64_t now) const noexcept;
  void show(std::int64_t now, run_view view);

  endpoint address() const;
  // As http_server::is_listening().
  bool is_listening() const { return server_->is_listening(); }

 private:
  struct shared;
  run_monitor() = default;

  std::shared_ptr<shared> shared_;
  std::string host_;
  std::int64_t shown_at_ = 0;
  std::unique_ptr<http_server> server_;  // the last: it uses the others
};

}  // namespace tidegate::launch
