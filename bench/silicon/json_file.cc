// SPDX-License-Identifier: MIT
#include "json_file.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "engine/check.h"

namespace terrace::silicon {
namespace {

std::string first_line_of(const char* command) {
  std::string line;
  std::FILE* const from = popen(command, "r");
  if (!from) return line;
  for (int c = std::fgetc(from); c != EOF && c != '\n'; c = std::fgetc(from)) line += static_cast<char>(c);
  while (std::fgetc(from) != EOF) {
  }
  return pclose(from) == 0 ? line : std::string();
}

std::string date_now() {
  const std::time_t now = std::time(nullptr);
  char text[32] = {};
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

}  // namespace

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result + "\"";
}

std::string machine_state() {
  const char* const keys[] = {"driver_version", "clocks.sm",    "clocks.mem",      "clocks.max.sm",
                              "clocks.max.mem", "power.limit",  "power.draw",      "temperature.gpu",
                              "compute_mode",   "memory.total", "ecc.mode.current"};
  std::string query = "nvidia-smi --format=csv,noheader --query-gpu=";
  for (const char* key : keys) query += fmt::format("{}{}", key == keys[0] ? "" : ",", key);
  const std::string line = first_line_of((query + " 2>/dev/null").c_str());
  if (line.empty()) return "null";
  std::string result = "{";
  u64 at = 0;
  for (const char* key : keys) {
    const u64 end = std::min(line.find(", ", at), line.size());
    result += fmt::format("{}\"{}\": {}", key == keys[0] ? "" : ", ", key, quoted(line.substr(at, end - at)));
    at = std::min(end + 2, line.size());
  }
  return result + "}";
}

JsonFile::JsonFile(std::string path, std::string simulated)
    : path_(std::move(path)), simulated_(std::move(simulated)), date_(date_now()) {
  if (!std::ofstream(path_)) input_error("{} cannot be written; name another file", path_);
  if (simulated_.empty()) before_ = machine_state();
}

void JsonFile::set_machine(const std::string& name, u32 sms) {
  gpu_ = name;
  sms_ = sms;
}

void JsonFile::point(std::string line) {
  points_.push_back(std::move(line));
  if (std::chrono::steady_clock::now() - written_ < std::chrono::seconds(2)) return;
  write();
  written_ = std::chrono::steady_clock::now();
}

void JsonFile::problem(const std::string& where, const std::string& what) {
  fmt::print(stderr, "silicon: {}: {}\n", where, what);
  problems_.push_back(fmt::format("{{\"where\": {}, \"what\": {}}}", quoted(where), quoted(what)));
}

void JsonFile::take_lines(const std::string& group, int from) {
  std::FILE* const lines = fdopen(from, "r");
  std::string line;
  for (int c = std::fgetc(lines); c != EOF; c = std::fgetc(lines)) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    const u64 bar = line.rfind('|');
    if (line[0] == '#' && bar != std::string::npos)
      set_machine(line.substr(1, bar - 1), static_cast<u32>(std::atoi(line.c_str() + bar + 1)));
    else if (line[0] == '!')
      problem(group, line.substr(1));
    else
      point(line);
    line.clear();
  }
  std::fclose(lines);
}

void JsonFile::write() const {
  std::string text = fmt::format("{{\n  \"schema\": \"terrace.silicon/1\",\n  \"date\": \"{}\",\n", date_);
  text += fmt::format("  \"gpu\": {},\n  \"sms\": {},\n  \"simulated\": {},\n", quoted(gpu_), sms_,
                      simulated_.empty() ? "null" : quoted(simulated_));
  if (!made_.empty()) text += fmt::format("  \"made\": {},\n", made_);
  text += fmt::format("  \"before\": {},\n  \"after\": {},\n  \"problems\": [{}],\n  \"points\": [", before_, after_,
                      fmt::join(problems_, ", "));
  for (const std::string& point : points_) text += fmt::format("{}\n{}", &point == &points_.front() ? "" : ",", point);
  std::ofstream(path_) << text << "\n]}\n";
}

void JsonFile::finish() {
  if (simulated_.empty()) after_ = machine_state();
  write();
}

}  // namespace terrace::silicon
