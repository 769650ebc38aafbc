// What kernels call that is not theirs, on a real GPU and in Terrace, and prints a line for each case: printf, malloc and free, barriers of
// the whole grid, virtual functions, recursion; and what becomes of a process whose kernel fails (docs/real_gpu.md).
//   device_calls [- [PART...]]
// PARTs: prints heap grid virtual recursion; and, only if named and one in each process: assert trap misaligned outside null freed_twice
// SPDX-License-Identifier: MIT
#include "compared.h"

enum { kHeapLimit = 2, kStackLimit = 0, kHeapBytes = 16 << 20, kThreads = 256 };

#ifdef __NVCC__
#include <assert.h>
#include <cooperative_groups.h>
__device__ void sync_grid() {
  cooperative_groups::this_grid().sync();
}
#else
extern "C" __device__ int printf(const char* format, ...);
extern "C" __device__ void* malloc(size_t bytes);
extern "C" __device__ void free(void* memory);
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
#define assert(what) ((what) ? (void)0 : __assertfail(#what, __FILE__, __LINE__, __PRETTY_FUNCTION__, 1))
#include "grid_barrier.h"
#endif

// ---- printf

__global__ void print_integers(int a, unsigned b, long long c, unsigned long long d) {
  printf("print/d %d|%i|%5d|%-5d|%05d|%+d|% d|%.3d|%8.3d\n", a, -a, a, a, a, a, a, a, a);
  printf("print/u %u|%x|%X|%o|%#x|%#o|%08x\n", b, b, b, b, b, b, b);
  printf("print/long %lld|%llu|%llx|%ld|%lu|%zu|%20lld|%-20lld|\n", c, d, d, (long)c, (unsigned long)d, (size_t)d, c,
         c);
  printf("print/short %hd|%hu|%hhd|%hhu\n", (short)a, (unsigned short)b, (signed char)a, (unsigned char)b);
  printf("print/star %*d|%-*d|%.*d\n", 7, a, 7, a, 5, a);
  printf("print/c %c%c%c|%3c|%-3c|\n", 'a', 'b', 'c', 'd', 'e');
  printf("print/percent 100%%\n");
  printf("print/p %p\n", (void*)0x12345678abcull);
}
__global__ void print_numbers(double a, float b) {
  printf("print/f %f|%.3f|%10.2f|%-10.2f|%+f|%010.3f|%.0f|%#.0f\n", a, a, a, a, a, a, a, a);
  printf("print/e %e|%.2e|%E|%14.4e\n", a, a, a, a);
  printf("print/g %g|%.3g|%G|%g|%g|%#g\n", a, a, a, a * 1e-9, a * 1e9, a);
  printf("print/a %a|%A\n", a, a);
  printf("print/float %f|%g|%.9g\n", (double)b, (double)b, (double)b);
  printf("print/zero %f|%f|%g|%e\n", 0.0 * a, -0.0 * a, 0.0 * a, 0.0 * a);
  printf("print/star-f %*.*f|%.*e\n", 12, 4, a, 3, a);
}
__global__ void print_specials(const double* values) {
  printf("print/infinite %f|%g|%e|%F|%8f|%-8f|\n", values[0], values[1], values[0], values[1], values[0], values[1]);
  printf("print/nan %f|%g|%e|%F\n", values[2], values[2], values[2], values[2]);
  printf("print/subnormal %g|%e|%a\n", values[3], values[3], values[3]);
  printf("print/largest %f\n", values[4]);
}
__constant__ char kept_text[16] = "in constants";
__global__ void print_texts(const char* text) {
  __shared__ char shared_text[16];
  char own_text[8] = {'o', 'w', 'n', 0};
  for (int i = 0; i < 16; ++i) shared_text[i] = i < 6 ? "shared"[i] : 0;
  own_text[text[0] == 0] = 'W';
  printf("print/s %s|%10s|%-10s|%.3s|%*s|%s|%s\n", text, text, text, text, 12, text, "", kept_text);
  printf("print/s-of-spaces %s|%s\n", shared_text, own_text);
  printf("print/many %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n",
         1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
         31, 32);
}
__global__ void print_lanes() {
  if ((threadIdx.x & 3) == 1)
    printf("print/lane/%d/%d squared %d\n", blockIdx.x, threadIdx.x, threadIdx.x * threadIdx.x);
  else if (threadIdx.x % 5 == 0)
    printf("print/lane/%d/%d with %s and %f\n", blockIdx.x, threadIdx.x, "a text", 0.25 * threadIdx.x);
}
__global__ void print_results(int* to, const char* text) {
  to[0] = printf("print/result/none\n");
  to[1] = printf("print/result/one %d\n", 1);
  to[2] = printf("print/result/three %d %s %f\n", 1, text, 2.0);
}

