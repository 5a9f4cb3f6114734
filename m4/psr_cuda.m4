# PSR_CUDA: finds nvcc and the static CUDA runtime.
#   --with-cuda=DIR   use the toolkit in DIR, or fail
#   --with-cuda       find one, or fail
#   --without-cuda    build without
#   (neither)         find one; build without where there is none
# Sets NVCC, NVCC_ARCH_FLAGS, CUDA_CPPFLAGS, CUDA_LIBS, the conditional HAVE_CUDA and the macro HAVE_CUDA.
AC_DEFUN([PSR_CUDA], [
    AC_ARG_WITH([cuda],
        [AS_HELP_STRING([--with-cuda=DIR], [CUDA toolkit to build the GPU backends with, or no (default: use one if found)])],
        [], [with_cuda=guess])
    AC_ARG_WITH([cuda-arch],
        [AS_HELP_STRING([--with-cuda-arch=LIST], [GPU architectures such as sm_80,sm_90 (default: sm_70 to the newest known, and PTX)])],
        [], [with_cuda_arch=all])
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
    psr_cuda_summary=no
    AS_IF([test -n "$psr_cuda_dir"], [PSR_CUDA_TRY])
    AS_IF([test $psr_cuda = no], [
        AS_CASE([$with_cuda],
            [no], [],
            [guess], [AC_MSG_NOTICE([no CUDA toolkit found: building for the CPU only])],
            [AC_MSG_ERROR([--with-cuda=$with_cuda: no working nvcc with libcudart_static there])])])
    AS_IF([test $psr_cuda = yes], [AC_DEFINE([HAVE_CUDA], [1], [Build the CUDA backends])])
    AM_CONDITIONAL([HAVE_CUDA], [test $psr_cuda = yes])
    AC_SUBST([NVCC_ARCH_FLAGS])
    AC_SUBST([CUDA_CPPFLAGS])
    AC_SUBST([CUDA_LIBS])
])

# Fills the variables from psr_cuda_dir; psr_cuda=yes where a program compiles and the runtime is there.
AC_DEFUN([PSR_CUDA_TRY], [
    for psr_lib in lib64 lib targets/x86_64-linux/lib lib/x86_64-linux-gnu; do
        AS_IF([test -f "$psr_cuda_dir/$psr_lib/libcudart_static.a"],
            [psr_cuda_lib=$psr_cuda_dir/$psr_lib; break])
    done
    AC_MSG_CHECKING([whether $NVCC works])
    echo '__global__ void k() {}' >conftest.cu
    AS_IF([test -n "$psr_cuda_lib" && "$NVCC" -c conftest.cu -o conftest.cu.o >&AS_MESSAGE_LOG_FD 2>&1],
        [psr_cuda=yes
         AC_MSG_RESULT([yes])
         PSR_CUDA_ARCH
         CUDA_CPPFLAGS="-I$psr_cuda_dir/include"
         CUDA_LIBS="$psr_cuda_lib/libcudart_static.a -lstdc++ -lpthread -ldl -lrt"
         psr_cuda_summary="$NVCC, $psr_archs"],
        [AC_MSG_RESULT([no])])
    rm -f conftest.cu conftest.cu.o
])

# NVCC_ARCH_FLAGS from --with-cuda-arch: machine code for each, and PTX of the newest.
AC_DEFUN([PSR_CUDA_ARCH], [
    psr_known=$("$NVCC" --list-gpu-code 2>/dev/null | sed -n 's/^\(sm_[[0-9]]*\)$/\1/p' | sort -t_ -k2n)
    AS_IF([test "$with_cuda_arch" = all],
        [psr_archs=$(echo "$psr_known" | awk -F_ '$[]2 >= 70')],
        [psr_archs=$(echo "$with_cuda_arch" | tr ',' '\n')])
    psr_archs=$(echo $psr_archs)
    NVCC_ARCH_FLAGS=
    for psr_arch in $psr_archs; do
        psr_number=$(echo "$psr_arch" | sed 's/^sm_//')
        NVCC_ARCH_FLAGS="$NVCC_ARCH_FLAGS -gencode arch=compute_$psr_number,code=sm_$psr_number"
    done
    NVCC_ARCH_FLAGS="$NVCC_ARCH_FLAGS -gencode arch=compute_$psr_number,code=compute_$psr_number"
])
