# PSR_SHARED_NAME(NAME, CFLAGS, LIBS, INCLUDE, CALL): the name under which a library's shared object is loaded: psr_shared_name,
# empty where a program links it whole.
AC_DEFUN([PSR_SHARED_NAME], [
    AC_CHECK_TOOL([OBJDUMP], [objdump], [:])
    AC_MSG_CHECKING([for the name of the shared library of $1])
    psr_save_LIBS=$LIBS psr_save_CPPFLAGS=$CPPFLAGS psr_shared_name=
    LIBS="$3 $LIBS" CPPFLAGS="$CPPFLAGS $2"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([$4], [$5])],
        [psr_shared_name=$($OBJDUMP -p conftest$EXEEXT 2>/dev/null | awk '$[]1 == "NEEDED" && $[]2 ~ /$1/ { print $[]2 }')],
        [AC_MSG_ERROR([a program with $1 ($3) does not link; see config.log])])
    LIBS=$psr_save_LIBS CPPFLAGS=$psr_save_CPPFLAGS
    AC_MSG_RESULT([${psr_shared_name:-none: it is linked}])
])

# PSR_CFITSIO: finds cfitsio, and the name under which its shared library is loaded with the first FITS file: PSR_CFITSIO_SO.
# Where there is only a static one it is linked.
# Sets CFITSIO_CFLAGS, CFITSIO_LIBS, and CFITSIO_LINKED, which is CFITSIO_LIBS where it is linked and empty else.
AC_DEFUN([PSR_CFITSIO], [
    PKG_CHECK_MODULES([CFITSIO], [cfitsio])
    AC_SEARCH_LIBS([dlopen], [dl])
    PSR_SHARED_NAME([cfitsio], [$CFITSIO_CFLAGS], [$CFITSIO_LIBS], [#include <fitsio.h>], [float v; fits_get_version(&v);])
    AS_IF([test -n "$psr_shared_name"],
        [AC_DEFINE_UNQUOTED([PSR_CFITSIO_SO], ["$psr_shared_name"], [Shared library of cfitsio, loaded with the first FITS file])
         CFITSIO_LINKED= CFITSIO_PC=],
        [CFITSIO_LINKED=$CFITSIO_LIBS CFITSIO_PC=cfitsio])
    AC_SUBST([CFITSIO_LINKED])
    AC_SUBST([CFITSIO_PC])
])