static const char* name = "begin";
static void* on_device(const void* from, size_t bytes) {
  void* to = nullptr;
  if (!WORKED(cudaMalloc(&to, bytes)) || !WORKED(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice))) exit(1);
  return to;
}
static void fetch(void* to, const void* from, size_t bytes) {
  if (!WORKED(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost))) exit(1);
}
#define WORKED_ALL(name) worked(name, (int)cudaGetLastError()) && worked(name, (int)cudaDeviceSynchronize())

static void prints() {
  name = "print";
  const unsigned long long special[] = {0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x000000000000beef,
                                        0x7fefffffffffffff};
  const auto* values = (const double*)on_device(special, sizeof special);
  const char words[] = "some words";
  const char* text = (const char*)on_device(words, sizeof words);
  print_integers<<<1, 1>>>(-1234, 0xdeadbeef, -1234567890123ll, 0xfedcba9876543210ull);
  print_numbers<<<1, 1>>>(1234.56789, 0.1f);
  print_specials<<<1, 1>>>(values);
  print_texts<<<1, 1>>>(text);
  print_lanes<<<3, 64>>>();
  int results[3] = {}, *to = (int*)on_device(results, sizeof results);
  print_results<<<1, 1>>>(to, text);
  (void)(WORKED_ALL("print"));
  fetch(results, to, sizeof results);
  printf("print/results %d %d %d\n", results[0], results[1], results[2]);
}

// ---- malloc

struct Piece {
  unsigned char* at;
  unsigned long long bytes;
};
__global__ void take_pieces(Piece* pieces) {
  Piece& mine = pieces[threadIdx.x];
  mine.bytes = threadIdx.x * 37 % 1000 + 1;
  mine.at = (unsigned char*)malloc(mine.bytes);
  for (unsigned i = 0; mine.at != nullptr && i < mine.bytes; ++i) mine.at[i] = (unsigned char)(threadIdx.x + i);
}
/// How many bytes of each piece are what another launch wrote; each lane looks at a piece of another one, and frees it.
__global__ void give_pieces(Piece* pieces, int* good) {
  const unsigned other = threadIdx.x ^ 5;
  int count = 0;
  for (unsigned i = 0; i < pieces[other].bytes; ++i) count += pieces[other].at[i] == (unsigned char)(other + i);
  good[other] = count;
  free(pieces[other].at);
}
__global__ void take_one(Piece* piece, unsigned long long bytes) {
  piece->bytes = bytes;
  piece->at = (unsigned char*)malloc(bytes);
  if (piece->at != nullptr && bytes != 0) piece->at[0] = piece->at[bytes - 1] = 1;
}
__global__ void give_one(Piece* piece) {
  free(piece->at);
}

