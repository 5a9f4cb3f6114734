/* cfitsio.h: the functions of cfitsio that are used, by the names of fitsio.h without "fits_" (private). */
#ifndef PSR_FORMATS_PSRFITS_CFITSIO_H
#define PSR_FORMATS_PSRFITS_CFITSIO_H

#include <fitsio.h>
#include <psrkit/status.h>

#define PSR_CFITSIO_FUNCTIONS(F)                                                                   \
    F(clear_errmark)                                                                               \
    F(clear_errmsg)                                                                                \
    F(close_file)                                                                                  \
    F(get_colnum)                                                                                  \
    F(get_errstatus)                                                                               \
    F(get_hdrspace)                                                                                \
    F(get_hduaddrll)                                                                               \
    F(get_keyname)                                                                                 \
    F(get_num_rowsll)                                                                              \
    F(movnam_hdu)                                                                                  \
    F(open_diskfile)                                                                               \
    F(parse_value)                                                                                 \
    F(read_errmsg)                                                                                 \
    F(read_key)                                                                                    \
    F(read_record)                                                                                 \
    F(read_tblbytes)                                                                               \
    F(url_type)                                                                                    \
    F(write_errmark)

struct psr_cfitsio {
#define PSR_CFITSIO_MEMBER(name) __typeof__(fits_##name) *name;
    PSR_CFITSIO_FUNCTIONS(PSR_CFITSIO_MEMBER)
#undef PSR_CFITSIO_MEMBER
};

/* Loads cfitsio, once in a process; it stays.
 * Given:  path   the FITS file that needs it, for the message
 * Status: PSR_EUNSUPPORTED where it is not there */
PSR_MUST_CHECK psr_status psr_cfitsio_load(struct psr_cfitsio *c, const char *path, psr_err *err);

#endif
