// Reads textures in every way that tex.1d and tex.2d have, on a real GPU and in Terrace, and prints a line for each case (docs/real_gpu.md):
//   sampling [POINTS [PART...]]
// A line is a name and a hash of all bits that were read. Behind the hash of filtered reads, which need not agree to the bit, stand a bound and the
// bits of some points. POINTS gets every point with what was read there; `-` is none. PARTs: formats modes filters levels fetches weights refusals
// probes; the last does what CUDA leaves open.
// SPDX-License-Identifier: MIT
#include "sampling.h"

/// One texture, read at points of several classes by one kernel.
static void read_classes(const char* name, const Image& image, const Reading& reading, Class first, Class last) {
  unsigned long long texture = 0;
  if (!WORKED(make_texture(image, reading, &texture))) return;
  int count = 0;
  for (int c = first; c <= last; count += kCounts[c++])
    make_points((Class)c, image, reading.normalized, points + count);
  const Reader reader = kReaders[image.place == kLinear][image.dimensions()][image.format.result()];
  if (image.place == kLinear)
    for (int i = 0; i < count; ++i) points[i].x = (unsigned)(int)floorf(float_of(points[i].x));
  if (!read_points(name, reader, texture, count)) return;
  int from = 0;
  for (int c = first; c <= last; from += kCounts[c++]) {
    const bool bounded = reading.linear && c < kHuge;
    print_line(Name("%s/%s", name, kClassNames[c]).text, from, kCounts[c], image.format.channels,
               bounded ? bound_of(image, reading) : 0);
  }
  (void)WORKED(cudaDestroyTextureObject(texture));
}

static Name name_of(const char* part, const Image& image, const Reading& reading) {
  const Name outside(reading.across == reading.down || image.dimensions() == 0 ? "%s" : "%s-%s",
                     kOutsides[reading.across], kOutsides[reading.down]);
  const char* coordinates = image.place == kLinear ? "indices" : reading.normalized ? "normalized" : "texels";
  return Name("%s/%s/%s/%s/%s/%dx%d", part, kPlaces[image.place], name_of(image.format).text, outside.text, coordinates,
              image.width, image.height);
}
static Image image_of(Place place, Format format, int width, int height) {
  return {place, format, width, place == kArray || place == kPitched ? height : 1, nullptr, 0, nullptr, nullptr};
}
constexpr Reading kPlain = {kClamp, kClamp, false, false, {0.25f, 0.3f, 0.75f, 1.0f}};

/// Calls `visit` with every format; `floats`: those that are read as floats.
template <class Visit>
static void each_format(bool floats, Visit visit) {
  for (int kind = kSigned; kind <= kFloat; ++kind)
    for (int bits = kind == kFloat ? 16 : 8; bits <= 32; bits *= 2)
      for (int channels = 1; channels <= 4; channels *= 2)
        for (int fraction = 0; fraction <= (kind != kFloat && bits < 32); ++fraction) {
          const Format format = {(Kind)kind, bits, channels, fraction != 0};
          if (!floats || format.floats()) visit(format);
        }
}

static void formats() {
  each_format(false, [](Format format) {
    for (const Place place : {kRow, kArray, kPitched, kLinear}) {
      Image image = image_of(place, format, 13, 7);
      const Name its = name_of("formats", image, kPlain);
      const char* name = its.text;
      if (make_image(name, &image, true, 1)) read_classes(name, image, kPlain, kInside, kInside);
      if (place == kArray) {
        Reading reading = kPlain;
        reading.across = reading.down = kBorder;
        read_classes(name_of("formats", image, reading).text, image, reading, kOutside, kOutside);
        const float wide[4] = {5, 6.5f, -7, 300};
        memcpy(reading.border, wide, sizeof wide);
        read_classes(name_of("formats/wide-border", image, reading).text, image, reading, kOutside, kOutside);
      }
      free_image(name, &image);
    }
  });
}

static void read_modes(const char* part, Image image, bool linear, bool mixed, Class last) {
  Reading reading = kPlain;
  reading.linear = linear;
  if (!make_image(part, &image, !linear, 2)) return;
  for (int across = kWrap; across <= kBorder; ++across)
    for (int down = kWrap; down <= kBorder; ++down) {
      if ((across == down) == mixed) continue;
      for (const bool normalized : {false, true}) {
        if (mixed && !normalized) continue;
        reading.across = (Outside)across, reading.down = (Outside)down, reading.normalized = normalized;
        read_classes(name_of(part, image, reading).text, image, reading, kInside, last);
      }
    }
  free_image(part, &image);
}

