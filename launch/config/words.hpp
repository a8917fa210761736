// The words of choices in YAML, both ways, and the keys that belong to a choice. Constant data,
// any thread.
#pragma once

#include <string_view>
#include <utility>

#include "launch/config/section.hpp"
#include "policies/model/option_rules.hpp"
#include "policies/model/spec.hpp"
#include "runtime/optimizers/list.hpp"

namespace tidegate::launch {

template <class Enum>
using word_of = std::pair<std::string_view, Enum>;

inline constexpr word_of<policies::engine_kind> engine_words[] = {
    {"local", policies::engine_kind::local},
    {"slurm", policies::engine_kind::slurm},
    {"mpi", policies::engine_kind::mpi},
    {"ray", policies::engine_kind::ray},
    {"kubernetes", policies::engine_kind::kubernetes}};

inline constexpr word_of<policies::transport_kind> transport_words[] = {
    {"auto", policies::transport_kind::automatic},
    {"shm", policies::transport_kind::shm},
    {"tcp", policies::transport_kind::tcp},
    {"ucx", policies::transport_kind::ucx},
    {"rdma", policies::transport_kind::rdma}};

inline constexpr word_of<policies::consistency_kind> policy_words[] = {
#define TIDEGATE_WORD(name, number, ...) {#name, policies::consistency_kind::name},
    TIDEGATE_POLICIES(TIDEGATE_WORD)
#undef TIDEGATE_WORD
};

#define TIDEGATE_WORD(name, number) {#name, policies::optimizer_kind::name},
inline constexpr word_of<policies::optimizer_kind> dense_optimizer_words[] = {
    TIDEGATE_OPTIMIZERS(TIDEGATE_WORD)};
inline constexpr word_of<policies::optimizer_kind> optimizer_words[] = {
    TIDEGATE_OPTIMIZERS(TIDEGATE_WORD) TIDEGATE_ROW_OPTIMIZERS(TIDEGATE_WORD)};
#undef TIDEGATE_WORD

inline constexpr word_of<runtime::schedule_kind> schedule_words[] = {
    {"constant", runtime::schedule_kind::constant},
    {"step", runtime::schedule_kind::step},
    {"cosine", runtime::schedule_kind::cosine}};

using runtime::reduction_words;

inline constexpr word_of<policies::reduce_kind> reduce_words[] = {
    {"mean", policies::reduce_kind::mean}, {"sum", policies::reduce_kind::sum}};

inline constexpr word_of<policies::aggregators_kind> aggregators_words[] = {
    {"none", policies::aggregators_kind::none},
    {"per_host", policies::aggregators_kind::per_host},
    {"per_rack", policies::aggregators_kind::per_rack}};

inline constexpr word_of<policies::not_finite_rule> not_finite_words[] = {
    {"refuse", policies::not_finite_rule::refuse}, {"allow", policies::not_finite_rule::allow}};

inline constexpr word_of<bool> truth_words[] = {{"true", true}, {"false", false}};

inline constexpr word_of<policies::memory_rule> memory_words[] = {
    {"refuse", policies::memory_rule::refuse}, {"ignore", policies::memory_rule::ignore}};

inline constexpr word_of<policies::worker_loss_rule> worker_loss_words[] = {
    {"restart", policies::worker_loss_rule::restart},
    {"fail", policies::worker_loss_rule::fail},
    {"shrink", policies::worker_loss_rule::shrink}};

// The word of a value; every value has one.
template <class Enum, std::size_t N>
constexpr std::string_view word(const word_of<Enum> (&words)[N], Enum value) noexcept {
  for (const auto& [text, known] : words) {
    if (known == value) return text;
  }
  return "?";
}

}  // namespace tidegate::launch