static void heap() {
  name = "heap";
  size_t bytes = 0;
  (void)WORKED(cudaDeviceGetLimit(&bytes, (cudaLimit)kHeapLimit));
  printf("heap/default %zu\n", bytes);
  (void)WORKED(cudaDeviceSetLimit((cudaLimit)kHeapLimit, kHeapBytes));
  (void)WORKED(cudaDeviceGetLimit(&bytes, (cudaLimit)kHeapLimit));
  printf("heap/set %zu\n", bytes);
  static Piece pieces[kThreads];
  static int good[kThreads];
  auto* there = (Piece*)on_device(pieces, sizeof pieces);
  int* good_there = (int*)on_device(good, sizeof good);
  take_pieces<<<1, kThreads>>>(there);
  fetch(pieces, there, sizeof pieces);
  int taken = 0, aligned = 0, overlaps = 0;
  for (int i = 0; i < kThreads; ++i) {
    taken += pieces[i].at != nullptr;
    aligned += ((unsigned long long)pieces[i].at & 15) == 0;
    for (int j = 0; j < i; ++j)
      overlaps += pieces[i].at < pieces[j].at + pieces[j].bytes && pieces[j].at < pieces[i].at + pieces[i].bytes;
  }
  printf("heap/pieces %d aligned %d overlaps %d\n", taken, aligned, overlaps);
  give_pieces<<<1, kThreads>>>(there, good_there);
  fetch(good, good_there, sizeof good);
  printf("heap/kept %016llx %d\n", hash_of(good, sizeof good), good[1]);
  const unsigned long long sizes[] = {0, 1, 4096, kHeapBytes / 2, kHeapBytes, 2ull * kHeapBytes, 1ull << 40, ~0ull};
  for (const unsigned long long size : sizes) {
    take_one<<<1, 1>>>(there, size);
    fetch(pieces, there, sizeof(Piece));
    printf("heap/one/%llu %s\n", size, pieces[0].at == nullptr ? "null" : "taken");
    give_one<<<1, 1>>>(there);  // null, too
    (void)(WORKED_ALL("heap/one"));
  }
  for (int again = 0; again < 3; ++again) {
    take_one<<<1, 1>>>(there, kHeapBytes / 2);
    fetch(pieces, there, sizeof(Piece));
    printf("heap/again/%d %s\n", again, pieces[0].at == nullptr ? "null" : "taken");
    give_one<<<1, 1>>>(there);
  }
  printf("heap/late %d\n", (int)cudaDeviceSetLimit((cudaLimit)kHeapLimit, 2 * kHeapBytes));
  cudaGetLastError();
}

// ---- barriers of the grid

/// Each block writes a word and then adds those of all blocks, several times.
__global__ void sum_of_grid(int* words, int rounds) {
  int sum = 0;
  for (int round = 1; round <= rounds; ++round) {
    if (threadIdx.x == 0) words[blockIdx.x] = round * (int)blockIdx.x;
    sync_grid();
    for (unsigned b = 0; b < gridDim.x; ++b) sum = sum * 3 + ((volatile int*)words)[b];
    sync_grid();
  }
  if (threadIdx.x == 0) words[blockIdx.x] = sum + (int)blockIdx.x;
}

static void grid() {
  name = "grid";
  int words[30] = {}, rounds = 4;
  int* there = (int*)on_device(words, sizeof words);
  void* arguments[] = {&there, &rounds};
  for (const int blocks : {1, 2, 7, 30}) {
    for (const int threads : {32, 100, 512}) {
      const Name which("grid/%d/%d", blocks, threads);
      if (!worked(which.text, (int)cudaLaunchCooperativeKernel((const void*)sum_of_grid, dim3(blocks), dim3(threads),
                                                               arguments, 0, 0)))
        continue;
      fetch(words, there, sizeof words);
      printf("%s %016llx\n", which.text, hash_of(words, (size_t)blocks * sizeof(int)));
    }
  }
  printf("grid/too-large %d\n",
         (int)cudaLaunchCooperativeKernel((const void*)sum_of_grid, dim3(1 << 20), dim3(512), arguments, 0, 0));
  printf("grid/too-large-after %d\n", (int)cudaGetLastError());
}

// ---- virtual functions, recursion

struct Shape {
  int size;
  __device__ explicit Shape(int its_size) : size(its_size) {}
  __device__ virtual int area(int factor) const { return -factor; }  // of all: ptxas takes no pure ones from clang
  __device__ virtual int edges() const { return 4; }
};
struct Square : Shape {
  __device__ explicit Square(int its_size) : Shape(its_size) {}
  __device__ int area(int factor) const override { return size * size * factor; }
};
struct Triangle : Shape {
  __device__ explicit Triangle(int its_size) : Shape(its_size) {}
  __device__ int area(int factor) const override { return size * factor / 2; }
  __device__ int edges() const override { return 3; }
};
struct Cut : Square {
  __device__ explicit Cut(int its_size) : Square(its_size) {}
  __device__ int area(int factor) const override { return Square::area(factor) - 1; }
  __device__ int edges() const override { return Square::edges() + 1; }
};
__global__ void ask_shapes(int* to) {
  const int i = (int)threadIdx.x;
  const Square square(i);
  const Triangle triangle(i + 1);
  const Cut cut(i + 2);
  const Shape* shapes[] = {&square, &triangle, &cut};
  const Shape* mine = shapes[i * 7 % 3];
  to[i] = mine->area(i % 5 + 1) * 16 + mine->edges();
}

