# PSR_SANITIZE: --enable-sanitize builds everything with AddressSanitizer and UndefinedBehaviourSanitizer.
AC_DEFUN([PSR_SANITIZE], [
    AC_ARG_ENABLE([sanitize],
        [AS_HELP_STRING([--enable-sanitize], [build with address and undefined-behaviour sanitizers])],
        [], [enable_sanitize=no])
    SANITIZE_CFLAGS=
    AS_IF([test "x$enable_sanitize" = xyes],
        [SANITIZE_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g"])
    AC_SUBST([SANITIZE_CFLAGS])
    AM_CONDITIONAL([SANITIZE], [test "x$enable_sanitize" = xyes])
])
