/* fuzz_fbh5: any bytes given as a filterbank in HDF5, with seeds of that format. */
#define FUZZ_NAMED
#include "fuzz_source.c"

/* HDF5 asks for as much memory as a damaged file says, and reports that there is none. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
