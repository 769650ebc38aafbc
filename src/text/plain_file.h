// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace terrace {

/// Before a file is opened that a user names: a device or a pipe in its place is an InputError, since it may never end, or never
/// begin. That nothing is there, or a folder, is for whoever reads it to say.
void require_plain_file(const std::string& path);

}  // namespace terrace
