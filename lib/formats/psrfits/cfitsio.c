/* Loads cfitsio with the first FITS file: it brings some 30 libraries (curl, Kerberos, LDAP), for which a program that
 * reads none would wait at its start. */
#include "psrfits.h"

#include <config.h>
#include <dlfcn.h>
#include <stdbool.h>

#ifdef PSR_CFITSIO_SO
#define STRING_(x) #x
#define STRING(x)  STRING_(x) /* of what x, a macro of fitsio.h, stands for */

/* Unloading is left out: some of the libraries do not outlive it. */
psr_status psr_cfitsio_load(struct psr_cfitsio *c, const char *path, psr_err *err)
{
    void *library = dlopen(PSR_CFITSIO_SO, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    bool complete = library != NULL;
#define TAKE(name)                                                                                 \
    complete = complete && (*(void **)&c->name = dlsym(library, STRING(fits_##name)));
    PSR_CFITSIO_FUNCTIONS(TAKE)
    if (complete)
        return dlclose(library), PSR_OK;
    psr_fail(err, PSR_EUNSUPPORTED, "%s: FITS files need cfitsio: %s", path, dlerror());
    if (library)
        dlclose(library);
    return PSR_EUNSUPPORTED;
}
#else
psr_status psr_cfitsio_load(struct psr_cfitsio *c, const char *path, psr_err *err)
{
    (void)path, (void)err;
#define TAKE(name) .name = fits_##name,
    *c = (struct psr_cfitsio){PSR_CFITSIO_FUNCTIONS(TAKE)};
    return PSR_OK;
}
#endif

/* --- errors ----------------------------------------------------------------------------------- */

static psr_status status_code(int status)
{
    switch (status) {
    case MEMORY_ALLOCATION:
        return PSR_ENOMEM;
    case FILE_NOT_OPENED:
    case READ_ERROR:
    case SEEK_ERROR:
        return PSR_EIO;
    default:
        return PSR_EFORMAT;
    }
}

psr_status psr_fits_fail(const struct psr_fits *f, int status, const char *what, psr_err *err)
{
    char text[FLEN_STATUS], detail[FLEN_ERRMSG] = "";
    f->lib.get_errstatus(status, text);
    f->lib.read_errmsg(detail);
    f->lib.clear_errmsg();
    return psr_fail(err, status_code(status), "%s: %s: %s (cfitsio %d)%s%s", f->path, what, text,
                    status, *detail ? ": " : "", detail);
}
