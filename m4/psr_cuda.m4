# PSR_CUDA: finds nvcc and the static CUDA runtime.
#   --with-cuda=DIR   use the toolkit in DIR, or fail
#   --with-cuda       find one, or fail
#   --without-cuda    build without
#   (neither)         find one; build without where there is none, saying why
#   --with-cuda-arch  LIST, all or native; without it the GPUs that the driver shows, else, with --with-cuda, all, else
#                     no CUDA: nvcc for all architectures takes ten times as long as everything else
# Sets NVCC, NVCC_ARCH_FLAGS, NVCC_SIZE_FLAGS, NVCC_WARN_FLAGS, CUDA_CPPFLAGS, CUDA_LIBS, CUDA_STDCXX, the conditional HAVE_CUDA and
# the macro HAVE_CUDA; CUBLAS_LIBS and the conditional HAVE_CUBLAS, for comparisons only.  The runtime
# is linked statically, so that what is built runs on machines that have neither toolkit nor driver.
AC_DEFUN([PSR_CUDA], [
    AC_REQUIRE([AC_CANONICAL_HOST])
    AC_REQUIRE([PSR_WARNINGS])
    AC_ARG_WITH([cuda],
        [AS_HELP_STRING([--with-cuda@<:@=DIR|no@:>@],
            [CUDA toolkit to build the GPU backends with, or no (default: use one if it is found)])],
        [], [with_cuda=guess])
    AC_ARG_WITH([cuda-arch],
        [AS_HELP_STRING([--with-cuda-arch=LIST],
            [GPU architectures, such as sm_80,sm_90; native: of the GPUs of this machine; all: sm_70 to the newest
             that nvcc knows, and PTX for later ones (default: those of the GPUs of this machine; without any, no
             CUDA, or all with --with-cuda)])],
        [], [with_cuda_arch=here])
    AC_ARG_ENABLE([lineinfo],
        [AS_HELP_STRING([--enable-lineinfo],
            [tell profilers the lines of kernels (triples their size)])])
    AC_ARG_VAR([NVCC], [CUDA compiler])

    psr_cuda_dir=
    AS_CASE([$with_cuda],
        [no], [],
        [yes|guess], [
            AC_PATH_PROG([NVCC], [nvcc], [], [$PATH:/usr/local/cuda/bin:/opt/cuda/bin])
            AS_IF([test -n "$NVCC"],
                [psr_cuda_dir=$(dirname "$(dirname "$(readlink -f "$NVCC")")")])],
        [psr_cuda_dir=$with_cuda
         NVCC=${NVCC:-$with_cuda/bin/nvcc}])

    psr_cuda=no
    psr_cuda_why="no nvcc in PATH or /usr/local/cuda/bin"
    AS_IF([test -n "$psr_cuda_dir"], [PSR_CUDA_HERE])
    AS_IF([test -n "$psr_cuda_dir" && test $with_cuda_arch != none], [PSR_CUDA_TRY])
    AS_IF([test $psr_cuda = yes],
        [AC_DEFINE([HAVE_CUDA], [1], [Build the CUDA backends])
         psr_cuda_summary="$NVCC, ${psr_archs:-its own choice of architecture}"],
        [AS_CASE([$with_cuda],
            [no], [psr_cuda_summary=no],
            [guess], [
                AC_MSG_NOTICE([building for the CPU only: $psr_cuda_why])
                psr_cuda_summary="no: $psr_cuda_why"],
            [AC_MSG_ERROR([--with-cuda=$with_cuda: $psr_cuda_why])])
         NVCC_ARCH_FLAGS=
         CUDA_CPPFLAGS=
         CUDA_LIBS=
         CUDA_STDCXX=
         CUBLAS_LIBS=])
    AM_CONDITIONAL([HAVE_CUDA], [test $psr_cuda = yes])
    AM_CONDITIONAL([HAVE_CUBLAS], [test -n "$CUBLAS_LIBS"])
    AC_SUBST([psr_cuda_summary])
    AC_SUBST([CUBLAS_LIBS])
    AC_SUBST([NVCC_ARCH_FLAGS])
    AC_SUBST([NVCC_SIZE_FLAGS])
    AC_SUBST([NVCC_WARN_FLAGS])
    AC_SUBST([CUDA_CPPFLAGS])
    AC_SUBST([CUDA_LIBS])
    AC_SUBST([CUDA_STDCXX])
])

# with_cuda_arch of the GPUs here, where none was given.
AC_DEFUN([PSR_CUDA_HERE], [
    psr_arch_given=no
    AS_IF([test $with_cuda_arch != here], [psr_arch_given=yes], [
        with_cuda_arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
            sed -n 's/^ *\([[0-9]][[0-9]]*\)\.\([[0-9]]\) *$/sm_\1\2/p' | sort -u | paste -sd, -)
        AS_IF([test -z "$with_cuda_arch"], [AS_CASE([$with_cuda],
            [guess], [with_cuda_arch=none
                psr_cuda_why="no GPU is seen here (--with-cuda-arch=all adds CUDA for every GPU, =sm_90 for one kind)"],
            [with_cuda_arch=all])])])
])

