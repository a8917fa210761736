#include "launch/door/door_key.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>

#include "launch/text/files.hpp"

namespace tidegate::launch {

namespace {

using runtime::errc;

constexpr std::string_view purpose = "tidegate door 1";
constexpr std::string_view white_space = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(white_space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(white_space) - first + 1);
}

}  // namespace

runtime::expected<runtime::digest> door_key_of(std::string_view text) {
  const auto secret = trimmed(text);
  if (secret.size() < door_key_characters_min)
    return runtime::fail(errc::invalid_argument,
                         "the key has " + std::to_string(secret.size()) +
                             " characters; it needs " +
                             std::to_string(door_key_characters_min) +
                             " at least, `openssl rand -hex 32` draws such a key");
  return runtime::hmac_sha256(std::as_bytes(std::span(secret)),
                              std::as_bytes(std::span(purpose)));
}

runtime::expected<runtime::digest> read_door_key(const std::string& path) {
  struct stat file = {};
  if (::stat(path.c_str(), &file) != 0)
    return runtime::fail(errno == ENOENT ? errc::not_found : errc::io_error,
                         path + ": " + std::strerror(errno));
  if ((file.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) != 0)
    return runtime::fail(errc::invalid_argument,
                         path + ": others may read or change this key; `chmod 600 " + path +
                             "` keeps them from it");
  const auto text = read_file(path);
  if (!text) return runtime::fail(text.error());
  auto key = door_key_of(*text);
  if (!key) return runtime::fail(errc::invalid_argument, path + ": " + key.error().message());
  return key;
}

runtime::expected<std::string> draw_door_key() {
  constexpr std::string_view digits = "0123456789abcdef";
  std::array<std::byte, runtime::digest_bytes> drawn{};
  if (auto done = runtime::draw_secret(drawn); !done.ok()) return runtime::fail(done);
  std::string text;
  for (const auto byte : drawn) {
    text += digits[std::to_integer<std::size_t>(byte >> 4U)];
    text += digits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

}  // namespace tidegate::launch
