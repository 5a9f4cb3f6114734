# CUDA kernels: one family per file, each with a C header for its launchers.  Automake knows nothing of
# .cu, so the files and the headers they depend on are named here.

CUDA_FILES = \
	kernels/beam_any.cu \
	kernels/beam_factors.cu \
	kernels/beam_form.cu \
	kernels/beam_give.cu \
	kernels/beam_points.cu \
	kernels/beam_product.cu \
	kernels/beam_refine.cu \
	kernels/beam_tiles.cu \
	kernels/cornerturn.cu \
	kernels/dedisp.cu \
	kernels/dedisp_aim.cu \
	kernels/dedisp_gather.cu \
	kernels/probe.cu \
	kernels/pulscan_norm.cu \
	kernels/pulscan_peaks.cu \
	kernels/pulscan_sieve.cu \
	kernels/redden.cu \
	kernels/singlepulse_boxcar.cu \
	kernels/singlepulse_level.cu
CUDA_INCLUDES = \
	kernels/beam.h \
	kernels/beam_fft.cuh \
	kernels/beam_level.cuh \
	kernels/beam_weight.cuh \
	kernels/beam_words.cuh \
	kernels/cornerturn.h \
	kernels/dedisp.h \
	kernels/dedisp_cta.cuh \
	kernels/dedisp_lag.cuh \
	kernels/dedisp_stage.h \
	kernels/dedisp_tile.cuh \
	kernels/half.cuh \
	kernels/probe.h \
	kernels/ptx.cuh \
	kernels/pulscan.h \
	kernels/pulscan_sums.cuh \
	kernels/redden.h \
	kernels/select.cuh \
	kernels/signif_device.cuh \
	kernels/singlepulse.h
EXTRA_DIST += $(CUDA_FILES) $(CUDA_INCLUDES) kernels/NOTES.md

NVCCFLAGS = -O3 -std=c++17 -lineinfo $(NVCC_ARCH_FLAGS) $(NVCC_WARN_FLAGS) -Xcompiler -fPIC,-Wall

if HAVE_CUDA
KERNEL_OBJECTS = $(CUDA_FILES:.cu=.$(OBJEXT))
else
KERNEL_OBJECTS =
endif
CLEANFILES += $(KERNEL_OBJECTS)

psr_v_nvcc = $(psr_v_nvcc_@AM_V@)
psr_v_nvcc_ = $(psr_v_nvcc_@AM_DEFAULT_V@)
psr_v_nvcc_0 = @echo "  NVCC    " $@;

SUFFIXES = .cu
.cu.$(OBJEXT):
	@$(MKDIR_P) $(@D)
	$(psr_v_nvcc)$(NVCC) $(NVCCFLAGS) $(kernel_flags) -I$(top_srcdir)/lib -I$(top_srcdir)/kernels -c -o $@ $<

# The host has the same bits.
kernels/singlepulse_boxcar.$(OBJEXT) kernels/singlepulse_level.$(OBJEXT): kernel_flags = -fmad=false
kernels/singlepulse_boxcar.$(OBJEXT) kernels/singlepulse_level.$(OBJEXT): lib/search/pulse_math.h

# Other architectures or another compiler make other objects.
$(KERNEL_OBJECTS): $(CUDA_INCLUDES) kernels/nvcc-flags
kernels/nvcc-flags: Makefile
	@$(MKDIR_P) $(@D)
	@echo '$(NVCC) $(NVCCFLAGS)' >$@.new; if cmp -s $@.new $@; then rm -f $@.new; else mv -f $@.new $@; fi
CLEANFILES += kernels/nvcc-flags