static void modes() {
  const Format floats = {kFloat, 32, 1, false};
  for (const Place place : {kRow, kArray, kPitched}) {
    read_modes("modes", image_of(place, floats, 8, 4), false, false, kNan);
    read_modes("modes", image_of(place, floats, 13, 7), false, false, kNan);
  }
  read_modes("modes", image_of(kArray, {kUnsigned, 8, 4, false}, 13, 7), false, false, kFar);
  read_modes("modes", image_of(kArray, floats, 13, 7), false, true, kEdges);
}

static void filters() {
  each_format(true, [](Format format) {
    for (const Place place : {kRow, kArray}) {
      Image image = image_of(place, format, 13, 7);
      Reading reading = kPlain;
      reading.linear = true;
      const Name its = name_of("filters", image, reading);
      if (make_image(its.text, &image, false, 3)) read_classes(its.text, image, reading, kInside, kInside);
      free_image(its.text, &image);
    }
  });
  const Format floats = {kFloat, 32, 1, false};
  read_modes("filters/modes", image_of(kRow, floats, 8, 1), true, false, kNan);
  read_modes("filters/modes", image_of(kRow, floats, 13, 1), true, false, kNan);
  read_modes("filters/modes", image_of(kArray, floats, 8, 4), true, false, kNan);
  read_modes("filters/modes", image_of(kArray, floats, 13, 7), true, false, kNan);
  read_modes("filters/modes", image_of(kPitched, floats, 13, 7), true, false, kEdges);
  read_modes("filters/modes", image_of(kArray, {kUnsigned, 8, 1, true}, 13, 7), true, true, kEdges);
}

static void levels() {
  for (const Place place : {kRow, kArray}) {
    Image image = image_of(place, {kFloat, 32, 1, false}, 13, 7);
    const Name its = name_of("levels", image, kPlain);
    const char* name = its.text;
    unsigned long long texture = 0;
    if (!make_image(name, &image, true, 4) || !WORKED(make_texture(image, kPlain, &texture))) return;
    make_points(kInside, image, false, points);
    for (int level = 0; level < 4; ++level)
      if (read_points(name, kLevelReaders[level][image.dimensions()], texture, kCounts[kInside]))
        print_line(Name("%s/%d", name, level).text, 0, kCounts[kInside], 1);
    (void)WORKED(cudaDestroyTextureObject(texture));
    free_image(name, &image);
  }
}

/// Indices inside, just outside, and far outside.
static void read_fetches(const Image& image, const Reading& reading, const char* more) {
  static const int kAway[] = {1 << 20,    -(1 << 20),      1 << 27, -(1 << 27),
                              0x7fffffff, -0x7fffffff - 1, 1 << 16, -(1 << 16)};
  static const char* const kWhere[] = {"inside", "outside", "away"};
  const Name its("%s%s", name_of("fetches", image, reading).text, more);
  const char* name = its.text;
  unsigned long long texture = 0;
  if (!WORKED(make_texture(image, reading, &texture))) return;
  Numbers numbers{5};
  const auto outside = [&](int size) {
    return numbers.below(2) != 0 ? size + numbers.below(8) : -1 - numbers.below(8);
  };
  for (int i = 0; i < 96; ++i) {
    points[i] = {(unsigned)numbers.below(image.width), (unsigned)numbers.below(image.height)};
    unsigned& moved = image.dimensions() == 0 || i % 2 == 0 ? points[i].x : points[i].y;
    const int size = &moved == &points[i].x ? image.width : image.height;
    if (i >= 32) moved = (unsigned)(i < 64 ? outside(size) : kAway[i % 8]);
  }
  if (read_points(name, kReaders[1][image.dimensions()][image.format.result()], texture, 96))
    for (int i = 0; i < 3; ++i) print_line(Name("%s/%s", name, kWhere[i]).text, 32 * i, 32, 4);
  (void)WORKED(cudaDestroyTextureObject(texture));
}
static void fetches() {
  const Format kFormats[] = {{kFloat, 32, 1, false}, {kUnsigned, 8, 4, true}, {kSigned, 16, 2, false}};
  for (const Place place : {kRow, kArray, kPitched, kLinear})
    for (const Format& format : kFormats) {
      Image image = image_of(place, format, 13, 7);
      if (!make_image("fetches", &image, true, 6)) return;
      for (int outside = kWrap; outside <= kBorder; ++outside) {
        Reading reading = kPlain;
        reading.across = reading.down = (Outside)outside;
        read_fetches(image, reading, "");
        if (place == kLinear || outside != kClamp || format.bits != 32) continue;
        reading.normalized = true;
        read_fetches(image, reading, "");
        reading.linear = true;
        read_fetches(image, reading, "/linear");
      }
      free_image("fetches", &image);
    }
}

