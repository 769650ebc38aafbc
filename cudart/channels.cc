// Descriptions of channels, which headers make even where no texture is used.
// SPDX-License-Identifier: MIT
#include "api.h"

/// cudaChannelFormatDesc: bits of each component, and a cudaChannelFormatKind.
struct ChannelFormat {
  int bits[4];
  int kind;
};

TERRACE_API ChannelFormat cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
  return {{x, y, z, w}, kind};
}
