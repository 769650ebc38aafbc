// Modules: directives, variables with their initialisers, functions with their parameters.
// SPDX-License-Identifier: MIT
#include "frontend/ptx/read/parser.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace terrace::ptx {
namespace {

constexpr u64 kMaxVariableBytes = u64{1} << 32;  // beyond any GPU's constant, shared or module memory of interest

/// Gives other names to what is local to a part, wherever the part mentions it.
class Renaming {
 public:
  explicit Renaming(std::map<std::pair<u32, std::string_view>, std::string_view> names) : names_(std::move(names)) {}

  void apply(Module& module) const {
    if (names_.empty()) return;
    for (Variable& variable : module.variables)
      for (Relocation& relocation : variable.relocations) rename(variable.part, relocation.symbol);
    for (Function& function : module.functions) {
      for (Statement& statement : function.body)
        for (Operand& operand : statement.operands) rename(function, operand);
      for (TargetList& list : function.target_lists)
        for (Operand& operand : list.targets) rename(function, operand);
    }
  }

 private:
  void rename(u32 part, std::string_view& name) const {
    if (const auto found = names_.find({part, name}); found != names_.end()) name = found->second;
  }
  void rename(const Function& function, Operand& operand) const {
    for (Operand& each : operand.parts) rename(function, each);
    const auto is_label = [&](const Label& label) { return label.name == operand.name; };
    if (operand.kind == OperandKind::kSymbol && std::ranges::none_of(function.labels, is_label))
      rename(function.part, operand.name);
  }

  std::map<std::pair<u32, std::string_view>, std::string_view> names_;  // by part and name
};

class ModuleParser {
 public:
  ModuleParser(Module& module, const std::vector<Token>& tokens) : module_(module), in_(module.file, tokens) {}

  void run() {
    bool versioned = false;
    while (!in_.ended()) {
      if (in_.accept_dotted("version")) {
        part_ += versioned ? 1 : 0;
        versioned = true;
        in_.next();
      } else if (!versioned) {
        in_.fail("a PTX module starts with .version, found '{}'; give the text form that nvcc -ptx or clang -S prints",
                 in_.peek().text);
      } else {
        parse_top_level();
      }
    }
    if (!versioned) in_.fail_at(1, "the file is empty; give the text form that nvcc -ptx or clang -S prints");
    Renaming(renamed_).apply(module_);
    for (const auto& [alias, function] : aliases_) {
      const auto found = module_.function_index.find(function);
      if (found != module_.function_index.end()) module_.function_index[alias] = found->second;
    }
  }

 private:
  void parse_top_level() {
    const Token& token = in_.peek();
    if (token.kind != TokenKind::kDotted) in_.fail("expected a directive, found '{}'", token.text);
    if (in_.accept_dotted("target")) return parse_target();
    if (in_.accept_dotted("address_size")) {
      if (in_.expect_integer("an address size") != 64)
        in_.fail_at(token.line, ".address_size 32 is not supported; compile for 64-bit addresses");
      return;
    }
    if (in_.accept_dotted("file")) return parse_file(token);
    if (token.text == "loc") return in_.skip_line();
    if (in_.accept_dotted("section")) return skip_section();
    if (token.text == "pragma") return in_.skip_past(';');
    if (in_.accept_dotted("alias")) return parse_alias();
    const Linkage linkage = parse_linkage();
    if (in_.accept_dotted("entry")) return parse_function(true, linkage);
    if (in_.accept_dotted("func")) return parse_function(false, linkage);
    const Token& space = in_.next();
    if (space.kind != TokenKind::kDotted) in_.fail_at(space.line, "expected a directive, found '{}'", space.text);
    const auto parsed = parse_space(space.text);
    if (!parsed || *parsed == Space::kParam)
      in_.fail_at(space.line, "directive .{} is not supported at module level", space.text);
    parse_variable(*parsed, linkage);
  }

  Linkage parse_linkage() {
    Linkage linkage = Linkage::kLocal;
    while (true) {
      if (in_.accept_dotted("extern"))
        linkage = Linkage::kExternal;
      else if (in_.accept_dotted("weak") || in_.accept_dotted("common"))
        linkage = Linkage::kWeak;
      else if (in_.accept_dotted("visible"))
        linkage = Linkage::kVisible;
      else
        return linkage;
    }
  }