static void virtuals() {
  name = "virtual";
  int results[96] = {}, *to = (int*)on_device(results, sizeof results);
  ask_shapes<<<1, 96>>>(to);
  fetch(results, to, sizeof results);
  printf("virtual/shapes %016llx %d %d %d\n", hash_of(results, sizeof results), results[0], results[1], results[95]);
}

__device__ __attribute__((noinline)) int ways(int down, int right) {
  return down == 0 || right == 0 ? 1 : ways(down - 1, right) + ways(down, right - 1);
}
/// Each call keeps eight numbers, which it needs after the next has come back.
__device__ __attribute__((noinline)) unsigned layers(unsigned depth, unsigned seed) {
  unsigned mine[8];
  for (unsigned i = 0; i < 8; ++i) mine[i] = seed * (i + 3) + depth;
  const unsigned below = depth == 0 ? 1 : layers(depth - 1, mine[depth & 7]);
  return below + mine[below % 8];
}
__global__ void recurse(unsigned* to) {
  const unsigned i = threadIdx.x;
  to[i] = (unsigned)ways((int)i % 6, (int)i % 5) + layers(i % 64 * 2, i);
}

static void recursion() {
  name = "recursion";
  (void)WORKED(cudaDeviceSetLimit((cudaLimit)kStackLimit, 32 << 10));
  unsigned results[96] = {}, *to = (unsigned*)on_device(results, sizeof results);
  recurse<<<1, 96>>>(to);
  fetch(results, to, sizeof results);
  printf("recursion/layers %016llx %u %u %u\n", hash_of(results, sizeof results), results[0], results[1], results[95]);
}

// ---- what fails

__global__ void fail_assertion(int limit) {
  assert((int)(blockIdx.x * blockDim.x + threadIdx.x) < limit);
}
__global__ void run_trap(int lane) {
  if ((int)threadIdx.x == lane) asm volatile("trap;");
}
__global__ void store_at(char* at, int value) {
  *(volatile int*)at = value;
}
__global__ void give_twice() {
  void* memory = malloc(100);
  *(volatile char*)memory = 1;
  free(memory);
  free(memory);
}

/// The error that the process waits for, and what later calls say.
static void fails(const char* what) {
  name = what;
  char* there = nullptr;
  (void)WORKED(cudaMalloc((void**)&there, 1024));
  if (strcmp(what, "assert") == 0) fail_assertion<<<2, 64>>>(100);
  if (strcmp(what, "trap") == 0) run_trap<<<1, 64>>>(33);
  if (strcmp(what, "misaligned") == 0) store_at<<<1, 1>>>(there + 2, 1);
  if (strcmp(what, "outside") == 0) store_at<<<1, 1>>>((char*)0x100000000000ull, 1);
  if (strcmp(what, "null") == 0) store_at<<<1, 1>>>(nullptr, 1);
  if (strcmp(what, "freed_twice") == 0) give_twice<<<1, 1>>>();
  const int launched = (int)cudaGetLastError(), waited = (int)cudaDeviceSynchronize(),
            kept = (int)cudaPeekAtLastError();
  const int cleared = (int)cudaGetLastError(), again = (int)cudaDeviceSynchronize(),
            allocated = (int)cudaMalloc((void**)&there, 64);
  store_at<<<1, 1>>>(there, 1);
  printf("fails/%s launched %d waited %d kept %d cleared %d again %d allocated %d launched-again %d\n", what, launched,
         waited, kept, cleared, again, allocated, (int)cudaGetLastError());
}

int main(int words, char** word) {
  if (wanted(words, word, "prints")) prints();
  fflush(stdout);
  if (wanted(words, word, "heap")) heap();
  if (wanted(words, word, "grid")) grid();
  if (wanted(words, word, "virtual")) virtuals();
  if (wanted(words, word, "recursion")) recursion();
  for (const char* what : {"assert", "trap", "misaligned", "outside", "null", "freed_twice"})
    if (words > 2 && wanted(words, word, what)) fails(what);
  return failures == 0 ? 0 : 1;
}
