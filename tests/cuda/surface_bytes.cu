// Reads and writes surfaces in every way that suld.b and sust.b have in one and two dimensions, on a real GPU and in Terrace, and prints a line for each
// case: a name and a hash of the bits that were read, or of the array that was written (docs/real_gpu.md).
//   surface_bytes [- [PART...]]
// PARTs: reads writes probes; the last only if named, because it does what may be a fault.
// SPDX-License-Identifier: MIT
#include "compared.h"

constexpr int kMostPlaces = 256, kMostBytes = 4096, kForSurfaces = 2, kUnsigned = 1;
enum Mode { kTrap, kClamp, kZero, kModes };
static const char* const kModeNames[] = {"trap", "clamp", "zero"};

struct Place {
  int x, y;
};
struct Words {
  unsigned long long word[4];
};
/// What a lane writes as element `e`.
__host__ __device__ unsigned long long written(int lane, int e) {
  unsigned long long mixed = (unsigned long long)(lane * 4 + e + 1) * 0x9e3779b97f4a7c15ull;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ull;
  return mixed ^ mixed >> 27;
}

#define LANE                                                  \
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); \
  if (i >= count) return;                                     \
  const int x = at[i].x, y = at[i].y
#define READER(name) __global__ void read_##name(Words* to, unsigned long long surface, const Place* at, int count)
#define WRITER(name) __global__ void write_##name(Words*, unsigned long long surface, const Place* at, int count)
#define BODIES1(kind, size, words, mode, type, letter, from, to_place)                                      \
  READER(kind##_##size##_##mode) {                                                                          \
    LANE;                                                                                                   \
    type a;                                                                                                 \
    asm volatile("suld.b." #kind "." words "." #mode " {%0}, " from ";"                                     \
                 : "=" letter(a)                                                                            \
                 : "l"(surface), "r"(x), "r"(y));                                                           \
    to[i].word[0] = a;                                                                                      \
  }                                                                                                         \
  WRITER(kind##_##size##_##mode) {                                                                          \
    LANE;                                                                                                   \
    asm volatile("sust.b." #kind "." words "." #mode " " to_place ", {%3};" ::"l"(surface), "r"(x), "r"(y), \
                 letter((type)written(i, 0))                                                                \
                 : "memory");                                                                               \
  }
#define BODIES2(kind, size, words, mode, type, letter, from, to_place)                                          \
  READER(kind##_##size##_##mode) {                                                                              \
    LANE;                                                                                                       \
    type a, b;                                                                                                  \
    asm volatile("suld.b." #kind "." words "." #mode " {%0, %1}, " from ";"                                     \
                 : "=" letter(a), "=" letter(b)                                                                 \
                 : "l"(surface), "r"(x), "r"(y));                                                               \
    to[i].word[0] = a, to[i].word[1] = b;                                                                       \
  }                                                                                                             \
  WRITER(kind##_##size##_##mode) {                                                                              \
    LANE;                                                                                                       \
    asm volatile("sust.b." #kind "." words "." #mode " " to_place ", {%3, %4};" ::"l"(surface), "r"(x), "r"(y), \
                 letter((type)written(i, 0)), letter((type)written(i, 1))                                       \
                 : "memory");                                                                                   \
  }
#define BODIES4(kind, size, words, mode, type, letter, from, to_place)                                          \
  READER(kind##_##size##_##mode) {                                                                              \
    LANE;                                                                                                       \
    type a, b, c, d;                                                                                            \
    asm volatile("suld.b." #kind "." words "." #mode " {%0, %1, %2, %3}, " from ";"                             \
                 : "=" letter(a), "=" letter(b), "=" letter(c), "=" letter(d)                                   \
                 : "l"(surface), "r"(x), "r"(y));                                                               \
    to[i].word[0] = a, to[i].word[1] = b, to[i].word[2] = c, to[i].word[3] = d;                                 \
  }                                                                                                             \
  WRITER(kind##_##size##_##mode) {                                                                              \
    LANE;                                                                                                       \
    asm volatile("sust.b." #kind "." words "." #mode " " to_place ", {%3, %4, %5, %6};" ::"l"(surface), "r"(x), \
                 "r"(y), letter((type)written(i, 0)), letter((type)written(i, 1)), letter((type)written(i, 2)), \
                 letter((type)written(i, 3))                                                                    \
                 : "memory");                                                                                   \
  }
#define FORM1(size, words, mode, type, letter)                             \
  BODIES1(1d, size, words, mode, type, letter, "[%1, {%2}]", "[%0, {%1}]") \
  BODIES1(2d, size, words, mode, type, letter, "[%1, {%2, %3}]", "[%0, {%1, %2}]")
#define FORM2(size, words, mode, type, letter)                             \
  BODIES2(1d, size, words, mode, type, letter, "[%2, {%3}]", "[%0, {%1}]") \
  BODIES2(2d, size, words, mode, type, letter, "[%2, {%3, %4}]", "[%0, {%1, %2}]")