  /// .alias NAME, FUNCTION;
  void parse_alias() {
    const auto name = [&] {
      const std::string_view written = in_.expect_name("a function's name");
      const auto own = renamed_.find({part_, written});
      return own == renamed_.end() ? written : own->second;
    };
    const std::string_view alias = name();
    in_.expect(',', "after an alias");
    aliases_.emplace_back(alias, name());
    in_.expect(';', "after an alias");
  }

  /// .file NUMBER "NAME"
  void parse_file(const Token& word) {
    if (in_.peek().kind == TokenKind::kInteger && in_.peek(1).kind == TokenKind::kString)
      module_.source_files.emplace(source_file_of(part_, in_.peek().bits), in_.peek(1).text);
    while (!in_.ended() && in_.peek().line == word.line) in_.next();
  }

  void parse_target() {
    do in_.next();
    while (in_.accept(','));
  }

  void skip_section() {
    while (!in_.ended() && !in_.peek().is('{')) in_.next();
    in_.expect('{', "after .section");
    in_.skip_past('}');
  }

  void parse_variable(Space space, Linkage linkage) {
    do {
      Variable variable = parse_declarator(in_, space);
      variable.linkage = linkage;
      variable.part = part_;
      variable.declared = linkage == Linkage::kExternal;
      if (variable.bytes == 0 && space == Space::kShared) {
        variable.dynamic = true;
      } else if (variable.bytes == 0 && !variable.declared && !in_.peek().is('=')) {
        in_.fail_at(variable.line, "variable {} has no size; give it one or an initialiser", variable.name);
      }
      if (in_.accept('=')) parse_initialiser(variable);
      add_variable(std::move(variable));
    } while (in_.accept(','));
    in_.expect(';', "after a variable");
  }

  void add_variable(Variable variable) {
    Variable* const first = find_or_add(std::move(variable), module_.variables, module_.variable_index);
    if (first == nullptr) return;
    const bool other_part = first->part != variable.part;
    if (!variable.declared && !first->declared && !may_repeat(*first, variable))
      in_.fail_at(variable.line, "variable {} is defined twice, first at line {}", variable.name, first->line);
    const bool better =
        first->declared || (other_part && first->linkage == Linkage::kWeak && variable.linkage == Linkage::kVisible);
    if (!variable.declared && better) *first = std::move(variable);
  }

  /// Definitions of several parts, of which at most one counts more than the others.
  template <class Symbol>
  static bool may_repeat(const Symbol& first, const Symbol& second) {
    return first.part != second.part && (first.linkage == Linkage::kWeak || second.linkage == Linkage::kWeak);
  }

  /// Adds the symbol; or gives the one that means the same, and leaves `symbol` as it is. Of two that have the same name and mean
  /// something else, because they are local to different parts, one is renamed.
  template <class Symbol>
  Symbol* find_or_add(Symbol&& symbol, std::vector<Symbol>& all, std::map<std::string_view, u32>& index) {
    if (const auto own = renamed_.find({symbol.part, symbol.name}); own != renamed_.end()) symbol.name = own->second;
    if (const auto known = index.find(symbol.name); known != index.end()) {
      Symbol& first = all[known->second];
      if (first.part == symbol.part || (first.linkage != Linkage::kLocal && symbol.linkage != Linkage::kLocal))
        return &first;
      if (symbol.linkage == Linkage::kLocal) {
        symbol.name = rename(symbol.part, symbol.name);
      } else {
        const u32 number = known->second;
        first.name = rename(first.part, first.name);
        index.erase(known);
        index.emplace(first.name, number);
      }
    }
    index.emplace(symbol.name, static_cast<u32>(all.size()));
    all.push_back(std::move(symbol));
    return nullptr;
  }

  std::string_view rename(u32 part, std::string_view name) {
    const std::string_view fresh = module_.renamed.emplace_back(fmt::format("{}, of part {}", name, part));
    renamed_.emplace(std::pair{part, name}, fresh);
    return fresh;
  }

  void parse_initialiser(Variable& variable) {
    if (variable.type == Type::kPred || variable.type == Type::kB128)
      in_.fail("variable {} of type .{} cannot have an initialiser", variable.name, facts(variable.type).name);
    // Nested braces only group: elements follow one another in memory.
    u32 depth = 0;
    do {
      while (in_.accept('{')) ++depth;
      if (!in_.peek().is('}')) parse_element(variable);
      while (depth > 0 && in_.accept('}')) --depth;
    } while (depth > 0 && (in_.accept(',') || in_.fail_unless_brace()));
    if (variable.bytes == 0) variable.bytes = variable.initial.size();
    if (variable.initial.size() > variable.bytes)
      in_.fail_at(variable.line, "variable {} has {} bytes but its initialiser has {}", variable.name, variable.bytes,
                  variable.initial.size());
  }

