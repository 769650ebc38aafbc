// SPDX-License-Identifier: MIT
#include "link.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace terrace::cudart {

void say(const std::string& sentence) {
  std::fprintf(stderr, "terrace: %s\n", sentence.c_str());
}

Link& Link::instance() {
  static Link* link = [] {
    // A child of the program must not speak on its parent's socket.
    pthread_atfork(nullptr, nullptr, [] {
      Link& its = instance();
      if (its.socket_ >= 0) close(its.socket_);
      its.socket_ = -1;
      its.tried_ = true;
    });
    return new Link;  // never destroyed: programs call from their own destructors
  }();
  return *link;
}

bool Link::connect() {
  if (tried_) return socket_ >= 0;
  tried_ = true;
  const char* path = std::getenv(cuda::kSocketVariable);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path == nullptr || std::strlen(path) >= sizeof address.sun_path) {
    say(std::string("there is no simulator: run the program with `terrace cuda`, or set ") + cuda::kSocketVariable +
        " to the socket of `terrace serve`");
    return false;
  }
  std::strcpy(address.sun_path, path);
  socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0 || ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    say(std::string("cannot reach the simulator at ") + path + ": " + std::strerror(errno));
    lost();
    return false;
  }
  Writer hello;
  hello.u32(cuda::kProtocolVersion).u32(static_cast<std::uint32_t>(getpid()));
  if (ask(Call::kHello, hello).status != kSuccess) lost();
  return socket_ >= 0;
}

void Link::lost() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

