# CUDA kernels: one family per file, each with a C header for its launchers.  Automake knows nothing of .cu, so
# the objects and the headers they depend on are named here.

CUDA_FILES =
CUDA_INCLUDES =
EXTRA_DIST += $(CUDA_FILES) $(CUDA_INCLUDES) kernels/NOTES.md

NVCCFLAGS = -O3 -std=c++17 -lineinfo $(NVCC_ARCH_FLAGS) -Xcompiler -fPIC,-Wall

if HAVE_CUDA
KERNEL_OBJECTS = $(CUDA_FILES:.cu=.$(OBJEXT))
else
KERNEL_OBJECTS =
endif
CLEANFILES += $(KERNEL_OBJECTS)

SUFFIXES = .cu
.cu.$(OBJEXT):
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(NVCC) $(NVCCFLAGS) -I$(top_srcdir)/lib -I$(top_srcdir)/kernels -c -o $@ $<

$(KERNEL_OBJECTS): $(CUDA_INCLUDES)
