// The kernels for any CPU of the architecture that is compiled for.
#define TIDEGATE_DENSE_NAMESPACE dense_baseline
#include "examples/fashion_mnist/dense_impl.hpp"
