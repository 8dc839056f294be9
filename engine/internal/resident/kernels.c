// Every kernel is here twice: portable, and for machines that compute with several numbers at a time (AVX2, NEON), which is some ten times as fast. Sums of
// floats are made in eight parts by both, which are added up in one order, so that a bit of the result never says which machine it is.

#include "kernels.h"

#if defined(__x86_64__) && !defined(_WIN32) // there the stack is not aligned for 32 bytes
#define AVX2 __attribute__((target("avx2")))
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

int kernels_way(void) {
#if defined(AVX2)
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2") ? WIDE : PORTABLE;
#elif defined(__aarch64__)
	return WIDE;
#else
	return PORTABLE;
#endif
}

static int ones(uint64_t word) { return __builtin_popcountll(word); }

static int32_t distance(const uint64_t *own, const uint64_t *signs, int words) {
	int32_t n = 0;
	for (int i = 0; i < words; i++) n += ones(own[i] ^ signs[i]);
	return n;
}

static int32_t likeness(const uint64_t *own, const uint64_t *planes, int words) {
	int32_t all = 0, set = 0;
	for (int i = 0; i < words; i++) {
		all += ones(own[i]);
		for (int bit = 0; bit < 4; bit++) set += ones(own[i] & planes[bit * words + i]) << bit;
	}
	return 4 * set - 30 * all;
}

// sum adds the eight parts up.
static float sum(const float *parts) {
	return ((parts[0] + parts[4]) + (parts[2] + parts[6])) + ((parts[1] + parts[5]) + (parts[3] + parts[7]));
}

// rest adds the products from a place on to the parts.
static void rest(const float *a, const float *b, int from, int dims, float *parts) {
	for (int i = from; i < dims; i++) {
		float product = a[i] * b[i];
		parts[i % 8] += product;
	}
}

static float product(const float *a, const float *b, int dims) {
	float parts[8] = {0};
	rest(a, b, 0, dims, parts);
	return sum(parts);
}

static int64_t rest_of_values(const int16_t *a, const int16_t *b, int from, int dims) {
	int64_t all = 0;
	for (int i = from; i < dims; i++) all += (int32_t)a[i] * b[i];
	return all;
}

#if defined(AVX2)

// ones_each gives how many ones each byte has.
AVX2 static inline __m256i ones_each(__m256i bytes) {
	const __m256i low = _mm256_set1_epi8(15);
	const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
	return _mm256_add_epi8(_mm256_shuffle_epi8(table, _mm256_and_si256(bytes, low)),
		_mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low)));
}

AVX2 static inline int64_t sum_of_four(__m256i parts) {
	return _mm256_extract_epi64(parts, 0) + _mm256_extract_epi64(parts, 1) + _mm256_extract_epi64(parts, 2) + _mm256_extract_epi64(parts, 3);
}

AVX2 static int32_t distance_wide(const uint64_t *own, const uint64_t *signs, int words) {
	if (words % 4 != 0) return distance(own, signs, words);
	__m256i all = _mm256_setzero_si256();
	for (int i = 0; i < words; i += 4) {
		__m256i differ = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(own + i)), _mm256_loadu_si256((const __m256i *)(signs + i)));
		all = _mm256_add_epi64(all, _mm256_sad_epu8(ones_each(differ), _mm256_setzero_si256()));
	}
	return (int32_t)sum_of_four(all);
}

AVX2 static int32_t likeness_wide(const uint64_t *own, const uint64_t *planes, int words) {
	if (words % 4 != 0) return likeness(own, planes, words);
	const __m256i zero = _mm256_setzero_si256();
	__m256i all = zero, set = zero;
	for (int i = 0; i < words; i += 4) {
		__m256i bits = _mm256_loadu_si256((const __m256i *)(own + i)), numbers = zero;
		for (int bit = 3; bit >= 0; bit--) { // a byte's sum is at most 8 * 15
			__m256i plane = _mm256_loadu_si256((const __m256i *)(planes + bit * words + i));
			numbers = _mm256_add_epi8(_mm256_add_epi8(numbers, numbers), ones_each(_mm256_and_si256(bits, plane)));
		}
		all = _mm256_add_epi64(all, _mm256_sad_epu8(ones_each(bits), zero));
		set = _mm256_add_epi64(set, _mm256_sad_epu8(numbers, zero));
	}
	return (int32_t)(4 * sum_of_four(set) - 30 * sum_of_four(all));
}

AVX2 static float product_wide(const float *a, const float *b, int dims) {
	__m256 all = _mm256_setzero_ps();
	int i = 0;
	for (; i + 8 <= dims; i += 8) all = _mm256_add_ps(all, _mm256_mul_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i)));
	float parts[8];
	_mm256_storeu_ps(parts, all);
	rest(a, b, i, dims, parts);
	return sum(parts);
}

AVX2 static int64_t product_of_values_wide(const int16_t *a, const int16_t *b, int dims) {
	__m256i all = _mm256_setzero_si256();
	int i = 0;
	for (; i + 16 <= dims; i += 16) { // the sum of two products fits into 32 bits
		__m256i pairs = _mm256_madd_epi16(_mm256_loadu_si256((const __m256i *)(a + i)), _mm256_loadu_si256((const __m256i *)(b + i)));
		all = _mm256_add_epi64(all, _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(pairs)), _mm256_cvtepi32_epi64(_mm256_extracti128_si256(pairs, 1))));
	}
	return sum_of_four(all) + rest_of_values(a, b, i, dims);
}

#elif defined(__aarch64__)
#define AVX2

