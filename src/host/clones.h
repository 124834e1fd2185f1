/*
 * NUC_CLONES in front of a function of the host: it is compiled for AVX2 and AVX-512, too, which are taken where the
 * CPU has them. Vectors are wider then and rounding to whole numbers is an instruction; no product is fused with a sum,
 * so that the results are the same.
 */
#ifndef NUC_HOST_CLONES_H
#define NUC_HOST_CLONES_H

#include <stddef.h> /* __GLIBC__ */

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define NUC_SANITIZED
#endif
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NUC_SANITIZED
#endif

/* What chooses the clone runs before a sanitizer is ready. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(NUC_SANITIZED)
#define NUC_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define NUC_CLONES
#endif

#endif
