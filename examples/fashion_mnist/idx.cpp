#include "examples/fashion_mnist/idx.hpp"

#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <zlib.h>

namespace tidegate::examples {

namespace {

struct close_gz {
  void operator()(gzFile_s* file) const noexcept { gzclose_r(file); }
};
using gz_handle = std::unique_ptr<gzFile_s, close_gz>;

constexpr std::uint32_t magic_of_bytes =
    0x0800;  // type "unsigned byte"; the low byte: dimensions

expected<gz_handle> open_gz(const std::string& path) {
  errno = 0;
  gz_handle file(gzopen(path.c_str(), "rb"));
  if (file) return file;
  if (errno == ENOENT) {
    return fail(errc::not_found,
                path +
                    " is missing: `apt-get install dataset-fashion-mnist` puts the data into " +
                    dataset_folder + "; for another folder use --data DIR");
  }
  return fail(errc::io_error, path + ": " + std::strerror(errno));
}

// Fills `out` completely.
status read_exactly(gzFile_s* file, const std::string& path, std::span<std::uint8_t> out) {
  constexpr std::size_t step_bytes_max = 1U << 24;  // gzread counts in int
  std::size_t done = 0;
  while (done < out.size()) {
    const auto want = static_cast<unsigned>(std::min(out.size() - done, step_bytes_max));
    const int got = gzread(file, out.data() + done, want);
    if (got < 0) {
      int code = 0;
      return {errc::corrupt, path + ": " + gzerror(file, &code)};
    }
    if (got == 0) {
      return {errc::corrupt, path + " is truncated: " + std::to_string(out.size() - done) +
                                 " of " + std::to_string(out.size()) + " bytes are missing"};
    }
    done += static_cast<std::size_t>(got);
  }
  return {};
}

expected<std::uint32_t> read_be32(gzFile_s* file, const std::string& path) {
  std::uint8_t raw[4];
  if (auto s = read_exactly(file, path, raw); !s) return fail(s);
  return std::uint32_t{raw[0]} << 24 | std::uint32_t{raw[1]} << 16 |
         std::uint32_t{raw[2]} << 8 | std::uint32_t{raw[3]};
}

// Also reads the checksum at the end of a gzip stream: zlib checks it only when asked for more.
status expect_end(gzFile_s* file, const std::string& path) {
  std::uint8_t extra = 0;
  const int got = gzread(file, &extra, 1);
  int code = Z_OK;
  const char* why = gzerror(file, &code);
  if (got < 0 || code < 0) return {errc::corrupt, path + ": " + why};
  if (got > 0) return {errc::corrupt, path + " has bytes after its data"};
  return {};
}

}  // namespace

expected<idx_array> read_idx(const std::string& path, std::uint32_t dimensions) {
  auto file = open_gz(path);
  if (!file) return fail(file.error());
  auto magic = read_be32(file->get(), path);
  if (!magic) return fail(magic.error());
  if (*magic != (magic_of_bytes | dimensions)) {
    return fail(errc::corrupt, path + " is not an IDX file of bytes with " +
                                   std::to_string(dimensions) + " dimension(s)");
  }
  idx_array result;
  std::uint64_t bytes = 1;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    auto size = read_be32(file->get(), path);
    if (!size) return fail(size.error());
    bytes *= *size;
    if (*size == 0 || bytes > idx_bytes_max) {
      return fail(errc::corrupt, path + " claims an implausible size");
    }
    result.shape.push_back(*size);
  }
  result.bytes.resize(bytes);
  if (auto s = read_exactly(file->get(), path, result.bytes); !s) return fail(s);
  if (auto s = expect_end(file->get(), path); !s) return fail(s);
  return result;
}

expected<labelled_images> read_split(const std::string& folder, split part) {
  const std::string prefix = folder + (part == split::train ? "/train" : "/t10k");
  auto images = read_idx(prefix + "-images-idx3-ubyte.gz", 3);
  if (!images) return fail(images.error());
  auto labels = read_idx(prefix + "-labels-idx1-ubyte.gz", 1);
  if (!labels) return fail(labels.error());
  if (images->shape[0] != labels->shape[0]) {
    return fail(errc::corrupt, folder + ": " + std::to_string(images->shape[0]) +
                                   " images but " + std::to_string(labels->shape[0]) +
                                   " labels");
  }
  for (auto label : labels->bytes) {
    if (label > 9) {
      return fail(errc::corrupt, folder + ": label " + std::to_string(label) + " is not 0..9");
    }
  }
  labelled_images result;
  result.count = images->shape[0];
  result.pixels = images->shape[1] * images->shape[2];
  result.images = std::move(images->bytes);
  result.labels = std::move(labels->bytes);
  return result;
}

}  // namespace tidegate::examples
