# PSR_CFITSIO: finds cfitsio, and the name under which its shared library is loaded with the first FITS file: PSR_CFITSIO_SO.
# Where there is only a static one it is linked.
# Sets CFITSIO_CFLAGS, CFITSIO_LIBS, and CFITSIO_LINKED, which is CFITSIO_LIBS where it is linked and empty else.
AC_DEFUN([PSR_CFITSIO], [
    PKG_CHECK_MODULES([CFITSIO], [cfitsio])
    AC_SEARCH_LIBS([dlopen], [dl])
    AC_CHECK_TOOL([OBJDUMP], [objdump], [:])
    AC_MSG_CHECKING([for the name of cfitsio's shared library])
    psr_save_LIBS=$LIBS psr_save_CPPFLAGS=$CPPFLAGS psr_cfitsio_so=
    LIBS="$CFITSIO_LIBS $LIBS" CPPFLAGS="$CPPFLAGS $CFITSIO_CFLAGS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([#include <fitsio.h>], [float v; fits_get_version(&v);])],
        [psr_cfitsio_so=$($OBJDUMP -p conftest$EXEEXT 2>/dev/null | awk '$[]1 == "NEEDED" && $[]2 ~ /cfitsio/ { print $[]2 }')],
        [AC_MSG_ERROR([a program with cfitsio ($CFITSIO_LIBS) does not link; see config.log])])
    LIBS=$psr_save_LIBS CPPFLAGS=$psr_save_CPPFLAGS
    AC_MSG_RESULT([${psr_cfitsio_so:-none: it is linked}])
    AS_IF([test -n "$psr_cfitsio_so"],
        [AC_DEFINE_UNQUOTED([PSR_CFITSIO_SO], ["$psr_cfitsio_so"], [Shared library of cfitsio, loaded with the first FITS file])
         CFITSIO_LINKED= CFITSIO_PC=],
        [CFITSIO_LINKED=$CFITSIO_LIBS CFITSIO_PC=cfitsio])
    AC_SUBST([CFITSIO_LINKED])
    AC_SUBST([CFITSIO_PC])
])
