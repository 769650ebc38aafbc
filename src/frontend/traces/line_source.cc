// SPDX-License-Identifier: MIT
#include "frontend/traces/line_source.h"

#include <lzma.h>
#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "engine/hash.h"
#include "text/plain_file.h"

namespace terrace::traces {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPieceBytes = std::size_t{1} << 18;
constexpr std::size_t kMostLineBytes = std::size_t{1} << 20;  // far above any instruction
constexpr u64 kMostDecoderBytes = u64{1} << 30;               // of memory that a file may ask xz for

class PlainBytes final : public ByteSource {
 public:
  explicit PlainBytes(const std::string& path) : path_(path), file_(nullptr, std::fclose) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) input_error("{}: there is no such file", path);
    require_plain_file(path);
    file_.reset(std::fopen(path.c_str(), "rb"));
    if (!file_) input_error("{}: cannot be read: {}", path, std::strerror(errno));
  }
  bool read(std::string& to) override {
    const std::size_t old = to.size();
    to.resize(old + kPieceBytes);
    const std::size_t got = std::fread(to.data() + old, 1, kPieceBytes, file_.get());
    if (std::ferror(file_.get()) != 0) input_error("{}: cannot be read: {}", path_, std::strerror(errno));
    to.resize(old + got);
    return got != 0;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

/// What both decompressors share: pieces of the file go in, pieces of text come out.
class DecompressedBytes : public ByteSource {
 public:
  explicit DecompressedBytes(const std::string& path) : file_(path) {}

 protected:
  /// The bytes of the file that are not used yet; more are read when there is none.
  std::string_view input() {
    if (at_ == piece_.size()) {
      piece_.clear();
      at_ = 0;
      file_.read(piece_);
    }
    return std::string_view(piece_).substr(at_);
  }
  void used(std::size_t bytes) { at_ += bytes; }
  [[noreturn]] void damaged(std::string_view why) const {
    input_error("{}: {}; copy or record the trace again", file_.path(), why);
  }

 private:
  PlainBytes file_;
  std::string piece_;
  std::size_t at_ = 0;
};

class XzBytes final : public DecompressedBytes {
 public:
  explicit XzBytes(const std::string& path) : DecompressedBytes(path) {
    if (lzma_stream_decoder(&stream_, kMostDecoderBytes, LZMA_CONCATENATED) != LZMA_OK)
      damaged("xz cannot decompress it: there is not enough memory");
  }
  ~XzBytes() override { lzma_end(&stream_); }
  XzBytes(const XzBytes&) = delete;
  XzBytes& operator=(const XzBytes&) = delete;

  bool read(std::string& to) override {
    if (ended_) return false;
    const std::size_t old = to.size();
    to.resize(old + kPieceBytes);
    stream_.next_out = reinterpret_cast<u8*>(to.data() + old);
    stream_.avail_out = kPieceBytes;
    while (stream_.avail_out != 0 && !ended_) {
      const std::string_view in = input();
      stream_.next_in = reinterpret_cast<const u8*>(in.data());
      stream_.avail_in = in.size();
      const lzma_ret result = lzma_code(&stream_, in.empty() ? LZMA_FINISH : LZMA_RUN);
      used(in.size() - stream_.avail_in);
      if (result == LZMA_STREAM_END)
        ended_ = true;
      else if (result == LZMA_BUF_ERROR)
        damaged("it is truncated");
      else if (result == LZMA_MEMLIMIT_ERROR)
        damaged("xz needs more than 1 GiB to decompress it");
      else if (result != LZMA_OK)
        damaged("xz cannot decompress it");
    }
    to.resize(old + kPieceBytes - stream_.avail_out);
    return to.size() != old;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool ended_ = false;
};

class ZstdBytes final : public DecompressedBytes {
 public:
  explicit ZstdBytes(const std::string& path)
      : DecompressedBytes(path), stream_(ZSTD_createDStream(), ZSTD_freeDStream) {
    if (!stream_) damaged("zstd cannot decompress it: there is not enough memory");
  }
  bool read(std::string& to) override {
    const std::size_t old = to.size();
    to.resize(old + kPieceBytes);
    ZSTD_outBuffer out{to.data() + old, kPieceBytes, 0};
    while (out.pos < out.size) {
      const std::string_view bytes = input();
      ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
      const std::size_t before = out.pos;
      if (bytes.empty() && whole_) break;  // frames may follow each other; the file may end after each
      const std::size_t result = ZSTD_decompressStream(stream_.get(), &out, &in);
      if (ZSTD_isError(result) != 0) damaged("zstd cannot decompress it");
      used(in.pos);
      whole_ = result == 0;
      if (bytes.empty() && !whole_ && out.pos == before) damaged("it is truncated");
    }
    to.resize(old + out.pos);
    return out.pos != 0;
  }

 private:
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_;
  bool whole_ = false;  // the last frame is
};

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
  if (path.ends_with(".xz")) return std::make_unique<XzBytes>(path);
  if (path.ends_with(".zst")) return std::make_unique<ZstdBytes>(path);
  return std::make_unique<PlainBytes>(path);
}

}  // namespace

LineSource::LineSource(std::string path) : path_(std::move(path)), bytes_(open_bytes(path_)) {}
LineSource::~LineSource() = default;
LineSource::LineSource(LineSource&&) noexcept = default;
LineSource& LineSource::operator=(LineSource&&) noexcept = default;

std::optional<std::string_view> LineSource::next() {
  std::size_t looked = at_;
  for (;;) {
    const std::size_t end = text_.find('\n', looked);
    if (end != text_.npos || (ended_ && at_ < text_.size())) {
      const std::size_t stop = std::min(end, text_.size());
      std::string_view line(text_.data() + at_, stop - at_);
      if (line.ends_with('\r')) line.remove_suffix(1);
      at_ = end == text_.npos ? stop : stop + 1;
      ++line_;
      return line;
    }
    if (ended_) return std::nullopt;
    text_.erase(0, at_);
    at_ = 0;
    looked = text_.size();
    if (looked > kMostLineBytes) {
      ++line_;
      refuse("is longer than {} bytes; this is not a trace", kMostLineBytes);
    }
    ended_ = !bytes_->read(text_);
  }
}

u64 file_hash(const std::string& path) {
  PlainBytes bytes(path);
  std::string piece, hashes;
  while (bytes.read(piece)) {
    hashes = hash_text(hash64(hashes + hash_text(hash64(piece))));
    piece.clear();
  }
  return hash64(hashes);
}

}  // namespace terrace::traces
