# PSR_WARNINGS: WARN_CFLAGS, the warnings the code is kept free of; --enable-werror makes them errors.
AC_DEFUN([PSR_WARNINGS], [
    AC_REQUIRE([AC_OPENMP])
    AC_ARG_ENABLE([werror],
        [AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors])],
        [], [enable_werror=no])
    WARN_CFLAGS="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes -Wmissing-prototypes"
    AS_IF([test -z "$OPENMP_CFLAGS"], [WARN_CFLAGS="$WARN_CFLAGS -Wno-unknown-pragmas"])
    AS_IF([test "x$enable_werror" = xyes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
    AC_SUBST([WARN_CFLAGS])
])
