// The words of choices in YAML, both ways. Constant data, any thread.
#pragma once

#include <string_view>
#include <utility>

#include "launch/section.hpp"
#include "policies/spec.hpp"

namespace tidegate::launch {

template <class Enum>
using word_of = std::pair<std::string_view, Enum>;

inline constexpr word_of<policies::transport_kind> transport_words[] = {
    {"auto", policies::transport_kind::automatic},
    {"shm", policies::transport_kind::shm},
    {"tcp", policies::transport_kind::tcp}};

inline constexpr word_of<policies::consistency_kind> policy_words[] = {
    {"bsp", policies::consistency_kind::bsp},
    {"ssp", policies::consistency_kind::ssp},
    {"async", policies::consistency_kind::async}};

inline constexpr word_of<policies::optimizer_kind> optimizer_words[] = {
    {"sgd", policies::optimizer_kind::sgd},
    {"momentum", policies::optimizer_kind::momentum},
    {"adam", policies::optimizer_kind::adam}};

inline constexpr word_of<policies::reduce_kind> reduce_words[] = {
    {"mean", policies::reduce_kind::mean}, {"sum", policies::reduce_kind::sum}};

inline constexpr word_of<policies::not_finite_rule> not_finite_words[] = {
    {"refuse", policies::not_finite_rule::refuse}, {"allow", policies::not_finite_rule::allow}};

// The word of a value; every value has one.
template <class Enum, std::size_t N>
constexpr std::string_view word(const word_of<Enum> (&words)[N], Enum value) noexcept {
  for (const auto& [text, known] : words) {
    if (known == value) return text;
  }
  return "?";
}

}  // namespace tidegate::launch
