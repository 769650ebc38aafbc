// What sampling.cu reads textures with: kernels, images and texture objects of every kind, coordinates of every class, and the lines that it prints.
// SPDX-License-Identifier: MIT
#pragma once

#include <math.h>

#include "compared.h"

enum Kind { kSigned, kUnsigned, kFloat };  // cudaChannelFormatKind
enum Outside { kWrap, kClamp, kMirror, kBorder };
enum Place { kRow, kArray, kPitched, kLinear };  // arrays of one and two dimensions, memory
enum Class { kInside, kOutside, kMiddles, kEdges, kNear, kFar, kHuge, kTiny, kInfinite, kNan, kClasses };

static const char* const kOutsides[] = {"wrap", "clamp", "mirror", "border"};
static const char* const kPlaces[] = {"1d/array", "2d/array", "2d/pitched", "1d/linear"};
static const char* const kClassNames[] = {"inside", "outside", "middles", "edges",    "near",
                                          "far",    "huge",    "tiny",    "infinite", "nan"};
constexpr int kCounts[] = {64, 64, 64, 64, 64, 64, 32, 32, 16, 16};
constexpr int kMostPoints = 8192, kThreads = 128;

struct Point {
  unsigned x, y;  // bits of floats, or integers
};
struct Words {
  unsigned word[4];
};

#define READER(name, instruction, type, letter, coordinate, coordinate_letter, place)                       \
  __global__ void name(Words* to, unsigned long long texture, const Point* at, int count) {                 \
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);                                             \
    if (i >= count) return;                                                                                 \
    const coordinate x = ((const coordinate*)(at + i))[0], y = ((const coordinate*)(at + i))[1];            \
    type a, b, c, d;                                                                                        \
    asm volatile(instruction " {%0, %1, %2, %3}, " place                                                    \
                 : "=" letter(a), "=" letter(b), "=" letter(c), "=" letter(d)                               \
                 : "l"(texture), coordinate_letter(x), coordinate_letter(y));                               \
    ((type*)(to + i))[0] = a, ((type*)(to + i))[1] = b, ((type*)(to + i))[2] = c, ((type*)(to + i))[3] = d; \
  }
