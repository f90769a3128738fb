// Functions that are compiled for the wide registers of newer processors as well; which one is called is decided when
// the library is loaded.
#pragma once

// Sanitizers do not know functions that are chosen when the library is loaded.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WHENCE_WIDE __attribute__((target_clones("avx2", "default")))
#define WHENCE_INLINE __attribute__((always_inline)) inline
#else
#define WHENCE_WIDE
#define WHENCE_INLINE inline
#endif