/// Many points of few texels: how a GPU rounds the place between texels, and the sums.
static void read_weights(const char* what, Image image, bool normalized, Outside outside, bool ramp,
                         int (*place_points)(const Image&, Point*)) {
  Reading reading = kPlain;
  reading.linear = true, reading.normalized = normalized, reading.across = reading.down = outside;
  const Name its("%s/%s", name_of("weights", image, reading).text, what);
  const char* name = its.text;
  if (!make_image(name, &image, false, 7)) return;
  if (ramp) {
    const size_t row = (size_t)image.width * sizeof(float);
    for (int i = 0; i < image.width * image.height; ++i) ((float*)image.texels)[i] = (float)i;
    if (!WORKED(cudaMemcpy2DToArray(image.array, 0, 0, image.texels, row, row, (size_t)image.height,
                                    cudaMemcpyHostToDevice)))
      return;
  }
  unsigned long long texture = 0;
  if (!WORKED(make_texture(image, reading, &texture))) return;
  const int count = place_points(image, points);
  if (normalized)
    for (int i = 0; i < count; ++i)
      points[i] = {bits_of((float)((double)float_of(points[i].x) / image.width)),
                   bits_of((float)((double)float_of(points[i].y) / image.height))};
  if (read_points(name, kReaders[0][image.dimensions()][kFloat], texture, count))
    print_line(name, 0, count, image.format.channels, bound_of(image, reading), 16);
  (void)WORKED(cudaDestroyTextureObject(texture));
  free_image(name, &image);
}
/// Steps of 1/4096 through a texel, and of 1/256.
static int fine_steps(const Image&, Point* to) {
  for (int i = 0; i <= 4096; ++i) to[i] = {bits_of(0.5f + (float)i / 4096), bits_of(0.5f)};
  return 4097;
}
static int coarse_steps(const Image& image, Point* to) {
  Numbers numbers{8};
  for (int i = 0; i < 2048; ++i)
    to[i] = {bits_of(0.5f + (float)numbers.below(image.width - 1) + (float)(i % 257) / 256),
             bits_of(0.5f + (float)numbers.below(256 * image.height - 255) / 256)};
  return 2048;
}
static int any_places(const Image& image, Point* to) {
  Numbers numbers{9};
  for (int i = 0; i < 4096; ++i)
    to[i] = {bits_of((float)((numbers.next() >> 8) * (double)image.width / (1 << 24))),
             bits_of((float)((numbers.next() >> 8) * (double)image.height / (1 << 24)))};
  return 4096;
}
static void weights() {
  const Format floats = {kFloat, 32, 1, false};
  read_weights("fine", image_of(kRow, floats, 2, 1), false, kClamp, true, fine_steps);
  read_weights("fine", image_of(kRow, floats, 2, 1), true, kClamp, true, fine_steps);
  for (const bool normalized : {false, true}) {
    for (const int width : {1000, 1024})
      read_weights("ramp", image_of(kRow, floats, width, 1), normalized, kClamp, true, any_places);
    for (const int width : {25, 32})
      read_weights("ramp", image_of(kArray, floats, width, 1000 / width), normalized, kClamp, true, any_places);
  }
  read_weights("ramp", image_of(kRow, floats, 1000, 1), true, kWrap, true, any_places);
  read_weights("ramp", image_of(kRow, floats, 1000, 1), true, kMirror, true, any_places);
  const Format kFormats[] = {floats,
                             {kFloat, 16, 1, false},
                             {kUnsigned, 8, 1, true},
                             {kSigned, 8, 1, true},
                             {kUnsigned, 16, 1, true},
                             {kSigned, 16, 1, true}};
  for (const Format& format : kFormats)
    for (const Place place : {kRow, kArray}) {
      read_weights("coarse", image_of(place, format, 16, 8), false, kClamp, false, coarse_steps);
      read_weights("any", image_of(place, format, 16, 8), false, kClamp, false, any_places);
    }
}