#define READERS(result, type, letter)                                                                \
  READER(read_1d_##result, "tex.1d.v4." #result ".f32", type, letter, float, "f", "[%4, {%5}];")     \
  READER(read_2d_##result, "tex.2d.v4." #result ".f32", type, letter, float, "f", "[%4, {%5, %6}];") \
  READER(fetch_1d_##result, "tex.1d.v4." #result ".s32", type, letter, int, "r", "[%4, {%5}];")      \
  READER(fetch_2d_##result, "tex.2d.v4." #result ".s32", type, letter, int, "r", "[%4, {%5, %6}];")
READERS(s32, int, "r")
READERS(u32, unsigned, "r")
READERS(f32, float, "f")
#define LEVEL(number, level)                                                                             \
  READER(level_1d_##number, "tex.level.1d.v4.f32.f32", float, "f", float, "f", "[%4, {%5}], " level ";") \
  READER(level_2d_##number, "tex.level.2d.v4.f32.f32", float, "f", float, "f", "[%4, {%5, %6}], " level ";")
LEVEL(0, "0f00000000")
LEVEL(1, "0f3f800000")
LEVEL(2, "0f40b00000")
LEVEL(3, "0fbf800000")

typedef void (*Reader)(Words*, unsigned long long, const Point*, int);
static const Reader kReaders[2][2][3] = {
    {{read_1d_s32, read_1d_u32, read_1d_f32}, {read_2d_s32, read_2d_u32, read_2d_f32}},
    {{fetch_1d_s32, fetch_1d_u32, fetch_1d_f32}, {fetch_2d_s32, fetch_2d_u32, fetch_2d_f32}}};
static const Reader kLevelReaders[4][2] = {
    {level_1d_0, level_2d_0}, {level_1d_1, level_2d_1}, {level_1d_2, level_2d_2}, {level_1d_3, level_2d_3}};

struct Format {
  Kind kind;
  int bits, channels;
  bool fraction;  // integers are read as fractions of the largest
  bool floats() const { return fraction || kind == kFloat; }
  Kind result() const { return floats() ? kFloat : kind; }
  int bytes() const { return bits / 8 * channels; }
};
static Name name_of(const Format& format) {
  return Name("%c%dx%d%s", "suf"[format.kind], format.bits, format.channels, format.fraction ? "/fraction" : "");
}

/// Texels, on the host and on the device.
struct Image {
  Place place;
  Format format;
  int width, height;
  unsigned char* texels;
  size_t pitch;
  void* memory;
  cudaArray_t array;
  int dimensions() const { return place == kArray || place == kPitched; }  // less one
};

static cudaChannelFormatDesc channels_of(const Format& format) {
  const int bits[4] = {format.bits, format.channels > 1 ? format.bits : 0, format.channels > 2 ? format.bits : 0,
                       format.channels > 3 ? format.bits : 0};
  return cudaCreateChannelDesc(bits[0], bits[1], bits[2], bits[3], (cudaChannelFormatKind)format.kind);
}

/// A float that is exact in few bits, so that sums of products are too.
static float even_float(Numbers& numbers) {
  return (float)(numbers.below(4096) - 2048) / 16;
}
static void put_channel(const Format& format, Numbers& numbers, bool any_bits, unsigned char* to) {
  unsigned bits = numbers.next();
  if (format.kind == kFloat && format.bits == 32) {
    bits = any_bits ? (bits & 0x807fffffu) | (unsigned)(1 + numbers.below(254)) << 23 : bits_of(even_float(numbers));
  } else if (format.kind == kFloat) {
    bits = any_bits ? (bits & 0x83ffu) | (unsigned)numbers.below(31) << 10
                    : (bits & 0x83ffu) | (unsigned)(10 + numbers.below(10)) << 10;
  } else if (numbers.below(8) == 0) {
    bits = numbers.below(2) != 0 ? 1u << (format.bits - 1) : 0xffffffffu >> (33 - format.bits);  // smallest and largest
  }
  memcpy(to, &bits, (size_t)format.bits / 8);
}

/// Texels are any finite numbers, or for filtering some of few bits.
static bool make_image(const char* name, Image* image, bool any_bits, unsigned seed) {
  const size_t row = (size_t)image->width * image->format.bytes(), rows = (size_t)image->height;
  Numbers numbers{seed};
  image->texels = (unsigned char*)malloc(row * rows);
  for (size_t at = 0; at < row * rows; at += (size_t)image->format.bits / 8)
    put_channel(image->format, numbers, any_bits, image->texels + at);
  image->memory = nullptr;
  image->array = nullptr;
  const cudaChannelFormatDesc channels = channels_of(image->format);
  if (image->place == kRow || image->place == kArray)
    return WORKED(
               cudaMallocArray(&image->array, &channels, (size_t)image->width, image->place == kRow ? 0 : rows, 0)) &&
           WORKED(cudaMemcpy2DToArray(image->array, 0, 0, image->texels, row, row, rows, cudaMemcpyHostToDevice));
  return WORKED(cudaMallocPitch(&image->memory, &image->pitch, row, rows)) &&
         WORKED(cudaMemcpy2D(image->memory, image->pitch, image->texels, row, row, rows, cudaMemcpyHostToDevice));
}
static void free_image(const char* name, Image* image) {
  if (image->array != nullptr) (void)WORKED(cudaFreeArray(image->array));
  if (image->memory != nullptr) (void)WORKED(cudaFree(image->memory));
  free(image->texels);
}

struct Reading {
  Outside across, down;
  bool linear, normalized;
  float border[4];
};
static int make_texture(const Image& image, const Reading& reading, unsigned long long* texture) {
  cudaResourceDesc what;
  memset(&what, 0, sizeof what);
  if (image.array != nullptr) {
    what.resType = cudaResourceTypeArray;
    what.res.array.array = image.array;
  } else if (image.place == kLinear) {
    what.resType = cudaResourceTypeLinear;
    what.res.linear.devPtr = image.memory;
    what.res.linear.desc = channels_of(image.format);
    what.res.linear.sizeInBytes = (size_t)image.width * image.format.bytes();
  } else {
    what.resType = cudaResourceTypePitch2D;
    what.res.pitch2D.devPtr = image.memory;
    what.res.pitch2D.desc = channels_of(image.format);
    what.res.pitch2D.width = (size_t)image.width;
    what.res.pitch2D.height = (size_t)image.height;
    what.res.pitch2D.pitchInBytes = image.pitch;
  }
  cudaTextureDesc how;
  memset(&how, 0, sizeof how);
  how.addressMode[0] = (cudaTextureAddressMode)reading.across;
  how.addressMode[1] = (cudaTextureAddressMode)reading.down;
  how.filterMode = (cudaTextureFilterMode)reading.linear;
  how.readMode = (cudaTextureReadMode)image.format.fraction;
  how.normalizedCoords = reading.normalized;
  memcpy(how.borderColor, reading.border, sizeof reading.border);
  return (int)cudaCreateTextureObject(texture, &what, &how, nullptr);
}

/// A whole number of texels that a coordinate lies at or beyond, and what is left.
static double texels_at(Class which, int size, Numbers& numbers) {
  const double clear = (4 + numbers.below(57)) / 64.0;  // not within 1/16 of an edge
  static const double kSteps[] = {1.0 / 300, 1.0 / 512, 1.0 / 600, 1.0 / 1024, 1.0 / 4096, 1.0 / 65536};
  switch (which) {
    case kOutside:
      return numbers.below(2) != 0 ? -1 - numbers.below(3 * size) + clear : size + numbers.below(3 * size) + clear;
    case kMiddles:
      return numbers.below(size + 4) - 1.5;
    case kEdges:
      return numbers.below(3 * size + 4) - size - 2;
    case kNear: {
      const double step = kSteps[numbers.below(6)];
      return numbers.below(size + 4) - 2 + (numbers.below(2) != 0 ? step : -step);
    }
    case kFar: {
      const double away = (double)(1 << (8 + numbers.below(9))) + numbers.below(1000) + clear;
      return numbers.below(2) != 0 ? away : -away;
    }
    default:
      return numbers.below(size) + clear;
  }
}
static const float kHuges[] = {4194304.5f,    8388609.0f,    16777216.0f, 16777218.0f, 1e9f,  2147483648.0f,
                               4294967296.0f, 4294967808.0f, 1e12f,       1e20f,       1e30f, 3.4e38f,
                               3e11f,         33554436.0f,   1.1e14f,     6e8f};
static const float kTinies[] = {0.0f,  1e-45f, 1.2e-38f, 1e-30f, 6e-8f, 3e-8f, 2e-4f, 1e-5f,
                                1e-6f, 1e-7f,  1e-10f,   1e-20f, 4e-4f, 1e-3f, 3e-3f, 1e-39f};
static unsigned special(Class which, int i) {
  const float sign = (i & 1) != 0 ? -1.0f : 1.0f;
  if (which == kHuge) return bits_of(sign * kHuges[i / 2 % 16]);
  if (which == kTiny) return bits_of(sign * kTinies[i / 2 % 16]);
  if (which == kInfinite) return bits_of(sign * INFINITY);
  return (i & 1) != 0 ? 0xffc00001u : 0x7fffffffu;
}
static unsigned coordinate(Class which, const Image& image, int size, bool normalized, Numbers& numbers) {
  const double texels = texels_at(which, image.place == kLinear ? image.width : size, numbers);
  return bits_of((float)(normalized ? texels / size : texels));
}
static void make_points(Class which, const Image& image, bool normalized, Point* points) {
  Numbers numbers{(unsigned)which * 77 + (unsigned)image.width};
  for (int i = 0; i < kCounts[which]; ++i) {
    // Outside at one side, at the other, or at both; what is special is so at one.
    const bool inside_across = which == kOutside && i % 3 == 1, inside_down = which == kOutside && i % 3 == 0;
    points[i].x = coordinate(inside_across ? kInside : which, image, image.width, normalized, numbers);
    points[i].y = coordinate(inside_down ? kInside : which, image, image.height, normalized, numbers);
    if (which < kHuge) continue;
    const bool across = image.dimensions() == 0 || i < kCounts[which] / 2;
    (across ? points[i].x : points[i].y) = special(which, i);
  }
}

static FILE* points_file;
static Point points[kMostPoints];
static Words words[kMostPoints];

static bool read_points(const char* name, Reader reader, unsigned long long texture, int count) {
  static Point* device_points;
  static Words* device_words;
  if (device_points == nullptr && (!WORKED(cudaMalloc((void**)&device_points, sizeof points)) ||
                                   !WORKED(cudaMalloc((void**)&device_words, sizeof words))))
    return false;
  const size_t bytes = (size_t)count * sizeof(Words);
  if (!WORKED(cudaMemcpy(device_points, points, (size_t)count * sizeof(Point), cudaMemcpyHostToDevice)) ||
      !WORKED(cudaMemset(device_words, 0xee, bytes)))
    return false;
  reader<<<(unsigned)(count + kThreads - 1) / kThreads, kThreads>>>(device_words, texture, device_points, count);
  return WORKED(cudaGetLastError()) && WORKED(cudaMemcpy(words, device_words, bytes, cudaMemcpyDeviceToHost));
}

/// The line of points [first, first + count). With a bound, the bits of some points stand in it.
static void print_line(const char* name, int first, int count, int channels, double bound = 0, int printed = 0) {
  printf("%s %016llx", name, hash_of(words + first, (size_t)count * sizeof(Words)));
  if (bound > 0) {
    printf(" within %a:", bound);
    for (int i = 0; i < printed; ++i)
      for (int c = 0; c < channels; ++c) printf(" %08x", words[first + (int)((long)i * count / printed)].word[c]);
  }
  printf("\n");
  if (points_file == nullptr) return;
  fprintf(points_file, "%s\n", name);
  for (int i = first; i < first + count; ++i)
    fprintf(points_file, "%08x %08x %x %x %x %x\n", points[i].x, points[i].y, words[i].word[0], words[i].word[1],
            words[i].word[2], words[i].word[3]);
}

static float half(unsigned bits) {
  const int exponent = (int)(bits >> 10 & 31);
  const float size =
      exponent == 0 ? ldexpf((float)(bits & 1023), -24) : ldexpf((float)(1024 + (bits & 1023)), exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}
static double value_of(const Format& format, const unsigned char* from) {
  unsigned bits = 0;
  memcpy(&bits, from, (size_t)format.bits / 8);
  if (format.kind == kFloat) return format.bits == 32 ? float_of(bits) : half(bits);
  const int shift = 32 - format.bits;
  return format.kind == kUnsigned ? bits / ldexp(1, format.bits) : (int)(bits << shift) / ldexp(1, 31);
}
/// What two ways of filtering may differ by. The place between two texels has 8 bits of fraction, and one way may round it up and the other down:
/// each dimension moves the result by at most 1/256 of what its texels differ. Sums of floats may round, too.
static double bound_of(const Image& image, const Reading& reading) {
  double least = 1e300, most = -1e300;
  for (int at = 0; at < image.width * image.height * image.format.channels; ++at) {
    const double value = value_of(image.format, image.texels + at * image.format.bits / 8);
    least = fmin(least, value), most = fmax(most, value);
  }
  for (int c = 0; c < 4 && (reading.across == kBorder || reading.down == kBorder); ++c)
    least = fmin(least, reading.border[c]), most = fmax(most, reading.border[c]);
  const double rounding = fmax(fabs(least), fabs(most)) / (1 << 20);
  return (most - least) * (1 + image.dimensions()) / 256 + rounding;
}
