/* fbh5.h: filterbanks in HDF5, as blimpy writes and reads them (private).
 *
 * A dataset "data" of [time][feed][channel], whose attributes are the keys of a SIGPROC header. */
#ifndef PSR_FORMATS_SPECTRA_FBH5_H
#define PSR_FORMATS_SPECTRA_FBH5_H

#include "reader.h"

#include <config.h>
#include <psrkit/experimental/outfile.h>

#define PSR_HDF5_MAGIC "\x89HDF\r\n\x1a\n" /* first bytes of every HDF5 file without a user block */

/* Whether these are the first bytes of an HDF5 file. */
static inline bool psr_is_hdf5(const uint8_t *bytes, size_t n)
{
    return n >= strlen(PSR_HDF5_MAGIC) && !memcmp(bytes, PSR_HDF5_MAGIC, strlen(PSR_HDF5_MAGIC));
}

PSR_MUST_CHECK psr_status psr_fbh5_open(struct psr_reader **out, const char *path,
                                        const struct psr_source_desc *desc, psr_err *err);

/* Writes spectra as they come, compressed by bitshuffle and LZ4 where HDF5 has the plugin. */
typedef struct psr_fbh5 psr_fbh5;

/* Given:  f   a file with a temporary name, to which nothing else is written; borrowed; the caller commits it
 *         obs   nif 1, 8 to 32 bits
 * Status: PSR_EUNSUPPORTED (bits, a table of frequencies, no regular file, no HDF5), PSR_EFORMAT (as psr_obs_check),
 *         PSR_EIO, PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_fbh5_create(psr_fbh5 **out, psr_outfile *f, const struct psr_obs *obs,
                                          psr_err *err);
PSR_MUST_CHECK psr_status psr_fbh5_append(psr_fbh5 *w, const void *rows, size_t nrow, psr_err *err);

/* Completes the file, before it is committed. */
PSR_MUST_CHECK psr_status psr_fbh5_finish(psr_fbh5 *w, psr_err *err);
void psr_fbh5_destroy(psr_fbh5 *w);

#ifdef PSR_HDF5_SO
#include <hdf5.h>

/* Its constants call functions, which are not linked. */
#undef H5CHECK
#undef H5OPEN
#define H5CHECK
#define H5OPEN

/* Functions and variables of HDF5 that are used. */
#define PSR_HDF5_FUNCTIONS(F)                                                                      \
    F(H5dont_atexit)                                                                               \
    F(H5open)                                                                                      \
    F(H5Aclose)                                                                                    \
    F(H5Acreate2)                                                                                  \
    F(H5Aexists)                                                                                   \
    F(H5Aget_space)                                                                                \
    F(H5Aget_type)                                                                                 \
    F(H5Aopen)                                                                                     \
    F(H5Aread)                                                                                     \
    F(H5Awrite)                                                                                    \
    F(H5Dclose)                                                                                    \
    F(H5Dcreate2)                                                                                  \
    F(H5Dget_create_plist)                                                                         \
    F(H5Dget_space)                                                                                \
    F(H5Dget_type)                                                                                 \
    F(H5Dopen2)                                                                                    \
    F(H5Dread)                                                                                     \
    F(H5Dset_extent)                                                                               \
    F(H5Dwrite)                                                                                    \
    F(H5Eset_auto2)                                                                                \
    F(H5Fclose)                                                                                    \
    F(H5Fcreate)                                                                                   \
    F(H5Fopen)                                                                                     \
    F(H5Pclose)                                                                                    \
    F(H5Pcreate)                                                                                   \
    F(H5Pget_chunk)                                                                                \
    F(H5Pget_filter2)                                                                              \
    F(H5Pget_layout)                                                                               \
    F(H5Pget_nfilters)                                                                             \
    F(H5Pset_chunk)                                                                                \
    F(H5Pset_chunk_cache)                                                                          \
    F(H5Pset_filter)                                                                               \
    F(H5Sclose)                                                                                    \
    F(H5Screate_simple)                                                                            \
    F(H5Sget_simple_extent_dims)                                                                   \
    F(H5Sget_simple_extent_ndims)                                                                  \
    F(H5Sget_simple_extent_npoints)                                                                \
    F(H5Sselect_hyperslab)                                                                         \
    F(H5Tclose)                                                                                    \
    F(H5Tcopy)                                                                                     \
    F(H5Tget_class)                                                                                \
    F(H5Tget_sign)                                                                                 \
    F(H5Tget_size)                                                                                 \
    F(H5Tis_variable_str)                                                                          \
    F(H5Tset_size)                                                                                 \
    F(H5Zfilter_avail)                                                                             \
    F(H5free_memory)

#define PSR_HDF5_VALUES(F)                                                                         \
    F(H5P_CLS_DATASET_ACCESS_ID_g)                                                                 \
    F(H5P_CLS_DATASET_CREATE_ID_g)                                                                 \
    F(H5T_C_S1_g)                                                                                  \
    F(H5T_NATIVE_DOUBLE_g)                                                                         \
    F(H5T_NATIVE_FLOAT_g)                                                                          \
    F(H5T_NATIVE_INT16_g)                                                                          \
    F(H5T_NATIVE_INT32_g)                                                                          \
    F(H5T_NATIVE_INT8_g)                                                                           \
    F(H5T_NATIVE_UINT16_g)                                                                         \
    F(H5T_NATIVE_UINT32_g)                                                                         \
    F(H5T_NATIVE_UINT8_g)

struct psr_hdf5 {
#define PSR_HDF5_MEMBER(name) __typeof__(name) *name;
    PSR_HDF5_FUNCTIONS(PSR_HDF5_MEMBER)
    PSR_HDF5_VALUES(PSR_HDF5_MEMBER)
#undef PSR_HDF5_MEMBER
};

/* Status: PSR_EUNSUPPORTED naming the path: HDF5 is not there */
PSR_MUST_CHECK psr_status psr_hdf5_load(struct psr_hdf5 *h, const char *path, psr_err *err);

/* The type of samples in memory, or -1 if HDF5 files do not have them. */
hid_t psr_fbh5_type(const struct psr_hdf5 *h, int nbit, enum psr_kind kind);

/* How a dataset is opened whose chunks have these sizes: those that lie beside each other are kept.  -1: no memory. */
hid_t psr_fbh5_access(const struct psr_hdf5 *h, const hsize_t chunk[3], const hsize_t dim[3],
                      size_t sample_bytes);
#endif

#endif
