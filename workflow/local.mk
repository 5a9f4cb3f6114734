# A table of files on Snakemake.

nobase_dist_pkgdata_DATA = \
	workflow/Snakefile \
	workflow/common.smk \
	workflow/config.schema.yaml \
	workflow/nextflow/psrkit.nf \
	workflow/profiles/laptop/config.yaml \
	workflow/profiles/slurm-7/config.yaml \
	workflow/profiles/slurm/config.yaml \
	workflow/scripts/inject.py \
	workflow/scripts/inspect.py \
	workflow/scripts/overview.py \
	workflow/scripts/search.py \
	workflow/table.schema.yaml

nobase_dist_pkgdata_SCRIPTS = workflow/sbatch/psrkit.sbatch

# Packages.  `make deb` builds Debian's in packages/, from the tarball; PSRKIT_CUDA_ARCH as in debian/rules.
PACKAGING = \
	workflow/packages/check_cross.sh \
	workflow/packages/check_packages.sh \
	workflow/packages/conda/recipe.yaml \
	workflow/packages/conda/render.py \
	workflow/packages/conda/variants.yaml \
	workflow/packages/containers/Containerfile \
	workflow/packages/containers/psrkit.def \
	workflow/packages/debian/changelog \
	workflow/packages/debian/control \
	workflow/packages/debian/copyright \
	workflow/packages/debian/libpsrkit-dev.examples \
	workflow/packages/debian/libpsrkit-dev.install \
	workflow/packages/debian/libpsrkit1.install \
	workflow/packages/debian/libpsrkit1.symbols \
	workflow/packages/debian/not-installed \
	workflow/packages/debian/overrides \
	workflow/packages/debian/psrkit-doc.docs \
	workflow/packages/debian/psrkit.install \
	workflow/packages/debian/rules \
	workflow/packages/debian/source/format \
	workflow/packages/debian/tests/control \
	workflow/packages/debian/tests/library \
	workflow/packages/debian/tests/presto-names \
	workflow/packages/debian/tests/search
EXTRA_DIST += $(PACKAGING)

# The project has no mail address, which lintian calls an error.
deb: dist
	@command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null || { echo 'make deb needs dpkg-dev and debhelper' >&2; exit 1; }
	@rm -rf packages && $(MKDIR_P) packages
	@cp $(distdir).tar.gz packages/psrkit_$(PACKAGE_VERSION).orig.tar.gz
	@cd packages && tar -xf psrkit_$(PACKAGE_VERSION).orig.tar.gz
	@cp -R $(srcdir)/workflow/packages/debian packages/$(distdir)/ && chmod -R u+w packages/$(distdir)/debian
	cd packages/$(distdir) && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=`nproc`" dpkg-buildpackage -us -uc
	@rm -rf packages/$(distdir)
	@if command -v lintian >/dev/null; then cd packages && lintian --allow-root --fail-on error,warning \
	    --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog psrkit_*.changes; \
	else echo 'make deb: lintian is not installed, and did not run'; fi
	@ls -l packages/*.deb

# Installs them in a bare userland, made by mmdebstrap or unpacked from BASE=FILE.tar, and runs their tests there.
check-packages: deb
	$(srcdir)/workflow/packages/check_packages.sh packages $(BASE)

# For other processors and systems, as far as one can see here.
check-cross: dist
	$(srcdir)/workflow/packages/check_cross.sh $(distdir).tar.gz

# What a release publishes, in release/: tarball, packages, the section of NEWS, checksums.  doc/releasing.md has the steps.
release: deb
	@rm -rf release && $(MKDIR_P) release
	@cp $(distdir).tar.gz packages/*.deb release/
	@awk '/^[0-9]+[.][0-9.]+$$/ { mine = $$0 == "$(PACKAGE_VERSION)"; next } mine' $(srcdir)/NEWS >release/NEWS-$(PACKAGE_VERSION)
	@test -s release/NEWS-$(PACKAGE_VERSION) || { echo 'NEWS has no section $(PACKAGE_VERSION)' >&2; exit 1; }
	@cd release && sha256sum * >SHA256SUMS && cat SHA256SUMS
.PHONY: deb check-packages check-cross release
