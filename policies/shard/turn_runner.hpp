// Carries out what the shard core has decided, in the order of shard_queue and a bounded amount
// of summing at a time; the rest waits for the next turn.
//
// One thread. Once warm, nothing allocates.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "policies/shard/effects.hpp"
#include "policies/shard/ingress_shell.hpp"
#include "policies/shard/queue.hpp"

namespace tidegate::policies::sharding {

struct ingress_state;

class turn_runner {
 public:
  static constexpr std::uint64_t no_job = 0;  // of the queue for frames that nobody knows

  turn_runner(ingress_state& state, std::uint64_t turn_bytes)
      : state_(state), turn_bytes_(turn_bytes) {}

  // Returns where effects about a table, or about a whole job, are appended.
  shard_effects& pending(std::uint64_t job, std::uint32_t table);
  shard_effects& pending(std::uint64_t job);
  // Carries out all that waits for a job.
  void drain(std::uint64_t job);
  // Carries out what waits, until the budget of the turn is spent.
  void carry_out();
  // Asks for another turn, unless one has been asked for, and begins it.
  void go_on_soon();
  void begin_turn() { going_on_ = false; }

 private:
  using effects = shard_effects;
  using inputs = ingress_shell::inputs;

  template <class Effect>
  inputs inputs_of(const Effect& effect, inputs all);
  template <class Effect>
  void perform_any(const Effect& effect, inputs all);
  // Returns why steps of the slot could not be made, ok where they were.
  reply_code failure_of(std::uint32_t slot) const;
  reply_code code_of(const effects::acknowledge& acknowledge) const;
  void refuse(const effects::reply& reply, reply_code code);
  void perform(const effects::apply& apply, inputs all);
  void perform(const effects::measure& measure, inputs all);
  void perform(const effects::tell_norm_part& telling, inputs);
  void perform(const effects::tell_norm& telling, inputs);
  void perform(const effects::hand_on& handover, inputs all);
  void perform(const effects::ask& ask, inputs);
  void perform(const effects::snapshot& snapshot, inputs);
  void perform(const effects::replicate& replicate, inputs);
  void perform(const effects::seed& seed, inputs);
  void perform(const effects::replicate_farewell& farewell, inputs);
  void perform(const effects::followed& followed, inputs);
  void perform(const effects::release& release, inputs);
  void perform(const effects::acknowledge& acknowledge, inputs);
  void perform(const effects::reply& reply, inputs);
  void perform(const effects::doorbell_acknowledge& acknowledge, inputs);
  void perform(const effects::doorbell_reply& reply, inputs);

  ingress_state& state_;
  std::uint64_t turn_bytes_;
  shard_queue queue_;
  std::uint64_t budget_ = 0;     // bytes that may be summed in this turn
  bool going_on_ = false;        // the shell will call go_on()
  std::vector<double> squares_;  // by slot, as measured last
  // Slots whose steps could not be made, and why.
  std::map<std::uint32_t, reply_code> failed_;
};

}  // namespace tidegate::policies::sharding
