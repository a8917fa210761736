#include "examples/fashion_mnist/options.hpp"

#include <charconv>

namespace tidegate::examples {

const std::string_view usage =
    R"(usage: fashion_mnist [options]     a worker: `tidegate launch fashion_mnist.yaml` starts it

  --model softmax|mlp      784-10, or 784-256-128-10 with ReLU          [mlp]
  --epochs N               passes over the 60,000 training images       [10]
  --batch N                images per worker and clock                  [32]
  --data DIR               folder of Debian's dataset-fashion-mnist
                           [/usr/share/datasets/fashion-mnist]
  --simd baseline|v3|auto  instruction set of the arithmetic, on which
                           the last bits of the result depend           [auto]
  --help
)";

namespace {

std::string quoted(std::string_view text) {
  return std::string(1, '\'').append(text).append("'");
}

status parse_count(std::string_view name, std::string_view text, std::uint32_t max,
                   std::uint32_t& out) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0 || value > max) {
    return {errc::invalid_argument, std::string(name) + " wants a number from 1 to " +
                                        std::to_string(max) + ", not " + quoted(text)};
  }
  out = value;
  return {};
}

status parse_simd(std::string_view text, simd_level& out) {
  if (text == "baseline") {
    out = simd_level::baseline;
  } else if (text == "v3") {
    out = simd_level::v3;
  } else if (text == "auto") {
    out = simd_level::automatic;
  } else {
    return {errc::invalid_argument, "--simd wants baseline, v3 or auto, not " + quoted(text)};
  }
  return {};
}

status parse_one(std::string_view name, std::string_view value, options& out) {
  if (name == "--epochs") return parse_count(name, value, 10'000, out.epochs);
  if (name == "--batch") return parse_count(name, value, 4096, out.batch);
  if (name == "--simd") return parse_simd(value, out.simd);
  if (name == "--data") {
    out.data = value;
    return {};
  }
  if (name == "--model") {
    if (value != "softmax" && value != "mlp") {
      return {errc::invalid_argument, "--model wants softmax or mlp, not " + quoted(value)};
    }
    out.model = value;
    return {};
  }
  return {errc::invalid_argument, "unknown option " + quoted(name) + "; see --help"};
}

}  // namespace

expected<options> parse_options(std::span<const char* const> arguments) {
  options result;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view name = arguments[i];
    if (name == "--help") {
      result.help = true;
      continue;
    }
    if (i + 1 == arguments.size()) {
      return fail(errc::invalid_argument,
                  quoted(name) + " is unknown or lacks its value; see --help");
    }
    if (auto s = parse_one(name, arguments[++i], result); !s) return fail(s);
  }
  return result;
}

}  // namespace tidegate::examples
