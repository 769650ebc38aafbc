// SPDX-License-Identifier: MIT
#include "text/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "engine/check.h"

namespace terrace {

std::string gzip(std::string_view text) {
  // zlib's words: the largest window, and 16 more for a gzip header instead of its own.
  constexpr int kWindowBits = 15 + 16, kMemoryLevel = 8;
  z_stream stream = {};
  int status = deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kWindowBits, kMemoryLevel, Z_DEFAULT_STRATEGY);
  SIM_CHECK(status == Z_OK, "zlib does not start: {}", status);
  std::string packed;
  char block[64 * 1024];
  while (status != Z_STREAM_END) {
    // zlib counts in 32 bits.
    const std::string_view part = text.substr(0, std::numeric_limits<uInt>::max());
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
    stream.avail_in = static_cast<uInt>(part.size());
    text.remove_prefix(part.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(block);
      stream.avail_out = sizeof block;
      status = deflate(&stream, text.empty() ? Z_FINISH : Z_NO_FLUSH);
      SIM_CHECK(status != Z_STREAM_ERROR, "zlib cannot go on");
      packed.append(block, sizeof block - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  deflateEnd(&stream);
  return packed;
}

}  // namespace terrace
