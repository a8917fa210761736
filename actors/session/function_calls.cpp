#include "actors/session/function_calls.hpp"

#include <memory>
#include <string>

#include "actors/session/session_impl.hpp"
#include "runtime/functions/function_library.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::fail;

std::string call_subject(std::string_view function, std::string_view table) {
  return "call of function '" + std::string(function) + "' of table '" + std::string(table) +
         "'";
}

runtime::status check_call(const std::string& subject, std::string_view function,
                           std::span<const double> arguments) {
  if (function.size() <= runtime::function_name_max &&
      arguments.size() <= runtime::call_numbers_max)
    return {};
  return {errc::invalid_argument, subject + ": a name has at most " +
                                      std::to_string(runtime::function_name_max) +
                                      " bytes, and there are at most " +
                                      std::to_string(runtime::call_numbers_max) + " arguments"};
}

runtime::expected<std::vector<double>> values_of(const runtime::function_results& results,
                                                 const std::string& subject,
                                                 std::size_t arguments) {
  if (results.outcome == errc::not_found)
    return fail(errc::not_found,
                subject + ": no plugin of the cluster has such a function, and built in are " +
                    runtime::function_library::built_in().names());
  if (results.outcome != errc::ok)
    return fail(results.outcome, subject + ": it refuses these " + std::to_string(arguments) +
                                     " arguments, or a table of this kind");
  const auto values = results.values();
  return std::vector<double>(values.begin(), values.end());
}

runtime::expected<std::vector<double>> function_calls::call(const table& where,
                                                            std::string_view function,
                                                            std::span<const double> arguments) {
  if (auto usable = home_.check_usable(); !usable.ok()) return fail(usable);
  if (auto checked = home_.check(where, where.size, "call"); !checked.ok())
    return fail(checked);
  const auto subject = call_subject(function, home_.shell_.core().table(where.id)->name);
  if (auto checked = check_call(subject, function, arguments); !checked.ok())
    return fail(checked);
  const auto results = std::make_shared<runtime::function_results>();
  worker_command command;
  command.kind = worker_command::action::call;
  command.table = where.id;
  command.results = results;  // a wait may end before the call does
  runtime::encode(runtime::function_call{.name = function, .arguments = arguments},
                  command.function);
  if (auto outcome = home_.start(std::move(command)).wait(); !outcome.ok())
    return fail(outcome);
  return values_of(*results, subject, arguments.size());
}

}  // namespace tidegate::actors
