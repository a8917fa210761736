// The kernels for x86-64-v3; CMake adds the -march. See dense_impl.hpp about the renamed
// namespace.
#define Eigen eigen_v3
#define TIDEGATE_DENSE_NAMESPACE dense_v3
#include "examples/fashion_mnist/dense_impl.hpp"
