// Arithmetic over many vectors at once, by their slots: see kernels.c.

#include <stdint.h>

// The ways in which it can be done. Each gives the same numbers.
enum { PORTABLE, WIDE };

// The best of them that this machine has.
int kernels_way(void);

// How many of a sketch's bits differ from those of signs.
void kernels_distances(int way, const uint64_t *bits, int words, const int32_t *slots, int n, const uint64_t *signs, int32_t *out);

// How many bits a sketch has, times 30, taken from 4 times the sum of the numbers where it has one; planes are four times as many words: the numbers'
// bits worth 1, 2, 4 and 8.
void kernels_likenesses(int way, const uint64_t *bits, int words, const int32_t *slots, int n, const uint64_t *planes, int32_t *out);

// Inner products with the probe. Values are from -32767 to 32767.
void kernels_products(int way, const float *vectors, int dims, const int32_t *slots, int n, const float *probe, float *out);
void kernels_products_of_values(int way, const int16_t *vectors, int dims, const int32_t *slots, int n, const int16_t *probe, int64_t *out);
