/* hdf5_library.h: HDF5, loaded with the first file (private).
 *
 * Threads: files are read by processes of their own.  HDF5 has one state for the whole program: where it was built to be
 * safe for threads (H5is_library_threadsafe, as Debian's and conda's are), files that different threads write are
 * independent.  Elsewhere one thread writes all of them, one call at a time. */
#ifndef PSR_FORMATS_HDF5_HDF5_LIBRARY_H
#define PSR_FORMATS_HDF5_HDF5_LIBRARY_H

#include <config.h>
#include <psrkit/status.h>
#include <stdbool.h>

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
    F(H5Dget_storage_size)                                                                         \
    F(H5Dget_type)                                                                                 \
    F(H5Dopen2)                                                                                    \
    F(H5Dread)                                                                                     \
    F(H5Dset_extent)                                                                               \
    F(H5Dwrite)                                                                                    \
    F(H5Eset_auto2)                                                                                \
    F(H5Fclose)                                                                                    \
    F(H5Fcreate)                                                                                   \
    F(H5Fget_vfd_handle)                                                                           \
    F(H5Fopen)                                                                                     \
    F(H5Pclose)                                                                                    \
    F(H5Pcreate)                                                                                   \
    F(H5Pget_chunk)                                                                                \
    F(H5Pget_filter2)                                                                              \
    F(H5Pget_layout)                                                                               \
    F(H5Pget_nfilters)                                                                             \
    F(H5Pset_chunk)                                                                                \
    F(H5Pset_chunk_cache)                                                                          \
    F(H5Pset_deflate)                                                                              \
    F(H5Pset_filter)                                                                               \
    F(H5Pset_obj_track_times)                                                                      \
    F(H5Sclose)                                                                                    \
    F(H5Screate_simple)                                                                            \
    F(H5Sget_simple_extent_dims)                                                                   \
    F(H5Sget_simple_extent_ndims)                                                                  \
    F(H5Sget_simple_extent_npoints)                                                                \
    F(H5Sselect_hyperslab)                                                                         \
    F(H5Tclose)                                                                                    \
    F(H5Tcopy)                                                                                     \
    F(H5Tenum_create)                                                                              \
    F(H5Tenum_insert)                                                                              \
    F(H5Tget_class)                                                                                \
    F(H5Tget_sign)                                                                                 \
    F(H5Tget_size)                                                                                 \
    F(H5Tis_variable_str)                                                                          \
    F(H5Tset_cset)                                                                                 \
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
    F(H5T_NATIVE_INT64_g)                                                                          \
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

/* --- attributes ------------------------------------------------------------------------------- */

/* Writes an attribute of one value, of the type of that in memory.
 * Returned: false if it cannot be written, as for all below */
bool psr_hdf5_put(const struct psr_hdf5 *h, hid_t at, const char *key, hid_t type,
                  const void *value);

/* Writes an array of one dimension, or one value where dim is NULL. */
bool psr_hdf5_put_array(const struct psr_hdf5 *h, hid_t at, const char *key, hid_t type,
                        const hsize_t *dim, const void *value);

/* Texts are in UTF-8 and of any length, as h5py writes them; texts of n >= 1. */
bool psr_hdf5_put_text(const struct psr_hdf5 *h, hid_t at, const char *key, const char *text);
bool psr_hdf5_put_texts(const struct psr_hdf5 *h, hid_t at, const char *key,
                        const char *const *text, size_t n);

/* Names the dimensions of a dataset, as h5py's dims[i].label does. */
bool psr_hdf5_label(const struct psr_hdf5 *h, hid_t data, const char *const *name, size_t n);
#endif

#endif
