#include "runtime/base/log.hpp"

#include <cstdlib>
#include <string>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace tidegate::runtime::log {

namespace {

// Made on first use, so that libraries may log before start().
spdlog::logger& logger() {
  static const auto instance = [] {
    auto logger = spdlog::stderr_logger_mt("tidegate");
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
    logger->flush_on(spdlog::level::trace);
    const char* level = std::getenv("TIDEGATE_LOG");
    logger->set_level(level ? spdlog::level::from_str(level) : spdlog::level::info);
    return logger;
  }();
  return *instance;
}

}  // namespace

void start(std::string_view role) {
  logger().set_pattern("%Y-%m-%dT%H:%M:%S.%e " + std::string(role) + "[%P] %l %v");
}

void debug(std::string_view line) {
  logger().debug(line);
}
void info(std::string_view line) {
  logger().info(line);
}
void warn(std::string_view line) {
  logger().warn(line);
}
void error(std::string_view line) {
  logger().error(line);
}

}  // namespace tidegate::runtime::log
