# PSR_PSRDADA: finds libpsrdada, the ring buffers of dada://KEY.
#   --with-psrdada=DIR   use the one in DIR, or fail
#   --with-psrdada       find one with pkg-config, or fail
#   --without-psrdada    build without
#   (neither)            find one with pkg-config; build without where there is none
# Sets PSRDADA_CFLAGS, PSRDADA_LIBS, psr_psrdada, yes or no, and the macro HAVE_PSRDADA; adds to LIBS, as
# all that writes a file can write to a ring.
AC_DEFUN([PSR_PSRDADA], [
    AC_ARG_WITH([psrdada],
        [AS_HELP_STRING([--with-psrdada@<:@=DIR|no@:>@],
            [psrdada for ring buffers, dada://KEY (default: use one if pkg-config finds it)])],
        [], [with_psrdada=guess])
    psr_psrdada=no
    AS_CASE([$with_psrdada],
        [no], [],
        [yes|guess], [PKG_CHECK_MODULES([PSRDADA], [psrdada], [psr_psrdada=yes], [psr_psrdada=no])],
        [PSRDADA_CFLAGS="-isystem $with_psrdada/include"
         PSRDADA_LIBS="-L$with_psrdada/lib -Wl,-rpath,$with_psrdada/lib -lpsrdada"
         psr_psrdada=yes])
    AS_IF([test $psr_psrdada = yes], [
        psr_saved_cppflags=$CPPFLAGS psr_saved_libs=$LIBS
        CPPFLAGS="$CPPFLAGS $PSRDADA_CFLAGS" LIBS="$PSRDADA_LIBS $LIBS"
        AC_CHECK_HEADER([dada_hdu.h], [], [psr_psrdada=no])
        AC_CHECK_FUNC([dada_hdu_create], [], [psr_psrdada=no])
        CPPFLAGS=$psr_saved_cppflags
        AS_IF([test $psr_psrdada = no], [LIBS=$psr_saved_libs])])
    AS_IF([test $psr_psrdada = yes],
        [AC_DEFINE([HAVE_PSRDADA], [1], [Build dada://KEY])],
        [PSRDADA_CFLAGS= PSRDADA_LIBS=
         AS_CASE([$with_psrdada], [no|guess], [],
            [AC_MSG_ERROR([--with-psrdada=$with_psrdada: no dada_hdu.h or libpsrdada there])])])
    AC_SUBST([PSRDADA_CFLAGS])
    AC_SUBST([PSRDADA_LIBS])
])
