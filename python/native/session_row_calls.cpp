#include "python/native/session_row_calls.hpp"

#include <span>
#include <vector>

namespace nb = nanobind;

namespace tidegate::python {

row_table session_row_calls::open(const std::string& name, std::uint32_t dim,
                                  const std::optional<row_table_options>& options) {
  return checked(
      home_->run([&](session& current) { return current.open_rows(name, dim, options); }));
}

operation session_row_calls::push(const row_table& where, id_array ids,
                                  worker_session::own_array gradients) {
  auto started = home_->run([&](session&) {
    return where.push({ids.data(), ids.size()}, {gradients.data(), gradients.size()});
  });
  return {home_, std::move(started)};
}

operation session_row_calls::pull(const row_table& where, id_array ids,
                                  worker_session::own_output out, bool to_the_end) {
  const std::span asked(ids.data(), ids.size());
  const std::span into(out.data(), out.size());
  return {home_, home_->run_keeping(nb::cast(std::move(out)), [&](session&) {
            return to_the_end ? where.pull_final(asked, into) : where.pull(asked, into);
          })};
}

operation session_row_calls::prefetch(const row_table& where, id_array ids) {
  auto started = home_->run([&](session&) { return where.prefetch({ids.data(), ids.size()}); });
  return {home_, std::move(started)};
}

namespace {

// The vector becomes the array's memory.
template <class Array, class T>
Array array_of(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto* memory = new std::vector<T>(std::move(values));
  const nb::capsule owner(memory,
                          [](void* at) noexcept { delete static_cast<std::vector<T>*>(at); });
  return Array(memory->data(), shape, owner);
}

}  // namespace

std::pair<session_row_calls::ids_out, session_row_calls::values_out> session_row_calls::rows(
    const row_table& where) {
  std::vector<std::uint64_t> ids;
  std::vector<float> values;
  check(home_->run([&](session&) {
    return where.for_each([&](std::uint64_t id, std::span<const float> row) {
      ids.push_back(id);
      values.insert(values.end(), row.begin(), row.end());
    });
  }));
  const auto count = ids.size();
  return {array_of<ids_out>(std::move(ids), {count}),
          array_of<values_out>(std::move(values), {count, where.dim()})};
}

std::vector<double> session_row_calls::call(const row_table& where, const std::string& function,
                                            const std::vector<double>& arguments) {
  return checked(home_->run([&](session&) { return where.call(function, arguments); }));
}

}  // namespace tidegate::python