bool Link::send(Call call, const std::vector<unsigned char>& payload) {
  const cuda::Header header{static_cast<std::uint32_t>(call), 0, payload.size()};
  const auto all = [&](const void* from, std::size_t bytes) {
    for (std::size_t sent = 0; sent < bytes;) {
      const ssize_t count = ::send(socket_, static_cast<const unsigned char*>(from) + sent, bytes - sent, MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      sent += static_cast<std::size_t>(count);
    }
    return true;
  };
  return all(&header, sizeof header) && all(payload.data(), payload.size());
}

bool Link::receive(void* to, std::size_t bytes) {
  for (std::size_t got = 0; got < bytes;) {
    const ssize_t count = recv(socket_, static_cast<unsigned char*>(to) + got, bytes - got, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    got += static_cast<std::size_t>(count);
  }
  return true;
}

Answer Link::ask(Call call, const Writer& fields) {
  const std::lock_guard guard(lock);
  Answer answer;
  answer.status = kNoDevice;
  if (!connect()) return answer;
  bool good = send(call, fields.bytes());
  while (good) {
    cuda::Header header;
    good = receive(&header, sizeof header) && header.bytes <= cuda::kMostPayloadBytes;
    if (!good) break;
    std::vector<unsigned char> payload(header.bytes);
    good = receive(payload.data(), payload.size());
    if (!good) break;
    Reader reader(payload);
    if (header.call == static_cast<std::uint32_t>(Call::kReadDone)) {
      const auto found = reads_.find(reader.u64());
      const auto bytes = reader.data();
      if (found == reads_.end()) continue;
      const Read& read = found->second;
      for (std::size_t row = 0; row < read.rows && bytes.size() == read.width * read.rows; ++row)
        std::memcpy(read.to + row * read.pitch, bytes.data() + row * read.width, read.width);
      reads_.erase(found);
      continue;
    }
    if (header.call == static_cast<std::uint32_t>(Call::kPrinted)) {
      const auto text = reader.data();
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);  // a process that ends may have closed its streams already
      continue;
    }
    if (header.call == static_cast<std::uint32_t>(Call::kManagedBytes)) {
      const std::uint64_t address = reader.u64();
      const auto bytes = reader.data();
      for (auto& [first, managed] : managed_) {
        if (address < first || address - first >= managed.bytes) continue;
        std::memcpy(reinterpret_cast<void*>(address), bytes.data(), bytes.size());
        std::memcpy(managed.known.data() + (address - first), bytes.data(), bytes.size());
      }
      continue;
    }
    answer.status = static_cast<int>(reader.u32());
    const std::string sentence = reader.text();
    if (!sentence.empty()) say(sentence);
    const auto rest = reader.data();
    answer.fields.assign(rest.begin(), rest.end());
    return answer;
  }
  say("the connection to the simulator was lost");
  lost();
  answer.status = kUnknown;
  return answer;
}

const DeviceFacts& Link::device() {
  const std::lock_guard guard(lock);
  if (have_device_) return device_;
  const Answer answer = ask(Call::kDevice, {});
  if (answer.status != kSuccess) return device_;
  Reader fields = answer.reader();
  device_.name = fields.text();
  device_.memory_bytes = fields.u64();
  for (std::uint32_t* field : {&device_.sms, &device_.warp_width, &device_.sm_warps, &device_.sm_blocks,
                               &device_.sm_registers, &device_.sm_shared_bytes, &device_.core_mhz, &device_.l2_bytes})
    *field = fields.u32();
  have_device_ = true;
  return device_;
}

void** Link::add_module(const void* fat_binary) {
  const std::lock_guard guard(lock);
  modules_.push_back(new Module{fat_binary});
  return reinterpret_cast<void**>(modules_.back());
}

void Link::add_kernel(void** module, const void* host, const char* name) {
  const std::lock_guard guard(lock);
  Kernel& kernel = kernels_[host];
  kernel.module = module;
  kernel.name = name;
}

void Link::add_symbol(void** module, const void* host, const char* name, std::size_t bytes) {
  const std::lock_guard guard(lock);
  symbols_[host] = {module, name, bytes};
}

void Link::add_managed_symbol(void** module, void** place, const char* name, std::size_t bytes) {
  const std::lock_guard guard(lock);
  managed_symbols_.push_back({module, place, name, bytes});
}

/// The containers of a fat binary: one, or, of a program whose object files were linked (nvcc -rdc=true), one of each.
bool Link::add_containers(const void* fat_binary, Writer& fields) {
  constexpr std::uint32_t kWrapperMagic = 0x466243b1, kLinked = 2;
  struct Wrapper {
    std::uint32_t magic, version;
    const unsigned char* data;            // the container; of linked ones machine code only
    const unsigned char* const* objects;  // of linked ones: those of the object files, then null
  };
  const auto* wrapper = static_cast<const Wrapper*>(fat_binary);
  if (wrapper->magic != kWrapperMagic) return false;
  std::uint64_t whole = 0;
  const auto add = [&](const unsigned char* container) {
    std::uint16_t header = 0;
    std::uint64_t size = 0;
    std::memcpy(&header, container + 6, sizeof header);
    std::memcpy(&size, container + 8, sizeof size);
    if (size > cuda::kMostCopyBytes || (whole += header + size) > cuda::kMostCopyBytes) return false;
    fields.data(container, header + size);
    return true;
  };
  if (wrapper->version != kLinked || wrapper->objects == nullptr || *wrapper->objects == nullptr)
    return add(wrapper->data);
  for (const unsigned char* const* object = wrapper->objects; *object != nullptr; ++object)
    if (!add(*object)) return false;
  return true;
}

/// The fat binary of a module goes to the simulator when something of it is first used.
int Link::load(void** handle) {
  const std::lock_guard guard(lock);
  Module& module = *reinterpret_cast<Module*>(handle);
  if (module.loaded) return module.status;
  module.loaded = true;
  Writer fields;
  if (!add_containers(module.fat_binary, fields)) return module.status = 200;
  const Answer answer = ask(Call::kLoadModule, fields);
  module.status = answer.status;
  module.number = answer.reader().u32();
  for (const ManagedSymbol& symbol : managed_symbols_) {
    if (symbol.module != handle || module.status != kSuccess) continue;
    module.status = place_managed(symbol, module.number);
  }
  return module.status;
}

/// A managed variable is where the simulator placed it: the process maps the pages there.
int Link::place_managed(const ManagedSymbol& symbol, std::uint32_t module) {
  Writer fields;
  fields.u32(module).text(symbol.name);
  const Answer answer = ask(Call::kManagedSymbol, fields);
  if (answer.status != kSuccess) return answer.status;
  Reader reader = answer.reader();
  const std::uint64_t first = reader.u64(), bytes = reader.u64();
  if (!map_variable_pages(first, bytes)) {
    say("the address of the __managed__ variable " + symbol.name + " is in use in this process");
    return kMemoryAllocation;
  }
  Managed managed{bytes, 0, std::vector<unsigned char>(bytes)};
  if (const int status = read_now(first, managed.known); status != kSuccess) return status;
  auto* place = reinterpret_cast<unsigned char*>(first);
  std::memcpy(place, managed.known.data(), bytes);
  managed_[first] = std::move(managed);
  symbols_[place] = {symbol.module, symbol.name, bytes};
  *symbol.place = place;
  return kSuccess;
}

int Link::read_now(std::uint64_t first, std::vector<unsigned char>& to) {
  for (std::size_t at = 0; at < to.size();) {
    const std::size_t count = std::min<std::size_t>(to.size() - at, cuda::kMostCopyBytes);
    Writer fields;
    fields.area({first + at, count, count, 1}).u64(0).u32(1).u64(0);
    const Answer answer = ask(Call::kRead, fields);
    if (answer.status != kSuccess) return answer.status;
    const auto bytes = answer.reader().data();
    if (bytes.size() != count) return kUnknown;
    std::memcpy(to.data() + at, bytes.data(), count);
    at += count;
  }
  return kSuccess;
}

bool Link::map_variable_pages(std::uintptr_t first, std::size_t bytes) {
  constexpr std::uintptr_t kPage = 4096;
  for (std::uintptr_t page = first / kPage * kPage; page < first + bytes; page += kPage) {
    if (variable_pages_.contains(page)) continue;  // a neighbour's
    void* mapped = mmap(reinterpret_cast<void*>(page), kPage, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (mapped == MAP_FAILED) return false;
    variable_pages_.insert(page);
  }
  return true;
}

Kernel* Link::kernel(const void* host) {
  const std::lock_guard guard(lock);
  const auto found = kernels_.find(host);
  if (found != kernels_.end()) return &found->second;
  for (auto& [other, kernel] : kernels_)
    if (&kernel == host) return &kernel;
  return nullptr;
}

int Link::prepare(Kernel& kernel) {
  const std::lock_guard guard(lock);
  if (kernel.asked) return kernel.status;
  kernel.asked = true;
  kernel.status = load(kernel.module);
  if (kernel.status != kSuccess) return kernel.status;
  Writer fields;
  fields.u32(reinterpret_cast<Module*>(kernel.module)->number).text(kernel.name);
  const Answer answer = ask(Call::kKernel, fields);
  kernel.status = answer.status;
  Reader facts = answer.reader();
  for (std::uint32_t* field :
       {&kernel.number, &kernel.registers, &kernel.static_shared, &kernel.local, &kernel.max_threads})
    *field = facts.u32();
  const std::uint32_t count = facts.u32();
  kernel.sizes.clear();
  for (std::uint32_t i = 0; i < count && facts.good(); ++i) kernel.sizes.push_back(facts.u32());
  return kernel.status;
}

int Link::symbol_address(const void* host, std::uint64_t& address, std::size_t& bytes) {
  const std::lock_guard guard(lock);
  const auto found = symbols_.find(host);
  if (found == symbols_.end()) return kInvalidSymbol;
  if (const int status = load(found->second.module); status != kSuccess) return status;
  Writer fields;
  fields.u32(reinterpret_cast<Module*>(found->second.module)->number).text(found->second.name);
  const Answer answer = ask(Call::kSymbol, fields);
  Reader reader = answer.reader();
  address = reader.u64();
  bytes = reader.u64();
  return answer.status;
}

std::uint64_t Link::expect(void* to, std::size_t pitch, std::size_t width, std::size_t rows) {
  reads_[next_read_] = {static_cast<unsigned char*>(to), pitch, width, rows};
  return next_read_++;
}

/// At the same address on both sides, far from where the simulator places other buffers.
int Link::allocate_managed(void** to, std::size_t bytes) {
  const std::lock_guard guard(lock);
  constexpr std::size_t kAlign = std::size_t{2} << 20;  // the largest page of a simulated machine
  if (bytes == 0) return kInvalidValue;
  const std::size_t whole = (bytes + kAlign - 1) / kAlign * kAlign;
  // The same addresses in every run, wherever the system places other memory: results depend on them.
  constexpr std::uintptr_t kFirstPlace = std::uintptr_t{1} << 45, kEndOfPlaces = std::uintptr_t{1} << 46;
  std::uintptr_t first = kFirstPlace;
  for (auto next = managed_.lower_bound(first); next != managed_.end(); ++next) {
    if (next->first - first >= whole) break;
    first = next->first + next->second.mapped;
  }
  if (whole > kEndOfPlaces - first) return kMemoryAllocation;
  void* mapped = mmap(reinterpret_cast<void*>(first), whole, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (mapped == MAP_FAILED) return kMemoryAllocation;
  Writer fields;
  fields.u64(first).u64(bytes);
  const int status = ask_status(Call::kAllocateManaged, fields);
  if (status != kSuccess) {
    munmap(reinterpret_cast<void*>(first), whole);
    return status;
  }
  managed_[first] = {bytes, whole, std::vector<unsigned char>(bytes)};
  *to = reinterpret_cast<void*>(first);
  return kSuccess;
}

bool Link::is_managed(const void* address) const {
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(address);
  auto found = managed_.upper_bound(at);
  if (found == managed_.begin()) return false;
  --found;
  return at - found->first < found->second.bytes;
}

int Link::free_managed(void* address) {
  const std::lock_guard guard(lock);
  const auto found = managed_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == managed_.end() || found->second.mapped == 0) return kInvalidValue;
  Writer fields;
  fields.u64(found->first);
  const int status = ask_status(Call::kFree, fields);
  munmap(address, found->second.mapped);
  managed_.erase(found);
  return status;
}

int Link::send_managed(std::uint64_t stream) {
  const std::lock_guard guard(lock);
  constexpr std::size_t kPage = 4096;
  for (auto& [first, managed] : managed_) {
    const auto* now = reinterpret_cast<const unsigned char*>(first);
    for (std::size_t at = 0; at < managed.bytes;) {
      std::size_t count = 0;  // pages that changed, one behind the other
      while (at + count < managed.bytes && count < cuda::kMostCopyBytes) {
        const std::size_t page = managed.bytes - at - count < kPage ? managed.bytes - at - count : kPage;
        if (std::memcmp(now + at + count, managed.known.data() + at + count, page) == 0) break;
        count += page;
      }
      if (count == 0) {
        at += kPage;
        continue;
      }
      std::memcpy(managed.known.data() + at, now + at, count);
      Writer fields;
      fields.area({first + at, count, count, 1}).u64(stream).data(now + at, count);
      if (const int status = ask_status(Call::kWrite, fields); status != kSuccess) return status;
      at += count;
    }
  }
  return kSuccess;
}

void Link::reset() {
  const std::lock_guard guard(lock);
  // The pages of managed variables stay: the program may touch them before it uses the device again.
  for (auto& [first, managed] : managed_)
    if (managed.mapped > 0) munmap(reinterpret_cast<void*>(first), managed.mapped);
  managed_.clear();
  reads_.clear();
  ++resets_;
  for (Module* module : modules_) module->loaded = false;
  for (auto& [host, kernel] : kernels_) {
    kernel.asked = false;
    kernel.most_dynamic_shared = kernel.carveout = -1;
  }
}

void Link::goodbye() {
  const std::lock_guard guard(lock);
  if (socket_ < 0) return;
  ask(Call::kGoodbye, {});
  lost();
}

}  // namespace terrace::cudart
