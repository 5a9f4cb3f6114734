/* fuzz_fbh5: any bytes given as a filterbank in HDF5, with seeds of that format: HDF5 parses what psrkit hands to it. */
#include "fuzz_source.c"
