# PSR_SANITIZE:
#   --enable-sanitize          builds everything with AddressSanitizer and UndefinedBehaviorSanitizer
#   --enable-sanitize=thread   with ThreadSanitizer, to which clang's OpenMP says what it synchronises (by
#                              libarcher.so); with gcc's, parallel loops look like races
# Sets SANITIZE_CFLAGS and the conditional SANITIZE.
AC_DEFUN([PSR_SANITIZE], [
    AC_ARG_ENABLE([sanitize],
        [AS_HELP_STRING([--enable-sanitize@<:@=thread@:>@],
            [build with address and undefined-behaviour sanitizers, or with the one for threads (needs CC=clang)])],
        [], [enable_sanitize=no])
    AS_CASE([$enable_sanitize],
        [no], [SANITIZE_CFLAGS=],
        [yes], [SANITIZE_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g"],
        [thread], [SANITIZE_CFLAGS="-fsanitize=thread -fno-omit-frame-pointer -g"],
        [AC_MSG_ERROR([--enable-sanitize=$enable_sanitize: must be yes, no or thread])])
    AC_SUBST([SANITIZE_CFLAGS])
    AM_CONDITIONAL([SANITIZE], [test "x$enable_sanitize" != xno])
])
