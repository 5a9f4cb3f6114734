/* isa_lanes.h: compiles a header of loops for each instruction set (private).
 *
 * Define PSR_LANES as the header's name, from lib on, and include this once.  Its functions are
 * named NAME(x), which adds _base, _avx2 or _avx512 to x, and those that no other calls begin with
 * ISA.  PSR_ISA_EACH makes the table of them. */
#include "isa.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)
#define NAME(x)      PASTE(x, SUFFIX)

#define SUFFIX base
#define ISA
#include PSR_LANES
#undef SUFFIX
#undef ISA

#if defined __x86_64__
#define SUFFIX avx2
#define ISA    PSR_ISA_FOR_AVX2
#include PSR_LANES
#undef SUFFIX
#undef ISA

#define SUFFIX avx512
#define ISA    PSR_ISA_FOR_AVX512
#include PSR_LANES
#undef SUFFIX
#undef ISA
#endif