#define FORM4(size, words, mode, type, letter)                             \
  BODIES4(1d, size, words, mode, type, letter, "[%4, {%5}]", "[%0, {%1}]") \
  BODIES4(2d, size, words, mode, type, letter, "[%4, {%5, %6}]", "[%0, {%1, %2}]")
// What is done with each form: its count of elements, name, words of the instruction, C type and letter of a register.
#define EACH_FORM(what, more)                                                                                      \
  what(1, b8, "b8", unsigned short, "h", more) what(2, b8v2, "v2.b8", unsigned short, "h", more)                   \
      what(4, b8v4, "v4.b8", unsigned short, "h", more) what(1, b16, "b16", unsigned short, "h", more)             \
          what(2, b16v2, "v2.b16", unsigned short, "h", more) what(4, b16v4, "v4.b16", unsigned short, "h", more)  \
              what(1, b32, "b32", unsigned, "r", more) what(2, b32v2, "v2.b32", unsigned, "r", more)               \
                  what(4, b32v4, "v4.b32", unsigned, "r", more) what(1, b64, "b64", unsigned long long, "l", more) \
                      what(2, b64v2, "v2.b64", unsigned long long, "l", more)
#define KERNELS(elements, size, words, type, letter, mode) FORM##elements(size, words, mode, type, letter)
EACH_FORM(KERNELS, trap)
EACH_FORM(KERNELS, clamp)
EACH_FORM(KERNELS, zero)

