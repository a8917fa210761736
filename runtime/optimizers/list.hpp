// The registry of optimizers. An optimizer is a header here (NAME.hpp: name, options, formula),
// a vector step (NAME_inl.hpp), a test (tests/runtime/optimizers/NAME_test.cpp), and its line
// below with two includes: in registry.hpp and in kernels/steps_inl.hpp. Nothing else names it.
#pragma once

// X(NAME, NUMBER): in the order in which messages list them. Numbers are in journals, so they
// are never used again.
#define TIDEGATE_OPTIMIZERS(X) \
  X(sgd, 0)                    \
  X(momentum, 1)               \
  X(nesterov, 3)               \
  X(adagrad, 4)                \
  X(adam, 2)                   \
  X(adamw, 5)                  \
  X(assign, 6)                 \
  X(proximal, 7)

// Those that step rows and no dense table: a formula of theirs is of a whole row
// (row_formulas.hpp), and of_rows.hpp has the rest.
#define TIDEGATE_ROW_OPTIMIZERS(X) \
  X(rowwise_adagrad, 8)            \
  X(ftrl, 9)                       \
  X(group_adagrad, 10)
