# A table of files on Snakemake.

nobase_dist_pkgdata_DATA = \
	workflow/Snakefile \
	workflow/common.smk \
	workflow/config.schema.yaml \
	workflow/profiles/laptop/config.yaml \
	workflow/profiles/slurm-7/config.yaml \
	workflow/profiles/slurm/config.yaml \
	workflow/scripts/inspect.py \
	workflow/scripts/overview.py \
	workflow/scripts/search.py \
	workflow/table.schema.yaml
