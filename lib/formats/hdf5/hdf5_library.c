/* Loads HDF5, and writes attributes. */
#include "hdf5_library.h"

#ifdef PSR_HDF5_SO
#include <dlfcn.h>

/* Plugins look for HDF5's functions among those of the program.  At its exit HDF5 would write what it could not write
 * before, of a file that is gone, and crash; it says no to a second request. */
psr_status psr_hdf5_load(struct psr_hdf5 *h, const char *path, psr_err *err)
{
    void *library = dlopen(PSR_HDF5_SO, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    bool complete = library != NULL;
#define TAKE(name) complete = complete && (*(void **)&h->name = dlsym(library, #name));
    PSR_HDF5_FUNCTIONS(TAKE)
    PSR_HDF5_VALUES(TAKE)
#undef TAKE
    psr_status st = PSR_OK;
    if (!complete)
        st = psr_fail(err, PSR_EUNSUPPORTED, "%s: HDF5 files need HDF5: %s", path, dlerror());
    else if (((void)h->H5dont_atexit(), h->H5open()) < 0 ||
             h->H5Eset_auto2(H5E_DEFAULT, NULL, NULL) < 0)
        st = psr_fail(err, PSR_EUNSUPPORTED, "%s: HDF5 does not start", path);
    if (library)
        dlclose(library);
    return st;
}

/* --- attributes ------------------------------------------------------------------------------- */

bool psr_hdf5_put_array(const struct psr_hdf5 *h, hid_t at, const char *key, hid_t type,
                        const hsize_t *dim, const void *value)
{
    const hid_t space = h->H5Screate_simple(dim ? 1 : 0, dim, NULL),
                attribute = h->H5Acreate2(at, key, type, space, H5P_DEFAULT, H5P_DEFAULT);
    const bool done = attribute >= 0 && h->H5Awrite(attribute, type, value) >= 0;
    if (attribute >= 0)
        h->H5Aclose(attribute);
    h->H5Sclose(space);
    return done;
}

bool psr_hdf5_put(const struct psr_hdf5 *h, hid_t at, const char *key, hid_t type,
                  const void *value)
{
    return psr_hdf5_put_array(h, at, key, type, NULL, value);
}

/* n = 0: one text, which is no array. */
static bool put_texts(const struct psr_hdf5 *h, hid_t at, const char *key, H5T_cset_t cset,
                      const char *const *text, size_t n)
{
    const hsize_t dim[] = {n};
    const hid_t type = h->H5Tcopy(*h->H5T_C_S1_g);
    const bool done = h->H5Tset_size(type, H5T_VARIABLE) >= 0 && h->H5Tset_cset(type, cset) >= 0 &&
                      psr_hdf5_put_array(h, at, key, type, n ? dim : NULL, text);
    h->H5Tclose(type);
    return done;
}

bool psr_hdf5_put_text(const struct psr_hdf5 *h, hid_t at, const char *key, const char *text)
{
    return put_texts(h, at, key, H5T_CSET_UTF8, &text, 0);
}

bool psr_hdf5_put_texts(const struct psr_hdf5 *h, hid_t at, const char *key,
                        const char *const *text, size_t n)
{
    return put_texts(h, at, key, H5T_CSET_UTF8, text, n);
}

bool psr_hdf5_label(const struct psr_hdf5 *h, hid_t data, const char *const *name, size_t n)
{
    return put_texts(h, data, "DIMENSION_LABELS", H5T_CSET_ASCII, name, n);
}
#endif
