// Function bodies: registers and variables in nested blocks, labels, instructions with their operands.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "frontend/ptx/read/parser.h"
#include "frontend/ptx/read/special_registers.h"

namespace terrace::ptx {
namespace {

constexpr u32 kMaxRegisters = 1'000'000;  // of one function; compilers print some thousands at most
constexpr u32 kMaxNesting = 256;

class BodyParser {
 public:
  BodyParser(Cursor& in, Function& function) : in_(in), function_(function) {}

  void run() {
    names_.open(0);
    for (u32 i = 0; i < function_.variables.size(); ++i) declare(function_.variables[i].name, variable_name(i));
    while (names_.depth() > 0) parse_item();
  }

 private:
  static LocalName variable_name(u32 index) { return {LocalName::Kind::kVariable, index}; }

  void declare(std::string_view name, LocalName meaning) {
    if (!names_.add(name, meaning)) in_.fail("{} is declared twice in function {}", name, function_.name);
  }

  void parse_item() {
    const Token& token = in_.peek();
    if (in_.ended()) in_.fail("function {} has no closing brace", function_.name);
    if (in_.accept('}')) {
      names_.close();
      function_.end_line = token.line;
    } else if (in_.accept('{')) {
      if (names_.depth() >= kMaxNesting) in_.fail("blocks are nested deeper than {}", kMaxNesting);
      const u32 scope = static_cast<u32>(function_.scope_parents.size());
      function_.scope_parents.push_back(names_.scope());
      names_.open(scope);
    } else if (token.kind == TokenKind::kDotted) {
      parse_directive();
    } else if (token.kind == TokenKind::kName && in_.peek(1).is(':')) {
      parse_label();
    } else if (token.is('@') || token.kind == TokenKind::kName) {
      parse_statement();
    } else if (!in_.accept(';')) {
      in_.fail("expected an instruction, found '{}'", token.text);
    }
  }

  void parse_directive() {
    const Token& word = in_.next();
    if (word.text == "reg") return parse_registers();
    if (word.text == "pragma" || word.text == "callprototype") return in_.skip_past(';');
    if (word.text == "loc") return parse_location(word);
    if (word.text == "file") {
      while (!in_.ended() && in_.peek().line == word.line) in_.next();
      return;
    }
    const auto space = parse_space(word.text);
    if (!space) in_.fail_at(word.line, "directive .{} is not supported in a function", word.text);
    do declare_variable(*space);
    while (in_.accept(','));
    in_.expect(';', "after a variable");
  }

  /// .loc FILE LINE COLUMN, of what follows. What else stands there says which function was inlined.
  void parse_location(const Token& word) {
    const auto number = [&] {
      const bool here = in_.peek().kind == TokenKind::kInteger && in_.peek().line == word.line;
      return here ? static_cast<u32>(in_.next().bits) : 0;
    };
    source_file_ = source_file_of(function_.part, number());
    source_line_ = number();
    while (!in_.ended() && in_.peek().line == word.line) in_.next();
  }

  void declare_variable(Space space) {
    Variable variable = parse_declarator(in_, space);
    if (variable.bytes == 0) in_.fail("variable {} of function {} has no size", variable.name, function_.name);
    if (in_.peek().is('=')) in_.fail("variable {} of a function cannot have an initialiser", variable.name);
    if (space == Space::kParam || space == Space::kLocal) {
      u64& area = space == Space::kParam ? function_.param_bytes : function_.local_bytes;
      area = (area + variable.align - 1) / variable.align * variable.align;
      variable.offset = area;
      area += variable.bytes;
    }
    declare(variable.name, variable_name(static_cast<u32>(function_.variables.size())));
    function_.variables.push_back(std::move(variable));
  }

