/* fuzz_fbh5: any bytes given as a filterbank in HDF5, with seeds of that format.
 *
 * HDF5 parses what psrkit hands to it, and HDF5 1.10 has faults of its own (damaged references to texts, chunks that
 * unpack to fewer bytes, attributes beyond the end of their header): `make check`, where every version of it is met, only
 * tries the seeds; with PSRKIT_LONG it walks on. */
#define LLVMFuzzerTestOneInput try_source
#include "fuzz_source.c"
#undef LLVMFuzzerTestOneInput

/* HDF5 asks for as much memory as a damaged file says, and reports that there is none. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
#ifdef FUZZ_DEFAULT
    if (!getenv("PSRKIT_LONG"))
        return 0;
#endif
    return try_source(data, size);
}
