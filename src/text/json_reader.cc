// JSON text to a Tree. The only file that includes nlohmann-json.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/check.h"
#include "text/tree.h"

namespace terrace {

namespace {

/// Builds the tree while the text is read, so that a deep file is refused before anything recurses into it.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Tree take() { return std::move(root_); }

  bool null() override { return put(Tree()); }
  bool boolean(bool value) override { return put(Tree(value)); }
  bool number_integer(std::int64_t value) override { return put(Tree(i64{value})); }
  bool number_unsigned(std::uint64_t value) override { return put(Tree(u64{value})); }
  bool number_float(double value, const std::string&) override { return put(Tree(value)); }
  bool string(std::string& value) override { return put(Tree(std::move(value))); }
  bool binary(nlohmann::json::binary_t&) override { return put(Tree()); }
  bool start_object(std::size_t) override { return open(Tree::table()); }
  bool start_array(std::size_t) override { return open(Tree::list()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& key) override {
    key_ = std::move(key);
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ..."
    const std::string what = error.what();
    const std::size_t colon = what.find(": ");
    const auto end = text_.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text_.size()));
    const auto line = 1 + std::count(text_.begin(), end, '\n');
    input_error("{}:{}: not valid JSON: {}", name_, line, colon == what.npos ? what : what.substr(colon + 2));
  }

 private:
  static constexpr std::size_t kDeepest = 256;

  Tree& place(Tree value) {
    if (open_.empty()) return root_ = std::move(value);
    if (open_.back()->is_list()) return open_.back()->push(std::move(value));
    return std::get<Tree::Table>(open_.back()->value).emplace_back(Tree::Member{key_, std::move(value)}).value;
  }
  bool put(Tree value) {
    place(std::move(value));
    return true;
  }
  bool open(Tree value) {
    if (open_.size() >= kDeepest) input_error("{}: not valid here: nested deeper than {} levels", name_, kDeepest);
    open_.push_back(&place(std::move(value)));  // stays put: its siblings come only after it is closed
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& name_;
  Tree root_;
  std::vector<Tree*> open_;
  std::string key_;
};

}  // namespace

Tree parse_json(std::string_view text, const std::string& name) {
  Builder builder(text, name);
  nlohmann::json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace terrace