  void parse_element(Variable& variable) {
    const u32 width = bytes_of(variable.type);
    const bool minus = in_.accept('-');
    const Token& token = in_.next();
    u64 bits = token.bits;
    if (token.kind == TokenKind::kInteger) {
      if (minus) bits = -bits;
    } else if (token.kind == TokenKind::kFloat) {
      bits = float_bits(token, minus, variable);
    } else if (token.kind == TokenKind::kName && !minus) {
      parse_address(variable, token, width);
      bits = 0;
    } else {
      in_.fail_at(token.line, "'{}' cannot stand in the initialiser of {}", token.text, variable.name);
    }
    if (variable.initial.size() + width > kMaxVariableBytes)
      in_.fail_at(token.line, "the initialiser of {} is too long", variable.name);
    const u64 at = variable.initial.size();
    variable.initial.resize(at + width);
    std::memcpy(variable.initial.data() + at, &bits, std::min(width, 8u));
  }

  u64 float_bits(const Token& token, bool minus, const Variable& variable) {
    const double value =
        token.is_f64 ? std::bit_cast<double>(token.bits) : std::bit_cast<float>(static_cast<u32>(token.bits));
    const double signed_value = minus ? -value : value;
    if (variable.type == Type::kF32)
      return token.is_f64 || minus ? std::bit_cast<u32>(static_cast<float>(signed_value)) : token.bits;
    if (variable.type == Type::kF64) return std::bit_cast<u64>(signed_value);
    return token.bits;  // a .b32 or .b64 image
  }

  void parse_address(Variable& variable, const Token& first, u32 width) {
    Relocation relocation;
    relocation.offset = variable.initial.size();
    relocation.bytes = width;
    relocation.line = first.line;
    relocation.symbol = first.text;
    if (first.text == "generic" && in_.accept('(')) {
      relocation.generic = true;
      relocation.symbol = in_.expect_name("a variable's name");
      in_.expect(')', "after a variable's name");
    }
    if (in_.peek().is('+') || in_.peek().is('-')) {
      const bool minus = in_.next().is('-');
      const u64 addend = in_.expect_integer("a number of bytes");
      relocation.addend = static_cast<i64>(minus ? -addend : addend);
    }
    if (width != 8)
      in_.fail_at(first.line, "the address of {} does not fit an element of {} bytes; declare {} as .u64",
                  relocation.symbol, width, variable.name);
    variable.relocations.push_back(relocation);
  }

  void parse_function(bool entry, Linkage linkage) {
    Function function;
    function.entry = entry;
    function.linkage = linkage;
    function.part = part_;
    function.line = in_.peek().line;
    function.scope_parents.push_back(0);
    if (!entry && in_.accept('(')) parse_params(function, function.returns);
    function.name = in_.expect_name("a function's name");
    if (in_.accept('(')) parse_params(function, function.params);
    parse_function_directives(function);
    if (in_.accept('{')) {
      function.defined = true;
      parse_body(in_, function);
    } else {
      in_.expect(';', "or a body after a function's header");
    }
    add_function(std::move(function));
  }

  void parse_params(Function& function, std::vector<u32>& list) {
    while (!in_.accept(')')) {
      if (in_.peek().is_dotted("reg"))
        in_.fail(".reg parameters are not supported; compile with a compiler that passes parameters in .param space");
      if (!in_.accept_dotted("param")) in_.fail("expected .param, found '{}'", in_.peek().text);
      Variable param = parse_declarator(in_, Space::kParam);
      function.param_bytes = (function.param_bytes + param.align - 1) / param.align * param.align;
      param.offset = function.param_bytes;
      function.param_bytes += param.bytes;
      list.push_back(static_cast<u32>(function.variables.size()));
      function.variables.push_back(std::move(param));
      if (!in_.accept(',') && !in_.peek().is(')')) in_.fail("expected ',' or ')', found '{}'", in_.peek().text);
    }
  }

