// What the fuzz target of the protocol and its tests do with bytes, second half: a stream of messages, half messages and nonsense
// goes through a socket in whatever parts, and the server's end of it (src/cuda/connection.h) must take the very messages out of it
// that a few lines here do, and then say why there are no more. Each message may be sent back, which must give the same bytes.
//
// The first byte says whether messages are sent back, and how the stream ends. Then come steps: one byte for what, one for how,
// two for a length. Parts end with a step that says so: the next one is sent when the reader has taken all before it.
// SPDX-License-Identifier: MIT
#pragma once

#include "fuzz/try_clients.h"

namespace terrace::cuda {

/// The first byte of an input says which of the two it is for: bit 7, which no step of try_clients needs.
inline constexpr u8 kFramingMark = 0x80;
/// In the first byte, with the mark.
inline constexpr u8 kSendsBack = 1;  // the reader sends back what it receives
inline constexpr u8 kHangsUp = 2;    // the writer closes at the end, instead of listening on
inline constexpr u8 kIsDeaf = 4;     // the writer closes its ears before it begins

enum class Piece : u8 {
  kMessage = 0,  // with its header
  kLie,          // with a header that lies
  kRaw,
  kLong,     // a message of 20 bytes for each one of the length: longer than what the server takes in at once
  kPartEnd,  // no payload
};
inline constexpr u32 kPieces = 5;

struct Framing {
  std::vector<u8> bytes;
  std::vector<u64> part_ends;  // in `bytes`
};

inline Framing framing_of(std::span<const u8> steps) {
  constexpr u64 kMostBytes = u64{3} << 20, kMostParts = 400, kLongScale = 20;
  Framing all;
  const auto add = [&all](const void* from, u64 count) {
    const auto* first = static_cast<const u8*>(from);
    all.bytes.insert(all.bytes.end(), first, first + count);
  };
  while (steps.size() >= 4 && all.bytes.size() < kMostBytes) {
    const auto piece = static_cast<Piece>(steps[0] % kPieces);
    const u8 how = steps[1];
    const u64 asked = u64{steps[2]} | u64{steps[3]} << 8, length = std::min<u64>(asked, steps.size() - 4);
    const auto payload = steps.subspan(4, piece == Piece::kLong || piece == Piece::kPartEnd ? 0 : length);
    if (piece == Piece::kMessage || piece == Piece::kLie) {
      const Header header =
          piece == Piece::kLie ? lying_header(how, Call::kWrite, payload.size()) : Header{how, 0, payload.size()};
      add(&header, sizeof header);
    }
    add(payload.data(), payload.size());
    if (piece == Piece::kLong) {
      const Header header{how, 0, asked * kLongScale};
      add(&header, sizeof header);
      std::vector<u8> long_payload(asked * kLongScale);
      for (u64 i = 0; i < long_payload.size(); ++i) long_payload[i] = static_cast<u8>(i * 7 + i / 251 + how);
      add(long_payload.data(), long_payload.size());
    }
    if (piece == Piece::kPartEnd && all.part_ends.size() < kMostParts) all.part_ends.push_back(all.bytes.size());
    steps = steps.subspan(4 + payload.size());
  }
  all.part_ends.push_back(all.bytes.size());
  return all;
}

/// The messages of a stream, and what is wrong with its end.
struct Expected {
  std::vector<Message> messages;
  std::string why = "its process ended without detaching";
};
inline Expected expected_of(const std::vector<u8>& bytes) {
  Expected expected;
  for (u64 at = 0; bytes.size() - at >= sizeof(Header);) {
    Header header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    if (header.zero != 0 || header.bytes > kMostPayloadBytes) {
      expected.why = "its process sent something that is not a message";
      return expected;
    }
    at += sizeof header;
    if (header.bytes > bytes.size() - at) break;
    const auto first = bytes.begin() + static_cast<i64>(at);
    expected.messages.push_back({static_cast<Call>(header.call), {first, first + static_cast<i64>(header.bytes)}});
    at += header.bytes;
  }
  return expected;
}

/// The writer's end: what it sends, part by part, and what it hears.
class FramingWriter {
 public:
  FramingWriter(Descriptor socket, const Framing& framing, u8 flags)
      : socket_(std::move(socket)), framing_(framing), hangs_up_((flags & kHangsUp) != 0) {
    if ((flags & kIsDeaf) != 0) shutdown(socket_.number(), SHUT_RD);
  }
  void run() {
    u64 sent = 0;
    for (const u64 end : framing_.part_ends) {
      while (sent < end) {
        const ssize_t count =
            send(socket_.number(), framing_.bytes.data() + sent, end - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0) sent += static_cast<u64>(count);
        if (count < 0 && errno != EAGAIN && errno != EINTR) return hear_all();
        if (count < 0) wait(POLLIN | POLLOUT);
        hear();
      }
      while (!all_is_read(socket_)) {
        hear();
        std::this_thread::yield();
      }
    }
    if (hangs_up_)
      socket_ = Descriptor();
    else
      shutdown(socket_.number(), SHUT_WR);
    hear_all();
  }
  const std::vector<u8>& heard() const { return heard_; }

