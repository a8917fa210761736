#include "actors/coordinator/sender_check.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::status;

status sender_check::check_token(const control_sender& from) const {
  if (!closed_.ok()) return closed_;
  if (from.token == token_) return {};
  return {errc::refused, "this process belongs to another run (TIDEGATE_TOKEN)"};
}

status sender_check::check(const control_sender& from) const {
  const auto out = put_out_.find(from.process);
  return out == put_out_.end() ? check_token(from) : out->second;
}

}  // namespace tidegate::actors
