/* The options of gpufold: what they stand for, and what they may not be together. */
#include "gpufold.h"

#include "base/tool.h"
#include <string.h>

/* The steps that -fine, -coarse and -slow stand for, as prepfold sets them. */
static void set_steps(struct gpufold_options *o)
{
    struct psr_folder_desc *d = &o->run;
    if (o->slow && !o->nbin)
        o->nbin = 100;
    if (o->fine || o->slow) {
        d->ndmfact = d->dmstep = d->npfact = d->pstep = 1;
        d->pdstep = 2;
    }
    if (o->coarse) {
        d->npfact = 4;
        d->pstep = d->pstep == 1 ? 2 : 3;
        d->pdstep = d->pdstep == 2 ? 4 : 6;
    }
    d->searchpdd |= o->searchfdd;
}

/* LO,HI */
static void set_dmrange(struct gpufold_options *o, const struct cli *tool)
{
    const char *comma = o->dmrange ? strchr(o->dmrange, ',') : NULL;
    char lo[32];
    psr_err err;
    if (!o->dmrange)
        return;
    if (!comma || comma - o->dmrange >= (long)sizeof lo)
        cli_usage_error(tool, "-dmrange %s: must be LO,HI", o->dmrange);
    memcpy(lo, o->dmrange, (size_t)(comma - o->dmrange));
    lo[comma - o->dmrange] = '\0';
    if (psr_parse_double("-dmrange", lo, 0, 1e6, &o->run.dm_lo, &err) ||
        psr_parse_double("-dmrange", comma + 1, 0, 1e6, &o->run.dm_hi, &err))
        cli_usage_error(tool, "%s", err.msg);
    if (!(o->run.dm_lo < o->run.dm_hi))
        cli_usage_error(tool, "-dmrange %s: must ascend", o->dmrange);
    if (!o->run.refine)
        cli_usage_error(tool, "-dmrange needs -refine");
}

/* A pipe is read once, and an ephemeris is known. */
static void check_harmonics(const struct gpufold_options *o, const struct cli *tool, bool is_file)
{
    if (o->harmonics && (!is_file || o->parfile || o->binary))
        cli_usage_error(tool, "-harmonics needs a file, and excludes -par and -bin");
}

static void check_candidate(const struct gpufold_options *o, const struct cli *tool)
{
    const int ways = (o->p > 0) + (o->f > 0) + (o->accelfile != NULL) + (o->candfile != NULL) +
                     (o->parfile != NULL);
    if (ways != 1)
        cli_usage_error(tool, "one of -p, -f, -accelfile, -cands and -par is needed");
    if (o->ncands && !o->accelfile && !o->candfile)
        cli_usage_error(tool, "-ncands needs a list: -cands or -accelfile");
    if (o->accelcand && !o->accelfile)
        cli_usage_error(tool, "-accelcand needs -accelfile");
    if (o->pfact != 1 && o->ffact != 1)
        cli_usage_error(tool, "-pfact and -ffact exclude each other");
    if (o->binary && !(o->pb > 0 && o->asini > 0 && o->to > 0))
        cli_usage_error(tool, "-bin needs -pb, -x and -To above 0");
    if (!o->binary && (o->pb != 0 || o->asini != 0 || o->to != 0))
        cli_usage_error(tool, "-pb, -x and -To need -bin");
    if (o->parfile && (o->run.topo || o->binary || o->pfact != 1 || o->ffact != 1))
        cli_usage_error(tool, "-par excludes -topo, -bin, -pfact and -ffact");
    if ((o->accelfile || o->candfile || o->parfile) &&
        (o->pd != 0 || o->pdd != 0 || o->fd != 0 || o->fdd != 0))
        cli_usage_error(tool, "-pd, -pdd, -fd and -fdd belong to -p or -f");
}

int gpufold_options_parse(struct gpufold_options *o, struct cli *tool, int argc, char **argv)
{
    struct cli_table table = {.n = 0};
    *o = (struct gpufold_options){.clean = "none", .pfact = 1, .ffact = 1, .dm = -1};
    psr_folder_defaults(&o->run);
    gpufold_fill_table(&table, o);
    *tool = (struct cli){
        .name = "gpufold",
        .operands = "[OPTION]... FILE...",
        .examples = "gpufold -p 0.0331 -dm 56.7 obs.fil\n"
                    "gpufold -cands cands.sift -mask obs_rfifind.mask obs.fil\n"
                    "gpufold -par pulsar.par obs.fits\n",
        .summary = "Fold pulsar candidates in one pass over telescope data (SIGPROC filterbank, "
                   "PSRFITS, sub-bands, .dat, .tim), search around each, into PRESTO's .pfd.",
        .options = table.option,
        .noptions = table.n,
    };
    const bool is_prepfold =
        cli_is_run_as(argv[0], "prepfold") || cli_is_run_as(argv[0], "prepfold_multi");
    const int n = cli_parse(tool, argc, argv);
    if (n < 1)
        cli_usage_error(tool, "no input given");
    set_steps(o);
    check_candidate(o, tool);
    if (o->filterbank && o->psrfits)
        cli_usage_error(tool, "-filterbank and -psrfits exclude each other");
    bool is_pipe = false, is_stream = false;
    for (int i = 1; i <= n; i++) {
        is_pipe |= !strcmp(argv[i], "-");
        is_stream |= strstr(argv[i], "://") != NULL;
    }
    if ((is_pipe || is_stream) && o->resume)
        cli_usage_error(tool, "-resume needs a file, which it can examine");
    if ((is_pipe || is_stream) && !o->root)
        cli_usage_error(tool, "%s needs -o", is_pipe ? "standard input" : argv[1]);
    set_dmrange(o, tool);
    check_harmonics(o, tool, !is_pipe && !is_stream);
    if (is_pipe && o->candfile && !strcmp(o->candfile, "-"))
        cli_usage_error(tool, "standard input cannot be both the data and the list");
    if (!(o->run.start < o->run.end))
        cli_usage_error(tool, "-start %g must be below -end %g", o->run.start, o->run.end);
    o->run.presto = is_prepfold || o->compat;
    if (o->compat && strcmp(o->compat, "presto") != 0)
        cli_usage_error(tool, "-compat: '%s' is not presto", o->compat);
    o->run.clean_auto = cli_parse_clean(tool, o->clean);
    if (o->run.clean_auto && o->run.mask)
        cli_usage_error(tool, "-clean auto finds what a mask would tell: not with -mask");
    o->run.input = o->filterbank ? PSR_INPUT_SIGPROC
                   : o->psrfits  ? PSR_INPUT_PSRFITS
                                 : PSR_INPUT_AUTO;
    o->run.pols = cli_parse_state(tool, o->state);
    if (o->accelfile && !o->accelcand)
        o->accelcand = "all";
    return n;
}