# Tries NVCC and psr_cuda_dir.  Sets psr_cuda=yes and the variables, or psr_cuda_why.
AC_DEFUN([PSR_CUDA_TRY], [
    PSR_CUDA_RUNTIME
    PSR_CUDA_ARCH
    AC_MSG_CHECKING([whether $NVCC works])
    echo '__global__ void k() {}' >conftest.cu
    AS_IF([test ! -x "$NVCC"],
            [psr_cuda_why="there is no $NVCC"],
        ["$NVCC" $NVCC_ARCH_FLAGS -c conftest.cu -o conftest.cu.o >&AS_MESSAGE_LOG_FD 2>&1],
            [psr_cuda_why=],
        [test "$with_cuda_arch" != all],
            [psr_cuda_why="$NVCC does not compile for $with_cuda_arch; it knows $(echo $psr_known)"
             AS_IF([test "$with_cuda" = guess && test $psr_arch_given = yes], [with_cuda=yes])],
        [psr_cuda_why="$NVCC does not compile a kernel; see config.log"])
    rm -f conftest.cu conftest.cu.o
    AS_IF([test -n "$psr_cuda_why"], [AC_MSG_RESULT([no])], [
        AC_MSG_RESULT([yes])
        AS_IF([test -z "$psr_cuda_lib"],
            [psr_cuda_why="$psr_cuda_dir has no libcudart_static.a"],
            [PSR_CUDA_LINK])])
])

# Where the static runtime and its headers are.
AC_DEFUN([PSR_CUDA_RUNTIME], [
    psr_cuda_lib=
    for psr_lib in "$psr_cuda_dir"/lib64 "$psr_cuda_dir"/lib "$psr_cuda_dir"/targets/*/lib \
                   /usr/lib/"$($CC -print-multiarch 2>/dev/null)"; do
        AS_IF([test -f "$psr_lib/libcudart_static.a"], [psr_cuda_lib=$psr_lib; break])
    done
    AS_IF([test -f "$psr_cuda_dir/include/cuda_runtime_api.h"],
        [CUDA_CPPFLAGS="-isystem $psr_cuda_dir/include"])
    CUDA_LIBS="-L$psr_cuda_lib -lcudart_static -lstdc++ -lpthread -ldl -lrt"
    # In the library for itself, or a program waits for it at its start.
    CUDA_STDCXX=-lstdc++
    AS_IF([test -f "$($CC -print-file-name=libstdc++.a)"], [CUDA_STDCXX=-Wl,-l:libstdc++.a])
    CUBLAS_LIBS=
    AS_IF([test -f "$psr_cuda_lib/libcublas.so" && test -f "$psr_cuda_dir/include/cublas_v2.h"],
        [CUBLAS_LIBS="-L$psr_cuda_lib -Wl,-rpath,$psr_cuda_lib -lcublas"])
])

# A C program must find headers of nvcc's own version and link with the runtime.
AC_DEFUN([PSR_CUDA_LINK], [
    psr_nvcc_major=$("$NVCC" --version | sed -n 's/.*release \([[0-9]]*\)\..*/\1/p')
    psr_save_CPPFLAGS=$CPPFLAGS psr_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS" LIBS="$CUDA_LIBS $LIBS"
    AC_MSG_CHECKING([for the CUDA $psr_nvcc_major runtime])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([
#include <cuda_runtime_api.h>
#if CUDART_VERSION / 1000 != $psr_nvcc_major
#error the headers and nvcc are of different versions
#endif
        ], [int n; return cudaGetDeviceCount(&n);])],
        [psr_cuda=yes],
        [psr_cuda_why="the headers or libraries by $NVCC are not those of CUDA $psr_nvcc_major; see config.log"])
    AC_MSG_RESULT([$psr_cuda])
    CPPFLAGS=$psr_save_CPPFLAGS LIBS=$psr_save_LIBS
])

# NVCC_ARCH_FLAGS from --with-cuda-arch: machine code for each, and PTX of the newest.  The default
# leaves out what is only found in Tegra boards, unless this is one.
AC_DEFUN([PSR_CUDA_ARCH], [
    psr_known=$("$NVCC" --list-gpu-code 2>/dev/null | sed -n 's/^\(sm_[[0-9]]*\)$/\1/p' | sort -t_ -k2n)
    AS_CASE([$host_cpu], [aarch64*], [psr_tegra=' '], [psr_tegra=' sm_72 sm_87 sm_88 sm_101 sm_110 '])
    AS_CASE([$with_cuda_arch],
        [all], [psr_archs=$(echo "$psr_known" | awk -F_ -v skip="$psr_tegra" '$[]2 >= 70 && skip !~ " " $[]0 " "')],
        [psr_archs=$(echo "$with_cuda_arch" | tr ',' '\n')])
    psr_archs=$(echo $psr_archs)
    NVCC_ARCH_FLAGS=
    AS_IF([test "$with_cuda_arch" = native], [NVCC_ARCH_FLAGS=-arch=native], [
        for psr_arch in $psr_archs; do
            psr_number=$(echo "$psr_arch" | sed 's/^sm_//')
            NVCC_ARCH_FLAGS="$NVCC_ARCH_FLAGS -gencode arch=compute_$psr_number,code=sm_$psr_number"
        done
        AS_IF([test -n "$psr_archs"],
            [NVCC_ARCH_FLAGS="$NVCC_ARCH_FLAGS -gencode arch=compute_$psr_number,code=compute_$psr_number"])])
    AS_IF([test "x$enable_lineinfo" = xyes], [NVCC_SIZE_FLAGS=-lineinfo])
    # nvcc 12.8 on; drivers unpack it from 550 on.
    AS_IF(["$NVCC" --help 2>/dev/null | grep -q -e --compress-mode],
        [NVCC_SIZE_FLAGS="$NVCC_SIZE_FLAGS --compress-mode=size"])
    AS_IF([test "x$enable_werror" = xyes], [NVCC_WARN_FLAGS="-Werror all-warnings"])
])
