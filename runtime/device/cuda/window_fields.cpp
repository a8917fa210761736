#include "runtime/device/cuda/window_fields.hpp"

#include <cstring>

namespace tidegate::runtime::devices::cuda {

static_assert(sizeof(window_fields) == sizeof(window_name::bytes));

window_name encode(const window_fields& fields) {
  window_name name;
  std::memcpy(name.bytes.data(), &fields, sizeof fields);
  return name;
}

expected<window_fields> decode_window(const window_name& name, const gpu_identity& gpu,
                                      const std::string& device) {
  window_fields fields;
  std::memcpy(&fields, name.bytes.data(), sizeof fields);
  if (fields.tag != window_tag || fields.bytes == 0 || fields.bytes > window_bytes_max)
    return fail(errc::corrupt, device + ": this is not the name of a window");
  if (fields.gpu != gpu)
    return fail(errc::unavailable,
                device + ": the window is one of another GPU; use the same in both processes");
  return fields;
}

}  // namespace tidegate::runtime::devices::cuda
