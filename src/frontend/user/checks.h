// Whether the buffers of a user's program hold in the end what its file expects.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "frontend/user/program_file.h"

namespace terrace::user {

/// `held`: the bytes of each buffer; none of one that is not mapped. A file that expects nothing fails, with the digests.
CheckResult check_expectations(const ProgramFile& program, const std::vector<std::span<const u8>>& held);

}  // namespace terrace::user