  void parse_registers() {
    Type type = Type::kNone;
    while (in_.peek().kind == TokenKind::kDotted) {
      const Token& word = in_.next();
      const auto parsed = parse_type(word.text);
      if (!parsed || facts(*parsed).family == 'w')
        in_.fail_at(word.line, "registers of kind .{} are not supported; use scalar registers", word.text);
      type = *parsed;
    }
    if (type == Type::kNone) in_.fail("expected a register type, found '{}'", in_.peek().text);
    if (type == Type::kB128)
      in_.fail("registers of type .b128 are not supported; compile for an older architecture (sm_90 or below)");
    do {
      const std::string_view name = in_.expect_name("a register's name");
      const u32 first = static_cast<u32>(function_.registers.size());
      if (!in_.accept('<')) {
        declare(name, {LocalName::Kind::kRegister, first});
        function_.registers.push_back({std::string(name), type});
        continue;
      }
      const u64 count = in_.expect_integer("a number of registers");
      in_.expect('>', "after a number of registers");
      if (count > kMaxRegisters || count + first > kMaxRegisters)
        in_.fail("function {} has more than {} registers", function_.name, kMaxRegisters);
      declare(name, {LocalName::Kind::kRegisterRange, first, static_cast<u32>(count)});
      for (u64 i = 0; i < count; ++i) function_.registers.push_back({std::string(name) + std::to_string(i), type});
    } while (in_.accept(','));
    in_.expect(';', "after registers");
  }

  void parse_label() {
    const std::string_view name = in_.next().text;
    in_.next();
    if (in_.peek().is_dotted("branchtargets")) {
      in_.next();
      TargetList list{name, {}};
      do list.targets.push_back(parse_operand());
      while (in_.accept(','));
      in_.expect(';', "after .branchtargets");
      function_.target_lists.push_back(std::move(list));
      return;
    }
    if (in_.peek().is_dotted("callprototype") || in_.peek().is_dotted("calltargets")) return in_.skip_past(';');
    for (const Label& label : function_.labels) {
      if (label.scope == names_.scope() && label.name == name)
        in_.fail("label {} stands twice in function {}", name, function_.name);
    }
    function_.labels.push_back({name, names_.scope(), static_cast<u32>(function_.body.size())});
  }

  void parse_statement() {
    Statement statement;
    statement.line = in_.peek().line;
    statement.source_file = source_file_;
    statement.source_line = source_line_;
    const char* first = in_.peek().text.data();
    if (in_.accept('@')) {
      statement.guard_negated = in_.accept('!');
      const Operand guard = parse_operand();
      if (guard.kind != OperandKind::kRegister || function_.registers[guard.index].type != Type::kPred)
        in_.fail("a guard must be a predicate register, found '{}'", guard.name);
      statement.guard = guard.index;
    }
    statement.opcode = in_.expect_name("an instruction");
    while (in_.peek().kind == TokenKind::kDotted) statement.modifiers.push_back(in_.next().text);
    while (!in_.peek().is(';')) {
      statement.operands.push_back(parse_modified_operand());
      if (!in_.accept(',') && !in_.peek().is(';'))
        in_.fail("expected ',' or ';' after an operand of {}, found '{}'", statement.opcode, in_.peek().text);
    }
    const char* last = in_.peek().text.data();
    statement.text = {first, static_cast<std::size_t>(last - first)};
    in_.next();
    function_.body.push_back(std::move(statement));
  }

  /// Operands of video instructions may be parts of registers or negated.
  Operand parse_modified_operand() {
    const bool minus = in_.peek().is('-') && in_.peek(1).kind == TokenKind::kName && in_.accept('-');
    Operand operand = parse_operand();
    operand.minus = minus;
    if (operand.kind == OperandKind::kRegister && in_.peek().kind == TokenKind::kDotted) operand.part = in_.next().text;
    return operand;
  }

  /// One level of braces, brackets or parentheses holds simple operands only, so nothing here recurses further.
  Operand parse_operand() {
    if (in_.accept('[')) return parse_address();
    if (in_.accept('{')) return parse_group(OperandKind::kVector, '}');
    if (in_.accept('(')) return parse_group(OperandKind::kList, ')');
    return parse_simple();
  }

  Operand parse_group(OperandKind kind, char close) {
    Operand group;
    group.kind = kind;
    while (!in_.accept(close)) {
      group.parts.push_back(parse_simple());
      if (!in_.accept(',') && !in_.peek().is(close))
        in_.fail("expected ',' or '{}', found '{}'", close, in_.peek().text);
    }
    return group;
  }