 private:
  void wait(short events) const {
    pollfd waiting{socket_.number(), events, 0};
    poll(&waiting, 1, 10);
  }
  bool hear() {
    u8 part[65536];
    const ssize_t got = recv(socket_.number(), part, sizeof part, MSG_DONTWAIT);
    if (got > 0) heard_.insert(heard_.end(), part, part + got);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
  }
  void hear_all() {
    while (socket_ && hear()) wait(POLLIN);
  }

  Descriptor socket_;
  const Framing& framing_;
  std::vector<u8> heard_;
  bool hangs_up_;
};

/// How many messages came through. `flags` is the first byte of the input.
inline u64 try_framing(u8 flags, std::span<const u8> steps) {
  const Framing framing = framing_of(steps);
  const Expected expected = expected_of(framing.bytes);
  int ends[2];
  SIM_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "no socket: {}", std::strerror(errno));
  FramingWriter writer(Descriptor(ends[1]), framing, flags);
  std::vector<Message> received;
  std::string why;
  bool all_sent_back = true;
  std::thread other([&writer] { writer.run(); });
  {
    Connection connection(Descriptor(ends[0]), 0);
    while (std::optional<Message> message = connection.receive()) {
      if ((flags & kSendsBack) != 0 && all_sent_back) all_sent_back = connection.send(*message);
      received.push_back(std::move(*message));
    }
    why = connection.why();
  }
  other.join();
  // A writer that does not hear what is sent to it may end the connection early. Otherwise all that it sent arrives.
  const bool stays = (flags & kSendsBack) == 0 || (flags & (kIsDeaf | kHangsUp)) == 0;
  SIM_CHECK(received.size() <= expected.messages.size() && (!stays || received.size() == expected.messages.size()),
            "{} messages came out of a stream of {}", received.size(), expected.messages.size());
  std::vector<u8> sent_back;
  for (u64 i = 0; i < received.size(); ++i) {
    SIM_CHECK(received[i].call == expected.messages[i].call && received[i].payload == expected.messages[i].payload,
              "message {} is another one than was sent", i);
    const Header header{static_cast<u32>(received[i].call), 0, received[i].payload.size()};
    const auto* first = reinterpret_cast<const u8*>(&header);
    sent_back.insert(sent_back.end(), first, first + sizeof header);
    sent_back.insert(sent_back.end(), received[i].payload.begin(), received[i].payload.end());
  }
  SIM_CHECK(stays ? why == expected.why : !why.empty(), "it ended because \"{}\", not \"{}\"", why, expected.why);
  if ((flags & kSendsBack) == 0) {
    SIM_CHECK(writer.heard().empty(), "the server sent {} bytes by itself", writer.heard().size());
    return received.size();
  }
  const std::vector<u8>& heard = writer.heard();
  SIM_CHECK(heard.size() <= sent_back.size() &&
                (heard.empty() || std::memcmp(heard.data(), sent_back.data(), heard.size()) == 0) &&
                (!stays || (all_sent_back && heard.size() == sent_back.size())),
            "{} bytes came back of {}", heard.size(), sent_back.size());
  return received.size();
}

/// An input of the fuzz target.
inline void try_protocol(std::span<const u8> bytes) {
  if (!bytes.empty() && (bytes[0] & kFramingMark) != 0)
    try_framing(bytes[0], bytes.subspan(1));
  else
    try_clients(bytes);
}

}  // namespace terrace::cuda