  void parse_function_directives(Function& function) {
    while (in_.peek().kind == TokenKind::kDotted) {
      const Token& directive = in_.next();
      if (directive.text == "pragma") {
        in_.skip_past(';');
        continue;
      }
      u64 product = 1;
      if (in_.peek().kind == TokenKind::kInteger) {
        do product *= std::min<u64>(in_.expect_integer("a number"), 1 << 20);
        while (in_.accept(','));
      }
      const u32 threads = static_cast<u32>(std::min<u64>(product, 1 << 20));
      if (directive.text == "maxntid")
        function.max_threads = threads;
      else if (directive.text == "reqntid")
        function.required_threads = threads;
      else if (directive.text != "minnctapersm" && directive.text != "maxnreg" && directive.text != "noreturn" &&
               directive.text != "maxnctapersm" && directive.text != "abi_preserve" &&
               directive.text != "abi_preserve_control")
        in_.fail_at(directive.line, "directive .{} of function {} is not supported", directive.text, function.name);
    }
  }

  void add_function(Function function) {
    Function* const first = find_or_add(std::move(function), module_.functions, module_.function_index);
    if (first == nullptr || !function.defined) return;
    const bool repeats = may_repeat(*first, function);
    if (first->defined && !repeats)
      in_.fail_at(function.line, "function {} is defined twice, first at line {}", function.name, first->line);
    const bool better = repeats && first->linkage == Linkage::kWeak && function.linkage == Linkage::kVisible;
    if (!first->defined || better) *first = std::move(function);
  }

  Module& module_;
  Cursor in_;
  u32 part_ = 0;
  std::map<std::pair<u32, std::string_view>, std::string_view> renamed_;  // by part and name
  std::vector<std::pair<std::string_view, std::string_view>> aliases_;
};

}  // namespace

Variable parse_declarator(Cursor& in, Space space) {
  Variable variable;
  variable.space = space;
  variable.line = in.peek().line;
  u64 lanes = 1, align = 0;
  while (in.peek().kind == TokenKind::kDotted) {
    const Token& word = in.next();
    if (word.text == "align") {
      align = in.expect_integer("an alignment");
      if (!std::has_single_bit(align) || align > 4096)
        in.fail_at(word.line, "alignment {} is not a power of two up to 4096", align);
    } else if (word.text == "ptr") {
      // .ptr .global .align 4 says what a pointer parameter points at; nothing here needs to know
      if (in.peek().kind == TokenKind::kDotted && parse_space(in.peek().text)) in.next();
      if (in.accept_dotted("align")) in.expect_integer("an alignment");
    } else if (word.text == "v2" || word.text == "v4") {
      lanes = word.text == "v2" ? 2 : 4;
    } else if (word.text == "attribute") {
      in.skip_past(')');
    } else if (const auto type = parse_type(word.text); type && *type != Type::kPred && facts(*type).family != 'w') {
      variable.type = *type;
    } else {
      in.fail_at(word.line, "variables of kind .{} are not supported; use plain global memory", word.text);
    }
  }
  if (variable.type == Type::kNone) in.fail("expected a type, found '{}'", in.peek().text);
  variable.name = in.expect_name("a variable's name");
  const u64 element = bytes_of(variable.type) * lanes;
  u64 count = 1;
  while (in.accept('[')) {
    const u64 extent = in.peek().is(']') ? 0 : in.expect_integer("an array's size");
    // Division, since the product of two such extents does not fit 64 bits.
    if (count != 0 && extent > kMaxVariableBytes / element / count) in.fail("variable {} is too large", variable.name);
    count *= extent;
    in.expect(']', "after an array's size");
  }
  variable.bytes = element * count;
  variable.align = static_cast<u32>(align != 0 ? align : element);
  return variable;
}

std::string place_of(const Module& module, const Statement& statement) {
  const auto source = module.source_files.find(statement.source_file);
  if (source == module.source_files.end() || statement.source_line == 0)
    return module.source_files.empty() ? fmt::format("{}:{}", module.file, statement.line)
                                       : fmt::format("{} (line {} of its PTX)", module.file, statement.line);
  // Named as the user did, where it is the file that was compiled.
  const bool compiled = module.file == source->second || module.file.ends_with("/" + std::string(source->second));
  return fmt::format("{}:{} (line {} of {})", compiled ? module.file : source->second, statement.source_line,
                     statement.line, compiled ? "its PTX" : "the PTX of " + module.file);
}

Module parse_module(std::string file, std::string text, u32 warp_size) {
  Module module;
  module.file = std::move(file);
  module.text = std::make_unique<std::string>(std::move(text));
  std::vector<Token> tokens = tokenize(module.file, *module.text);
  for (Token& token : tokens) {
    if (token.kind != TokenKind::kName || token.text != "WARP_SZ") continue;
    token.kind = TokenKind::kInteger;
    token.bits = warp_size;
  }
  ModuleParser(module, tokens).run();
  return module;
}

}  // namespace terrace::ptx
