// A descriptor of another process of this host, as a descriptor of this one: what is behind it
// (memory of a GPU, say) then lives as long as the copy, also when the other process has ended.
// The other process does nothing for it but let it happen. Linux 5.6 and newer; any thread.
#pragma once

#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/process/process_mark.hpp"

namespace tidegate::runtime {

// Lets every process of this user take descriptors of this process, which Yama (ptrace_scope 1)
// otherwise grants to its ancestors alone. It lets them debug this process, too, as everywhere
// where there is no Yama.
void let_descriptors_be_borrowed() noexcept;

// Errors: unavailable (the process has ended or closed the descriptor, the kernel refuses or
// cannot do this, or this process has no more descriptors).
expected<unique_fd> borrow_descriptor(const process_mark& owner, int descriptor);

}  // namespace tidegate::runtime
