// Where the launcher sends the metrics of a run. It is no part of the cluster_spec, which all
// processes of a run share: no other one sends any. A value.
#pragma once

#include <cstdint>
#include <string>

namespace tidegate::launch {

struct otlp_spec {
  std::string url;  // http or https, with a path
  std::uint32_t every_ms = 10'000;
  std::uint32_t timeout_ms = 5'000;  // of a request and its answer
  // Files of the launcher's host: lines "Name: value" that each request has; certificates that
  // are trusted, PEM. Empty: no more headers; those that the system trusts.
  std::string headers_file = {};
  std::string certificates = {};

  friend bool operator==(const otlp_spec&, const otlp_spec&) = default;
};

}  // namespace tidegate::launch