typedef void (*Access)(Words*, unsigned long long, const Place*, int);
struct Form {
  const char* name;
  Access read[2][kModes], write[2][kModes];  // by dimensions, less one, and mode
  int elements;
  int bytes() const { return elements * (name[1] == '8' ? 1 : name[1] == '1' ? 2 : name[1] == '3' ? 4 : 8); }
};
#define ROW(elements, size, words, type, letter, more)                          \
  {#size,                                                                       \
   {{read_1d_##size##_trap, read_1d_##size##_clamp, read_1d_##size##_zero},     \
    {read_2d_##size##_trap, read_2d_##size##_clamp, read_2d_##size##_zero}},    \
   {{write_1d_##size##_trap, write_1d_##size##_clamp, write_1d_##size##_zero},  \
    {write_2d_##size##_trap, write_2d_##size##_clamp, write_2d_##size##_zero}}, \
   elements},
static const Form kForms[] = {EACH_FORM(ROW, )};

/// An array and its surface object.
struct Board {
  int channel_bits, channels, width, height;  // height 0: one dimension
  cudaArray_t array;
  unsigned long long surface;
  int dimensions() const { return height != 0; }
  int rows() const { return height == 0 ? 1 : height; }
  int row_bytes() const { return width * channels * channel_bits / 8; }
};

static bool fill(const char* name, const Board& board) {
  static unsigned char bytes[kMostBytes];
  for (int i = 0; i < kMostBytes; ++i) bytes[i] = (unsigned char)(i * 7 + i / 256);
  const size_t row = (size_t)board.row_bytes();
  return WORKED(cudaMemcpy2DToArray(board.array, 0, 0, bytes, row, row, (size_t)board.rows(), cudaMemcpyHostToDevice));
}
static bool make_board(const char* name, Board* board) {
  const int bits = board->channel_bits, count = board->channels;
  const cudaChannelFormatDesc channels = cudaCreateChannelDesc(bits, count > 1 ? bits : 0, count > 2 ? bits : 0,
                                                               count > 2 ? bits : 0, (cudaChannelFormatKind)kUnsigned);
  if (!WORKED(cudaMallocArray(&board->array, &channels, (size_t)board->width, (size_t)board->height, kForSurfaces)) ||
      !fill(name, *board))
    return false;
  cudaResourceDesc what;
  memset(&what, 0, sizeof what);
  what.resType = cudaResourceTypeArray;
  what.res.array.array = board->array;
  return WORKED(cudaCreateSurfaceObject(&board->surface, &what));
}
static void free_board(const char* name, const Board& board) {
  (void)WORKED(cudaDestroySurfaceObject(board.surface));
  (void)WORKED(cudaFreeArray(board.array));
}

static Place places[kMostPlaces];
static int place_count;

static bool run(const char* name, Access access, const Board& board, Words* to) {
  static Place* device_places;
  static Words* device_words;
  const size_t bytes = (size_t)place_count * sizeof(Words);
  if (device_places == nullptr && (!WORKED(cudaMalloc((void**)&device_places, sizeof places)) ||
                                   !WORKED(cudaMalloc((void**)&device_words, kMostPlaces * sizeof(Words)))))
    return false;
  if (!WORKED(cudaMemcpy(device_places, places, (size_t)place_count * sizeof(Place), cudaMemcpyHostToDevice)) ||
      !WORKED(cudaMemset(device_words, 0, bytes)))
    return false;
  access<<<(unsigned)(place_count + 63) / 64, 64>>>(device_words, board.surface, device_places, place_count);
  return WORKED(cudaGetLastError()) && WORKED(cudaMemcpy(to, device_words, bytes, cudaMemcpyDeviceToHost));
}

/// Where accesses go; first coordinates count bytes. None of them is written by two lanes, as long as .clamp takes the nearest place.
enum Where { kInside, kSides, kEnds, kCorners, kAcrossTheEnd, kWheres };
static const char* const kWhereNames[] = {"inside", "sides", "ends", "corners", "across-the-end"};
static void make_places(Where where, const Board& board, int bytes) {
  Numbers numbers{(unsigned)where + 3};
  const int in_row = board.row_bytes() / bytes;
  place_count = 0;
  const auto add = [&](int x, int y) { places[place_count++] = {x, y}; };
  const auto away = [&] { return bytes * (1 + numbers.below(4)); };
  if (where == kInside) {
    for (int y = 0; y < board.rows(); ++y)
      for (int at = 0; at < in_row; ++at)
        if (place_count < kMostPlaces && numbers.below(3) != 0) add(at * bytes, y);
  } else if (where == kSides) {
    for (int y = 0; y < board.rows(); ++y) add(-away(), y), add((in_row - 1) * bytes + away(), y);
  } else if (where == kEnds) {
    for (int at = 0; at < in_row && place_count + 2 <= kMostPlaces; ++at)
      add(at * bytes, -1 - numbers.below(4)), add(at * bytes, board.rows() + numbers.below(4));
  } else if (where == kCorners) {
    for (const int x : {-(1 << 20), 1 << 20})
      for (const int y : {-5, board.rows() + 1000}) add(x, y);
  } else if (board.row_bytes() % bytes != 0) {
    for (int y = 0; y < board.rows(); ++y) add(in_row * bytes, y);
  }
}

static void print_reads(const char* name, const Form& form, int mode, const Board& board) {
  static Words words[kMostPlaces];
  if (run(name, form.read[board.dimensions()][mode], board, words))
    printf("%s %016llx\n", name, hash_of(words, (size_t)place_count * sizeof(Words)));
}
static void print_writes(const char* name, const Form& form, int mode, const Board& board) {
  static Words words[kMostPlaces];
  static unsigned char bytes[kMostBytes];
  const size_t row = (size_t)board.row_bytes(), all = row * (size_t)board.rows();
  if (fill(name, board) && run(name, form.write[board.dimensions()][mode], board, words) &&
      WORKED(cudaMemcpy2DFromArray(bytes, row, board.array, 0, 0, row, (size_t)board.rows(), cudaMemcpyDeviceToHost)))
    printf("%s %016llx\n", name, hash_of(bytes, all));
}

/// Arrays whose texels are as large as the access, of the smallest and of the largest texels; rows that hold no whole number of accesses.
template <class Visit>
static void each_board(const Form& form, Visit visit) {
  const int bytes = form.bytes(), channels = bytes < 4 ? 1 : bytes / 4, bits = bytes < 4 ? 8 * bytes : 32;
  for (const int height : {0, 7}) {
    visit(Board{bits, channels, 13, height, nullptr, 0}, false);
    if (bytes != 1) visit(Board{8, 1, 64, height, nullptr, 0}, false);
    if (bytes != 16) visit(Board{32, 4, 5, height, nullptr, 0}, false);
    if (bytes != 1) visit(Board{8, 1, 45, height, nullptr, 0}, true);
  }
}
static void each_case(const char* part, void (*print)(const char*, const Form&, int, const Board&)) {
  for (const Form& form : kForms)
    each_board(form, [&](Board board, bool uneven) {
      if (!make_board(part, &board)) return;
      for (int mode = kTrap; mode < kModes; ++mode)
        for (int where = kInside; where < kWheres; ++where) {
          if ((where != kInside && mode == kTrap) || (uneven != (where == kAcrossTheEnd))) continue;
          if (where == kCorners && print == print_writes && mode == kClamp && board.height == 0)
            continue;  // two lanes, one place
          if (where == kEnds && board.height == 0) continue;
          make_places((Where)where, board, form.bytes());
          const Name name("%s/%s/%s/%s/u%dx%d/%dx%d/%s", part, board.height == 0 ? "1d" : "2d", form.name,
                          kModeNames[mode], board.channel_bits, board.channels, board.width, board.rows(),
                          kWhereNames[where]);
          print(name.text, form, mode, board);
        }
      free_board(part, board);
    });
}
static void reads() {
  each_case("reads", print_reads);
}
static void writes() {
  each_case("writes", print_writes);
}

/// Places that are no multiple of the access, which PTX leaves open.
static void probes() {
  for (const Form& form : kForms) {
    Board board{32, 4, 5, 7, nullptr, 0};
    if (form.bytes() == 1 || !make_board("probes", &board)) continue;
    place_count = 0;
    for (int i = 1; i < 32; ++i)
      if (i % form.bytes() != 0) places[place_count++] = {i, i % board.height};
    for (const int mode : {kClamp, kZero})
      print_reads(Name("probes/unaligned/%s/%s", form.name, kModeNames[mode]).text, form, mode, board);
    free_board("probes", board);
  }
}

int main(int count, char** word) {
  if (wanted(count, word, "reads")) reads();
  if (wanted(count, word, "writes")) writes();
  if (count > 2 && wanted(count, word, "probes")) probes();
  return failures == 0 ? 0 : 1;
}
