#include "launch/options/parse_words.hpp"

#include "launch/text/nearest.hpp"

namespace tidegate::launch {

namespace {

namespace options = boost::program_options;

constexpr const char* words_name = "words";

std::string did_you_mean(const std::string& word,
                         const options::options_description& described) {
  std::vector<std::string> known;
  for (const auto& option : described.options()) known.push_back("--" + option->long_name());
  const auto near = nearest(word, known);
  return (near.empty() ? "" : "; did you mean '" + near + "'?") + "; allowed: " + join(known);
}

}  // namespace

runtime::expected<parsed_words> parse_words(const std::string& command,
                                            const options::options_description& known,
                                            const std::vector<std::string>& args) {
  namespace style = options::command_line_style;
  const auto bad = [&](const std::string& why) {
    return runtime::fail(runtime::errc::invalid_argument, "tidegate " + command + ": " + why);
  };
  options::options_description all;
  all.add(known);
  all.add_options()(words_name, options::value<std::vector<std::string>>()->composing(), "");
  options::positional_options_description rest;
  rest.add(words_name, -1);
  try {
    parsed_words result;
    options::store(options::command_line_parser(args)
                       .options(all)
                       .positional(rest)
                       .style(style::unix_style & ~style::allow_guessing)
                       .run(),
                   result.options);
    // Who asks for help need not give what is required.
    if (result.options.count("help") == 0) options::notify(result.options);
    if (result.options.count(words_name) != 0)
      result.words = result.options[words_name].as<std::vector<std::string>>();
    return result;
  } catch (const options::unknown_option& wrong) {
    return bad("unknown option '" + wrong.get_option_name() + "'" +
               did_you_mean(wrong.get_option_name(), known));
  } catch (const options::error& wrong) {
    return bad(wrong.what());
  }
}

}  // namespace tidegate::launch
