#include "actors/coordinator/pending_replies.hpp"

#include <utility>
#include <variant>

namespace tidegate::actors {

policies::ticket pending_replies::wait(reply_to reply) {
  waiting_.emplace(++last_ticket_, std::move(reply));
  return last_ticket_;
}

void pending_replies::deliver(policies::coordinator_effects::answer& answer) {
  auto node = waiting_.extract(answer.to);
  if (node.empty()) return;
  control_reply reply{std::move(answer.result), {}};
  std::visit([&](auto& value) { reply.value = std::move(value); }, answer.value);
  node.mapped()(std::move(reply));
}

void pending_replies::refuse_all(const runtime::status& why) {
  for (auto& [id, reply] : std::exchange(waiting_, {})) reply({why, {}});
}

}  // namespace tidegate::actors