static int32_t distance_wide(const uint64_t *own, const uint64_t *signs, int words) {
	if (words % 2 != 0) return distance(own, signs, words);
	uint32x4_t all = vdupq_n_u32(0);
	for (int i = 0; i < words; i += 2)
		all = vpadalq_u16(all, vpaddlq_u8(vcntq_u8(vreinterpretq_u8_u64(veorq_u64(vld1q_u64(own + i), vld1q_u64(signs + i))))));
	return (int32_t)vaddvq_u32(all);
}

static int32_t likeness_wide(const uint64_t *own, const uint64_t *planes, int words) {
	if (words % 2 != 0) return likeness(own, planes, words);
	uint32x4_t all = vdupq_n_u32(0), set = vdupq_n_u32(0);
	for (int i = 0; i < words; i += 2) {
		uint64x2_t bits = vld1q_u64(own + i);
		uint8x16_t numbers = vdupq_n_u8(0);
		for (int bit = 3; bit >= 0; bit--) // a byte's sum is at most 8 * 15
			numbers = vaddq_u8(vaddq_u8(numbers, numbers), vcntq_u8(vreinterpretq_u8_u64(vandq_u64(bits, vld1q_u64(planes + bit * words + i)))));
		all = vpadalq_u16(all, vpaddlq_u8(vcntq_u8(vreinterpretq_u8_u64(bits))));
		set = vpadalq_u16(set, vpaddlq_u8(numbers));
	}
	return 4 * (int32_t)vaddvq_u32(set) - 30 * (int32_t)vaddvq_u32(all);
}

static float product_wide(const float *a, const float *b, int dims) {
	float32x4_t left = vdupq_n_f32(0), right = vdupq_n_f32(0);
	int i = 0;
	for (; i + 8 <= dims; i += 8) {
		left = vaddq_f32(left, vmulq_f32(vld1q_f32(a + i), vld1q_f32(b + i)));
		right = vaddq_f32(right, vmulq_f32(vld1q_f32(a + i + 4), vld1q_f32(b + i + 4)));
	}
	float parts[8];
	vst1q_f32(parts, left);
	vst1q_f32(parts + 4, right);
	rest(a, b, i, dims, parts);
	return sum(parts);
}

static int64_t product_of_values_wide(const int16_t *a, const int16_t *b, int dims) {
	int64x2_t all = vdupq_n_s64(0);
	int i = 0;
	for (; i + 8 <= dims; i += 8) {
		int16x8_t x = vld1q_s16(a + i), y = vld1q_s16(b + i);
		all = vpadalq_s32(all, vmull_s16(vget_low_s16(x), vget_low_s16(y)));
		all = vpadalq_s32(all, vmull_high_s16(x, y));
	}
	return vaddvq_s64(all) + rest_of_values(a, b, i, dims);
}

#else
#define AVX2
#define distance_wide distance
#define likeness_wide likeness
#define product_wide product
#define product_of_values_wide(a, b, dims) rest_of_values(a, b, 0, dims)
#endif

// Each has a loop of its own for either way, so that the compiler puts what it calls into it.
#define OF_EACH(call) for (int i = 0; i < n; i++) out[i] = call

AVX2 static void distances_wide(const uint64_t *bits, int words, const int32_t *slots, int n, const uint64_t *signs, int32_t *out) {
	OF_EACH(distance_wide(bits + (int64_t)slots[i] * words, signs, words));
}

void kernels_distances(int way, const uint64_t *bits, int words, const int32_t *slots, int n, const uint64_t *signs, int32_t *out) {
	if (way == WIDE) {
		distances_wide(bits, words, slots, n, signs, out);
		return;
	}
	OF_EACH(distance(bits + (int64_t)slots[i] * words, signs, words));
}

AVX2 static void likenesses_wide(const uint64_t *bits, int words, const int32_t *slots, int n, const uint64_t *planes, int32_t *out) {
	OF_EACH(likeness_wide(bits + (int64_t)slots[i] * words, planes, words));
}

void kernels_likenesses(int way, const uint64_t *bits, int words, const int32_t *slots, int n, const uint64_t *planes, int32_t *out) {
	if (way == WIDE) {
		likenesses_wide(bits, words, slots, n, planes, out);
		return;
	}
	OF_EACH(likeness(bits + (int64_t)slots[i] * words, planes, words));
}

AVX2 static void products_wide(const float *vectors, int dims, const int32_t *slots, int n, const float *probe, float *out) {
	OF_EACH(product_wide(vectors + (int64_t)slots[i] * dims, probe, dims));
}

void kernels_products(int way, const float *vectors, int dims, const int32_t *slots, int n, const float *probe, float *out) {
	if (way == WIDE) {
		products_wide(vectors, dims, slots, n, probe, out);
		return;
	}
	OF_EACH(product(vectors + (int64_t)slots[i] * dims, probe, dims));
}

AVX2 static void products_of_values_wide(const int16_t *vectors, int dims, const int32_t *slots, int n, const int16_t *probe, int64_t *out) {
	OF_EACH(product_of_values_wide(vectors + (int64_t)slots[i] * dims, probe, dims));
}

void kernels_products_of_values(int way, const int16_t *vectors, int dims, const int32_t *slots, int n, const int16_t *probe, int64_t *out) {
	if (way == WIDE) {
		products_of_values_wide(vectors, dims, slots, n, probe, out);
		return;
	}
	OF_EACH(rest_of_values(vectors + (int64_t)slots[i] * dims, probe, 0, dims));
}
