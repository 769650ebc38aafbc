// SPDX-License-Identifier: MIT
#include "run/checkpoint.h"

#include <fmt/ranges.h>
#include <sys/stat.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <span>

#include "config/field_list.h"
#include "config/field_text.h"
#include "config/loader.h"
#include "engine/check.h"
#include "gpu/until.h"
#include "run/job_identity.h"
#include "text/output.h"
#include "text/plain_file.h"
#include "version.h"

namespace terrace {
namespace {

constexpr std::string_view kMagic = "TERRACE\x1a";  // which no text has
constexpr u32 kFormat = 1;
constexpr u64 kHashBytes = 8;
constexpr u64 kMostFactBytes = u64{16} << 20;  // far more than any configuration has
/// The fastest level that zstd counts: on states of gups and mm a higher one takes longer and hardly saves any room.
constexpr int kLevel = 1;

/// A hash over what goes by.
class RunningHash {
 public:
  void add(const void* data, std::size_t count) { XXH64_update(&state_, data, count); }
  u64 value() const { return XXH64_digest(&state_); }

 private:
  XXH64_state_t state_ = [] {
    XXH64_state_t state;
    XXH64_reset(&state, 0);
    return state;
  }();
};

template <class T>
std::string_view bytes_of(const T& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

/// Says which build wrote a file. Statistics, members of classes and what debug checks keep are in the state.
Tree build_tree() {
#ifdef TERRACE_DCHECK
  constexpr bool kChecks = true;
#else
  constexpr bool kChecks = false;
#endif
  return {{"version", version()},
          {"revision", revision()},
          {"compiler", compiler()},
          {"code", code_hash()},
          {"debug_checks", kChecks}};
}

std::string build_text(const Tree& build) {
  const auto text = [&](const char* key) {
    const Tree* member = build.find(key);
    return member == nullptr ? std::string("?") : printable(member->text());
  };
  return fmt::format("version {}, revision {}, code {}, {}, {} debug checks", text("version"), text("revision"),
                     text("code"), text("compiler"), text("debug_checks") == "true" ? "with" : "without");
}

Tree list_of(const std::vector<std::string>& words) {
  Tree list = Tree::list();
  for (const std::string& word : words) list.push(Tree(word));
  return list;
}

Tree tree_of(const CheckpointFacts& facts) {
  Tree completed = Tree::list();
  for (const u64 runs : facts.completed) completed.push(Tree(runs));
  return {{"build", build_tree()},
          {"cycle", facts.cycle},
          {"warp_instructions", facts.warp_instructions},
          {"thread_instructions", facts.thread_instructions},
          {"config", facts.config},
          {"tenants", list_of(facts.tenants)},
          {"programs", list_of(facts.programs)},
          {"completed", std::move(completed)},
          {"check", facts.kept.check},
          {"log", facts.kept.log},
          {"timeline", facts.kept.timeline},
          {"timeline_of", list_of(facts.kept.timeline_of)},
          {"timeline_events", facts.kept.timeline_events},
          {"asked", facts.asked}};
}

/// The hash says that these are the words that were written; so they are all there.
template <class T>
T value_of(const Tree& tree, const char* key) {
  const Tree* member = tree.find(key);
  SIM_CHECK(member != nullptr && std::holds_alternative<T>(member->value), "a checkpoint does not say its {}", key);
  return std::get<T>(member->value);
}
template <class T>
std::vector<T> values_of(const Tree& tree, const char* key) {
  std::vector<T> values;
  const Tree* member = tree.find(key);
  SIM_CHECK(member != nullptr, "a checkpoint does not say its {}", key);
  for (const Tree& item : member->items()) values.push_back(std::get<T>(item.value));
  return values;
}

CheckpointFacts facts_of(const Tree& tree) {
  CheckpointFacts facts;
  facts.cycle = value_of<u64>(tree, "cycle");
  facts.warp_instructions = value_of<u64>(tree, "warp_instructions");
  facts.thread_instructions = value_of<u64>(tree, "thread_instructions");
  facts.config = value_of<std::string>(tree, "config");
  facts.tenants = values_of<std::string>(tree, "tenants");
  facts.programs = values_of<std::string>(tree, "programs");
  facts.completed = values_of<u64>(tree, "completed");
  facts.kept = {value_of<bool>(tree, "check"), value_of<std::string>(tree, "log"), value_of<bool>(tree, "timeline"),
                values_of<std::string>(tree, "timeline_of"), value_of<u64>(tree, "timeline_events")};
  if (const Tree* asked = tree.find("asked")) facts.asked = *asked;
  return facts;
}

/// State on its way to a file: compressed, and counted into its hash.
class StateWriter final : public Archive {
 public:
  StateWriter(OutputFile& file, RunningHash& hash)
      : Archive(false), file_(file), hash_(hash), packer_(ZSTD_createCCtx(), &ZSTD_freeCCtx) {
    SIM_CHECK(packer_ != nullptr, "zstd does not start");
    ZSTD_CCtx_setParameter(packer_.get(), ZSTD_c_compressionLevel, kLevel);
  }
  void finish() {
    flush();
    pack(nullptr, 0, ZSTD_e_end);
  }

 private:
  void write(const std::byte* data, std::size_t count) override { pack(data, count, ZSTD_e_continue); }
  void pack(const std::byte* data, std::size_t count, ZSTD_EndDirective how) {
    ZSTD_inBuffer in{data, count, 0};
    for (;;) {
      ZSTD_outBuffer out{packed_.data(), packed_.size(), 0};
      const std::size_t left = ZSTD_compressStream2(packer_.get(), &out, &in, how);
      SIM_CHECK(!ZSTD_isError(left), "zstd cannot go on: {}", ZSTD_getErrorName(left));
      hash_.add(packed_.data(), out.pos);
      file_.write({packed_.data(), out.pos});
      if (how == ZSTD_e_end ? left == 0 : in.pos == in.size) return;
    }
  }
  std::size_t read(std::byte*, std::size_t) override { return 0; }
  [[noreturn]] void damaged(const std::string& why) override { throw ModelError(why); }

  OutputFile& file_;
  RunningHash& hash_;
  std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> packer_;
  std::vector<char> packed_ = std::vector<char>(ZSTD_CStreamOutSize());
};

/// State on its way from a file, whose hash was found to be right.
class StateReader final : public Archive {
 public:
  StateReader(std::string name, std::FILE* file, u64 bytes)
      : Archive(true), name_(std::move(name)), file_(file), left_(bytes), unpacker_(ZSTD_createDCtx(), &ZSTD_freeDCtx) {
    SIM_CHECK(unpacker_ != nullptr, "zstd does not start");
  }

 private:
  void write(const std::byte*, std::size_t) override {}
  std::size_t read(std::byte* data, std::size_t most) override {
    ZSTD_outBuffer out{data, most, 0};
    while (out.pos == 0) {
      if (in_.pos == in_.size && !refill()) return 0;
      const std::size_t status = ZSTD_decompressStream(unpacker_.get(), &out, &in_);
      if (ZSTD_isError(status)) damaged(ZSTD_getErrorName(status));
    }
    return out.pos;
  }
  bool refill() {
    const std::size_t wanted = static_cast<std::size_t>(std::min<u64>(left_, packed_.size()));
    const std::size_t count = std::fread(packed_.data(), 1, wanted, file_);
    if (count != wanted) damaged("it cannot be read any more");
    left_ -= count;
    in_ = {packed_.data(), count, 0};
    return count != 0;
  }
  /// The build, the configuration and the programs are the same: whoever cannot read it wrote something else.
  [[noreturn]] void damaged(const std::string& why) override { throw ModelError(fmt::format("{}: {}", name_, why)); }

  std::string name_;
  std::FILE* file_;
  u64 left_;
  std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> unpacker_;
  std::vector<char> packed_ = std::vector<char>(ZSTD_DStreamInSize());
  ZSTD_inBuffer in_{nullptr, 0, 0};
};

/// Keys and values of a resolved configuration, as files and `terrace explain` show them.
std::map<std::string, std::string> values_in(GpuConfig config) {
  std::map<std::string, std::string> values;
  for (FieldInfo& field : fields_of(config, true)) values.emplace(std::move(field.path), std::move(field.value));
  return values;
}

/// A document's values, each under its full key.
void flatten(const Tree& table, const std::string& prefix, const std::string& source, std::vector<Given>& into) {
  for (const auto& [key, value] : table.members()) {
    if (value.members().empty())
      into.push_back({prefix + key, value, false, {source, 0}});
    else
      flatten(value, prefix + key + ".", source, into);
  }
}

}  // namespace

CheckpointWish parse_checkpoint(std::string_view text) {
  constexpr std::string_view kEvery = "every:";
  const std::size_t at = text.rfind('@');
  if (at == text.npos || at == 0)
    input_error("run: --checkpoint takes FILE@CYCLE or FILE@every:CYCLES, such as run.ckpt@1000000, not \"{}\"",
                printable(text));
  std::string_view number = text.substr(at + 1);
  const bool every = number.starts_with(kEvery);
  if (every) number.remove_prefix(kEvery.size());
  const auto cycle = parse_integer(number);
  if (!cycle || *cycle == 0)
    input_error("run: --checkpoint {}: the {} must be a whole number from 1, not \"{}\"", printable(text),
                every ? "number of cycles" : "cycle", printable(number));
  return {std::string(text.substr(0, at)), *cycle, every ? *cycle : 0};
}

void write_checkpoint(const std::string& name, const CheckpointFacts& facts,
                      const std::function<void(Archive&)>& state) {
  OutputFile file(name);
  RunningHash hash;
  const auto put = [&](std::string_view bytes) {
    hash.add(bytes.data(), bytes.size());
    file.write(bytes);
  };
  const std::string words = json_text(tree_of(facts));
  put(kMagic);
  put(bytes_of(kFormat));
  put(bytes_of(static_cast<u32>(words.size())));
  put(words);
  StateWriter writer(file, hash);
  state(writer);
  writer.finish();
  file.write(bytes_of(hash.value()));
  file.commit();
}

Checkpoint::Checkpoint(std::string file)
    : name_(std::move(file)), file_((require_plain_file(name_), std::fopen(name_.c_str(), "rb")), [](std::FILE* open) {
        return open == nullptr ? 0 : std::fclose(open);
      }) {
  struct stat there = {};
  if (!file_) input_error("{}: cannot be read: {}", name_, std::strerror(errno));
  if (fstat(fileno(file_.get()), &there) != 0 || !S_ISREG(there.st_mode))
    input_error("{}: is not a checkpoint; --resume takes a file that --checkpoint wrote", name_);
  state_ends_ = static_cast<u64>(there.st_size);
  verify();
  read_facts();
}

/// The hash of the whole file, before a word of it is believed.
void Checkpoint::verify() {
  std::vector<char> block(std::size_t{1} << 20);
  char magic[kMagic.size()] = {};
  const std::size_t begin = std::fread(magic, 1, sizeof magic, file_.get());
  if (std::string_view(magic, begin) != kMagic)
    input_error("{}: is not a checkpoint; --resume takes a file that --checkpoint wrote", name_);
  if (state_ends_ < kMagic.size() + 2 * sizeof(u32) + kHashBytes) refuse_damaged();
  state_ends_ -= kHashBytes;
  RunningHash hash;
  hash.add(magic, sizeof magic);
  for (u64 left = state_ends_ - sizeof magic; left > 0;) {
    const std::size_t count =
        std::fread(block.data(), 1, static_cast<std::size_t>(std::min<u64>(left, block.size())), file_.get());
    if (count == 0) refuse_damaged();
    hash.add(block.data(), count);
    left -= count;
  }
  u64 written = 0;
  if (std::fread(&written, 1, sizeof written, file_.get()) != sizeof written || written != hash.value())
    refuse_damaged();
}

void Checkpoint::read_facts() {
  std::fseek(file_.get(), static_cast<long>(kMagic.size()), SEEK_SET);
  u32 format = 0, size = 0;
  if (std::fread(&format, sizeof format, 1, file_.get()) != 1 || std::fread(&size, sizeof size, 1, file_.get()) != 1)
    refuse_damaged();
  if (format != kFormat)
    input_error("{}: has format {}, and this build reads {}; resume with the build that wrote it", name_, format,
                kFormat);
  state_begins_ = kMagic.size() + 2 * sizeof(u32) + size;
  if (size > kMostFactBytes || state_begins_ > state_ends_) refuse_damaged();
  std::string words(size, '\0');
  if (std::fread(words.data(), 1, size, file_.get()) != size) refuse_damaged();
  const Tree tree = parse_json(words, name_);
  const Tree mine = build_tree();
  const Tree* its = tree.find("build");
  for (const char* key : {"code", "compiler", "debug_checks"}) {
    const Tree* value = its == nullptr ? nullptr : its->find(key);
    if (value != nullptr && *value == *mine.find(key)) continue;
    input_error(
        "{}: was written by another build ({}), and this is {}; resume with the build that wrote it, or start the run "
        "again",
        name_, its == nullptr ? "unknown" : build_text(*its), build_text(mine));
  }
  facts_ = facts_of(tree);
}

void Checkpoint::refuse_damaged() const {
  input_error("{}: is a checkpoint of which a part is missing or altered; use an earlier one, or start the run again",
              name_);
}

GpuConfig Checkpoint::config() const {
  Layers layers;
  flatten(parse_toml(facts_.config, name_), "", name_, layers.options);
  return ConfigLoader<GpuConfig>(layers).config();
}

void Checkpoint::require(const GpuConfig& config, const std::vector<std::string>& programs) const {
  GpuConfig saved = this->config();
  std::map<std::string, std::string> mine = values_in(config), its = values_in(saved);
  constexpr const char* kUntil = "run.until";
  if (mine[kUntil] != its[kUntil]) require_until(config, saved);
  mine[kUntil] = its[kUntil];
  // In the order of the machine's own description, in which a policy stands before its parameters.
  for (const FieldInfo& field : fields_of(saved, true)) {
    const auto found = mine.find(field.path);
    if (found != mine.end() && found->second == field.value) continue;
    if (found == mine.end()) continue;  // a parameter of a policy that is not in use here: its key differs
    input_error(
        "{}: was saved with {} = {}, and here it is {}; give the options of the first command, or only --resume", name_,
        field.path, field.value, found->second);
  }
  SIM_CHECK(mine.size() == its.size(), "{} has {} keys and the run {}", name_, its.size(), mine.size());
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (i < facts_.programs.size() && programs[i] == facts_.programs[i]) continue;
    input_error(
        "{}: the program or the input of tenant {}, {}, has changed since; put it back as it was, or start the run "
        "again",
        name_, i, i < facts_.tenants.size() ? facts_.tenants[i] : "");
  }
}

/// A run whose end is another one must have come this far by the same way.
void Checkpoint::require_until(GpuConfig mine, GpuConfig its) const {
  const std::string &wanted = mine.run.until, &saved = its.run.until;
  if (is_window(wanted) != is_window(saved))
    input_error(
        "{}: was saved with run.until = \"{}\", which cannot become \"{}\": tenants start again only in a window; "
        "start the "
        "run again",
        name_, saved, wanted);
  const std::optional<Until> until = parse_until(wanted);
  SIM_CHECK(until.has_value(), "run.until was validated");
  const bool instructions = until->kind == Until::Kind::kInstructions;
  if (until->kind != Until::Kind::kCompleted &&
      until->count <= (instructions ? facts_.thread_instructions : facts_.cycle))
    input_error(
        "{}: resumes in cycle {}, after {} thread instructions, which is past run.until = \"{}\"; give a later end",
        name_, facts_.cycle, facts_.thread_instructions, wanted);
}

Kept Checkpoint::require(const Kept& wanted) const {
  Kept kept = facts_.kept;
  const auto completed =
      std::find_if(facts_.completed.begin(), facts_.completed.end(), [](u64 runs) { return runs > 0; });
  if (wanted.check && !kept.check && completed != facts_.completed.end())
    input_error(
        "{}: tenant {} completed before cycle {} and was not checked; also give --check to the command that writes the "
        "checkpoint",
        name_, completed - facts_.completed.begin(), facts_.cycle);
  kept.check |= wanted.check;
  if (!wanted.log.empty() && wanted.log != kept.log) {
    const std::size_t at = wanted.log.find('@');
    const auto from = at == wanted.log.npos
                          ? std::nullopt
                          : parse_integer(wanted.log.substr(at + 1, wanted.log.find(':', at) - at - 1));
    if (!kept.log.empty())
      input_error("{}: keeps the log {}; --log must be the same, or left out", name_, printable(kept.log));
    if (from && *from < facts_.cycle)
      input_error("{}: resumes in cycle {}, and --log {} starts earlier; let it start in that cycle or later", name_,
                  facts_.cycle, printable(wanted.log));
    kept.log = wanted.log;
  }
  const char* const ask = "also give it to the command that writes the checkpoint";
  if (wanted.timeline && !kept.timeline)
    input_error("{}: keeps no statistics of epochs for --timeline FILE.csv; {}", name_, ask);
  if (wanted.timeline && !wanted.timeline_of.empty() && wanted.timeline_of != kept.timeline_of)
    input_error("{}: keeps other statistics of epochs ({}) than --timeline-of names; leave it out", name_,
                kept.timeline_of.empty() ? "all" : fmt::format("{}", fmt::join(kept.timeline_of, ", ")));
  if (wanted.timeline_events != 0 && kept.timeline_events == 0)
    input_error("{}: keeps no events for --timeline FILE; {}", name_, ask);
  if (wanted.timeline_events != 0 && wanted.timeline_events != kept.timeline_events)
    input_error("{}: keeps {} events of a timeline; --timeline-events must be the same, or left out", name_,
                kept.timeline_events);
  return kept;
}

void Checkpoint::restore(const std::function<void(Archive&)>& state) {
  SIM_CHECK(file_ != nullptr, "a checkpoint is restored twice");
  std::fseek(file_.get(), static_cast<long>(state_begins_), SEEK_SET);
  StateReader reader(name_, file_.get(), state_ends_ - state_begins_);
  state(reader);
  file_.reset();
}

}  // namespace terrace
