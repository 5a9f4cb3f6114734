/* Formats cfitsio's errors. */
#include "psrfits.h"

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
