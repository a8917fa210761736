// Reads Fashion-MNIST (Xiao et al., 2017) as Debian packages it: four gzip files in the IDX
// format, which is a big-endian header (magic, one size per dimension) followed by bytes.
//
// Free functions, any thread. What they return owns its memory. Errors are values:
//   not_found   the file is not there; the message names the folder and the package to install
//   corrupt     not gzip, wrong magic, sizes that are not plausible, too few or too many bytes
//   io_error    the system refused to read
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tidegate/status.hpp>

namespace tidegate::examples {

inline constexpr char dataset_folder[] = "/usr/share/datasets/fashion-mnist";
inline constexpr std::uint64_t idx_bytes_max = 1ULL
                                               << 30;  // a file that claims more is corrupt

// An array of bytes with up to three dimensions, row-major.
struct idx_array {
  std::vector<std::uint32_t> shape;
  std::vector<std::uint8_t> bytes;
};

// Pixels 0..255, `rows * columns` per image, and one label 0..9 per image.
struct labelled_images {
  std::uint32_t count = 0;
  std::uint32_t pixels = 0;  // of one image
  std::vector<std::uint8_t> images;
  std::vector<std::uint8_t> labels;
};

enum class split { train, test };

// One file of unsigned bytes with `dimensions` dimensions (1..3).
expected<idx_array> read_idx(const std::string& path, std::uint32_t dimensions);

// Images and labels of one split. Errors also: corrupt when the two files do not fit together
// or a label is not below 10.
expected<labelled_images> read_split(const std::string& folder, split part);

}  // namespace tidegate::examples