  Operand parse_address() {
    Operand address;
    address.kind = OperandKind::kAddress;
    Operand base = parse_simple();
    if (base.kind == OperandKind::kInteger) {
      address.offset = static_cast<i64>(base.bits);
    } else {
      address.offset = std::exchange(base.offset, 0);
      address.parts.push_back(std::move(base));
    }
    // [texture, {coordinates}] and its like: read, so that the instruction can be refused by name.
    while (in_.accept(','))
      address.parts.push_back(in_.accept('{') ? parse_group(OperandKind::kVector, '}') : parse_simple());
    in_.expect(']', "after an address");
    return address;
  }

  Operand parse_simple() {
    Operand operand;
    operand.scope = names_.scope();
    operand.negated = in_.accept('!');
    const bool minus = in_.accept('-');
    const Token& token = in_.next();
    if (token.kind == TokenKind::kInteger) {
      operand.kind = OperandKind::kInteger;
      operand.bits = minus ? -token.bits : token.bits;
      while (in_.peek().is('+') || in_.peek().is('-')) {  // WARP_SZ-1
        const bool subtract = in_.next().is('-');
        const u64 term = in_.expect_integer("a number");
        operand.bits = subtract ? operand.bits - term : operand.bits + term;
      }
    } else if (token.kind == TokenKind::kFloat) {
      operand.kind = OperandKind::kFloat;
      operand.is_f64 = token.is_f64;
      operand.bits = token.bits ^ (minus ? u64{1} << (token.is_f64 ? 63 : 31) : 0);
    } else if (token.kind == TokenKind::kName && !minus) {
      resolve(token, operand);
      parse_offset(operand);
    } else {
      in_.fail_at(token.line, "expected an operand, found '{}'", token.text);
    }
    operand.name = token.text;
    return operand;
  }

  void resolve(const Token& token, Operand& operand) {
    LocalName found{};
    if (token.text == "_") {
      parse_pair(operand);
    } else if (names_.find(token.text, found)) {
      operand.kind = found.kind == LocalName::Kind::kVariable ? OperandKind::kVariable : OperandKind::kRegister;
      operand.index = found.index;
    } else if (token.text[0] == '%') {
      if (!is_special_register(token.text)) fail_undeclared(token);
      operand.kind = OperandKind::kSpecial;
      if (in_.peek().kind == TokenKind::kDotted && in_.peek().text.size() == 1) operand.component = in_.next().text[0];
    } else {
      operand.kind = OperandKind::kSymbol;
    }
    if (operand.kind == OperandKind::kRegister) parse_pair(operand);
  }

  [[noreturn]] void fail_undeclared(const Token& name) {
    in_.fail_at(name.line, "register {} is not declared in function {}; declare it with .reg", name.text,
                function_.name);
  }

  /// p|q, where either may be _
  void parse_pair(Operand& operand) {
    if (!in_.accept('|')) return;
    LocalName second{};
    const Token& pair = in_.next();
    if (pair.text == "_") return;
    const bool known = names_.find(pair.text, second);
    if (!known && pair.text[0] == '%') fail_undeclared(pair);
    if (!known || second.kind != LocalName::Kind::kRegister)
      in_.fail_at(pair.line, "expected a register after '|', found '{}'", pair.text);
    operand.pair = second.index;
  }

  void parse_offset(Operand& operand) {
    if (!in_.peek().is('+') && !in_.peek().is('-')) return;
    bool minus = in_.next().is('-');
    if (in_.accept('-')) minus = !minus;
    const u64 offset = in_.expect_integer("a number of bytes");
    operand.offset = static_cast<i64>(minus ? -offset : offset);
  }

  Cursor& in_;
  Function& function_;
  ScopedNames names_;
  u32 source_file_ = 0, source_line_ = 0;  // of what is read
};

}  // namespace

void parse_body(Cursor& in, Function& function) {
  BodyParser(in, function).run();
}

}  // namespace terrace::ptx