/// What cudaCreateTextureObject says of descriptions that may be refused; nothing is read.
static void say_status(const char* what, const Image& image, const Reading& reading) {
  unsigned long long texture = 0;
  const int status = make_texture(image, reading, &texture);
  printf("refusals/%s %d\n", what, status);
  if (status == 0)
    (void)worked(what, (int)cudaDestroyTextureObject(texture));
  else
    cudaGetLastError();
}
static void say_array(const char* what, int x, int y, int z, int w, int kind, size_t width, size_t height) {
  const cudaChannelFormatDesc channels = cudaCreateChannelDesc(x, y, z, w, (cudaChannelFormatKind)kind);
  cudaArray_t array = nullptr;
  const int status = (int)cudaMallocArray(&array, &channels, width, height, 0);
  printf("refusals/array/%s %d\n", what, status);
  if (status == 0)
    (void)worked(what, (int)cudaFreeArray(array));
  else
    cudaGetLastError();
}
static void refusals() {
  each_format(false, [](Format format) {
    for (const Place place : {kRow, kArray, kPitched, kLinear}) {
      Image image = image_of(place, format, 8, 4);
      Reading reading = kPlain;
      reading.linear = true;
      if (format.channels != 1 || !make_image("refusals", &image, true, 1)) continue;
      say_status(Name("linear/%s/%s", kPlaces[place], name_of(format).text).text, image, reading);
      free_image("refusals", &image);
    }
  });
  Image image = image_of(kPitched, {kSigned, 32, 1, true}, 8, 4);
  if (!make_image("refusals", &image, true, 1)) return;
  say_status("fractions-of-32-bits", image, kPlain);
  image.format = {kSigned, 32, 1, false};
  image.pitch -= 16;
  say_status("uneven-pitch", image, kPlain);
  image.pitch += 16;
  image.height = 3;
  for (const int bytes : {4, 16, 32, 64, 128, 256}) {
    image.memory = (char*)image.memory + bytes;
    for (const Place place : {kPitched, kLinear}) {
      image.place = place;
      say_status(Name("uneven-place/%s/%d", kPlaces[place], bytes).text, image, kPlain);
    }
    image.memory = (char*)image.memory - bytes;
  }
  image.place = kPitched;
  image.width = 1 << 20;
  say_status("wider-than-its-pitch", image, kPlain);
  image.width = 0;
  say_status("no-width", image, kPlain);
  image.width = 8;
  for (int outside = kWrap; outside <= kBorder; ++outside) {
    Reading reading = kPlain;
    reading.across = reading.down = (Outside)outside;
    say_status(Name("texels/%s", kOutsides[outside]).text, image, reading);
  }
  free_image("refusals", &image);
  say_array("three-channels", 8, 8, 8, 0, kUnsigned, 4, 4);
  say_array("uneven-channels", 8, 16, 0, 0, kUnsigned, 4, 4);
  say_array("a-gap", 8, 0, 8, 0, kUnsigned, 4, 4);
  say_array("of-64-bits", 64, 0, 0, 0, kUnsigned, 4, 4);
  say_array("float-of-8-bits", 8, 0, 0, 0, kFloat, 4, 4);
  say_array("no-channel", 0, 0, 0, 0, kUnsigned, 4, 4);
  say_array("no-width", 32, 0, 0, 0, kUnsigned, 0, 4);
  say_array("widest-1d", 8, 0, 0, 0, kUnsigned, 131072, 0);
  say_array("too-wide-1d", 8, 0, 0, 0, kUnsigned, 131073, 0);
  say_array("too-wide-2d", 8, 0, 0, 0, kUnsigned, 131073, 1);
  say_array("too-high-2d", 8, 0, 0, 0, kUnsigned, 4, 65537);
}

