// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

namespace terrace {

/// The text inside a gzip file; what is not one fails the test.
inline std::string gunzip(const std::string& packed) {
  z_stream stream = {};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  char block[4096];
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(block);
    stream.avail_out = sizeof block;
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(block, sizeof block - stream.avail_out);
  }
  EXPECT_EQ(status, Z_STREAM_END) << "not a whole gzip file";
  inflateEnd(&stream);
  return text;
}

}  // namespace terrace