/// What CUDA leaves open, or says little about: reads by another type or number of dimensions than the texture has, and texels that are no numbers.
static void probe(const char* what, const Image& image, const Reading& reading, Reader reader, bool indices) {
  const Name its("%s/%s", name_of("probes", image, reading).text, what);
  const char* name = its.text;
  unsigned long long texture = 0;
  if (!WORKED(make_texture(image, reading, &texture))) return;
  make_points(kInside, image, reading.normalized, points);
  for (int i = 0; indices && i < kCounts[kInside]; ++i) points[i] = {(unsigned)i % (unsigned)image.width, 0};
  if (read_points(name, reader, texture, kCounts[kInside]))
    print_line(name, 0, kCounts[kInside], image.format.channels);
  (void)WORKED(cudaDestroyTextureObject(texture));
}
static void probe_types() {
  static const Format kFormats[] = {{kFloat, 32, 1, false},
                                    {kFloat, 16, 2, false},
                                    {kSigned, 8, 4, false},
                                    {kUnsigned, 16, 1, true},
                                    {kSigned, 32, 2, false}};
  for (const Format& format : kFormats)
    for (const Place place : {kArray, kLinear}) {
      Image image = image_of(place, format, 13, 7);
      if (!make_image("probes", &image, true, 10)) return;
      for (int result = kSigned; result <= kFloat; ++result)
        if (result != format.result())
          probe(Name("read-as-%c32", "suf"[result]).text, image, kPlain,
                kReaders[place == kLinear][image.dimensions()][result], place == kLinear);
      free_image("probes", &image);
    }
}
static void probe_dimensions() {
  const Format floats = {kFloat, 32, 1, false};
  Image row = image_of(kRow, floats, 13, 1), square = image_of(kArray, floats, 13, 7),
        line = image_of(kLinear, floats, 13, 1);
  if (!make_image("probes", &row, true, 11) || !make_image("probes", &square, true, 11) ||
      !make_image("probes", &line, true, 11))
    return;
  probe("tex.2d", row, kPlain, read_2d_f32, false);
  probe("tex.1d", square, kPlain, read_1d_f32, false);
  Reading reading = kPlain;
  probe("tex.1d-at-floats", line, reading, read_1d_f32, false);
  reading.linear = true;
  probe("filtered-at-indices", line, reading, fetch_1d_f32, true);
  probe("filtered-at-floats", line, reading, read_1d_f32, false);
  reading.normalized = true;
  probe("normalized-at-floats", line, reading, read_1d_f32, false);
  for (Image* image : {&row, &square, &line}) free_image("probes", image);
}
/// Infinities, NaNs and numbers below the normal ones, as they are and filtered between zeros.
static void probe_texels() {
  static const unsigned kWords[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff,
                                    0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001, 0x7fffffff};
  static const unsigned short kHalves[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x0400, 0x7bff,
                                           0x7c00, 0xfc00, 0x7e00, 0xfe12, 0x7c01, 0x7fff};
  for (const int bits : {32, 16}) {
    Image image = image_of(kRow, {kFloat, bits, 1, false}, 13, 1);
    if (!make_image("probes", &image, true, 12)) return;
    const size_t row = (size_t)image.width * image.format.bytes();
    if (!worked("probes", (int)cudaMemcpy2DToArray(image.array, 0, 0, bits == 32 ? (const void*)kWords : kHalves, row,
                                                   row, 1, cudaMemcpyHostToDevice)))
      return;
    Reading reading = kPlain;
    probe("no-numbers", image, reading, read_1d_f32, false);
    reading.linear = true;
    probe("no-numbers-filtered", image, reading, read_1d_f32, false);
    free_image("probes", &image);
  }
}
static void probes() {
  probe_texels();
  probe_types();
  probe_dimensions();
}

int main(int count, char** word) {
  if (count > 1 && strcmp(word[1], "-") != 0 && (points_file = fopen(word[1], "w")) == nullptr)
    return perror(word[1]), 2;
  static const struct {
    const char* name;
    void (*run)();
  } kParts[] = {{"formats", formats}, {"modes", modes},     {"filters", filters},   {"levels", levels},
                {"fetches", fetches}, {"weights", weights}, {"refusals", refusals}, {"probes", probes}};
  for (const auto& part : kParts)
    if (wanted(count, word, part.name)) part.run();
  if (points_file != nullptr) fclose(points_file);
  return failures == 0 ? 0 : 1;
}
