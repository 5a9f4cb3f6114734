/* The commands of the steps. */
#include "psrsearch.h"

#include <stdlib.h>
#include <string.h>

/* The words of a command; the first error stays. */
struct words {
    struct psr_names *to;
    psr_status status;
    psr_err *err;
};

static void add(struct words *w, const char *word)
{
    if (!w->status)
        w->status = word ? psr_names_add(w->to, word, w->err)
                         : psr_fail_nomem(w->err, "the command lines", 256);
}

static void add_flag(struct words *w, const char *option, bool given)
{
    if (given)
        add(w, option);
}

static void add_text(struct words *w, const char *option, const char *value)
{
    if (value) {
        add(w, option);
        add(w, value);
    }
}

static void add_int(struct words *w, const char *option, int64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)value);
    add_text(w, option, digits);
}

static void add_double(struct words *w, const char *option, double value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.10g", value);
    add_text(w, option, digits);
}

/* A name that begins with DIR/ROOT. */
static void add_name(struct words *w, const char *option, const struct psrsearch_plan *p,
                     const char *end)
{
    char *name = psrsearch_join(p->base, end, NULL);
    add(w, option);
    add(w, name);
    free(name);
}

static void add_inputs(struct words *w, const struct psrsearch_options *o)
{
    for (size_t i = 0; i < o->ninput; i++) {
        /* "./-x.fil": a name is no option. */
        char *name = o->input[i][0] == '-' ? psrsearch_join("./", o->input[i], NULL)
                                           : psrsearch_join(o->input[i], NULL);
        add(w, name);
        free(name);
    }
}

/* How observations are read. */
static void add_reading(struct words *w, const struct psrsearch_options *o)
{
    add_flag(w, "-filterbank", o->filterbank);
    add_flag(w, "-psrfits", o->psrfits);
    if (o->if_choice >= 0)
        add_int(w, "-if", o->if_choice);
    add_flag(w, "-noweights", o->no_weights);
    add_flag(w, "-noscales", o->no_scales);
    add_flag(w, "-nooffsets", o->no_offsets);
    add_flag(w, "-invert", o->invert);
    add_text(w, "-ignorechan", o->ignorechan);
}

static void add_limits(struct words *w, const struct psrsearch_options *o, bool memory)
{
    if (o->ncpus)
        add_int(w, "-ncpus", o->ncpus);
    if (o->mem_bytes && memory)
        add_int(w, "-mem", o->mem_bytes);
}

static void add_place(struct words *w, const struct psrsearch_options *o)
{
    add_text(w, "-position", o->position);
    add_text(w, "-site", o->site);
}

static void make_mask(struct words *w, const struct psrsearch_plan *p,
                      const struct psrsearch_options *o)
{
    add(w, "gpurfifind");
    add(w, "-v");
    add_reading(w, o);
    add_limits(w, o, true);
#ifdef PSRSEARCH_PICTURES
    add_name(w, "-plot", p, "_rfifind.png");
#endif
    add_text(w, "-o", p->base);
    add_inputs(w, o);
}

static void make_plan(struct words *w, const struct psrsearch_plan *p,
                      const struct psrsearch_options *o)
{
    add(w, "ddplan");
    add_double(w, "-l", o->lodm);
    add_double(w, "-d", o->hidm);
    if (o->res_ms > 0)
        add_double(w, "-r", o->res_ms);
    add_name(w, "-plan", p, ".plan");
    add_inputs(w, o);
}

static char *search_words(const struct psrsearch_options *o)
{
    char *text = NULL;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    if (!to)
        return NULL;
    fprintf(to, "-search %s -zmax %lld -numharm %lld", o->search, (long long)o->zmax,
            (long long)o->numharm);
    if (o->wmax)
        fprintf(to, " -wmax %lld", (long long)o->wmax);
    if (o->sigma > 0)
        fprintf(to, " -sigma %.10g", o->sigma);
    if (o->flo_hz > 0)
        fprintf(to, " -flo %.10g", o->flo_hz);
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

static void make_search(struct words *w, const struct psrsearch_plan *p,
                        const struct psrsearch_options *o)
{
    char *search = search_words(o);
    add(w, "gpudedisp");
    add(w, "-v");
    add_reading(w, o);
    add_name(w, "-plan", p, ".plan");
    if (!strcmp(o->clean, "mask"))
        add_name(w, "-mask", p, "_rfifind.mask");
    else
        add_text(w, "-clean", o->clean);
    add_flag(w, "-nobary", p->topo);
    add_place(w, o);
    add(w, "-nowrite");
    add(w, "-singlepulse");
    if (o->threshold > 0)
        add_double(w, "-threshold", o->threshold);
    if (o->maxwidth_s > 0)
        add_double(w, "-maxwidth", o->maxwidth_s);
    add(w, "-accelsearch");
    add(w, search);
    add_text(w, "-device", o->device);
    add_limits(w, o, true);
    add_text(w, "-o", p->base);
    add_inputs(w, o);
    free(search);
}

/* What glob(7) would take for a pattern stands for itself. */
static char *literally(const char *name)
{
    char *to = malloc(2 * strlen(name) + 1);
    size_t n = 0;
    for (; to && *name; name++) {
        if (strchr("*?[\\", *name))
            to[n++] = '\\';
        to[n++] = *name;
    }
    if (to)
        to[n] = '\0';
    return to;
}

static void make_sift(struct words *w, const struct psrsearch_plan *p,
                      const struct psrsearch_options *o)
{
    char *base = literally(p->base),
         *pattern = base ? psrsearch_join(base, "_DM*_ACCEL_*[0-9]", NULL) : NULL;
    add(w, "accelsift");
    add(w, "-v");
    add(w, "-globaccel");
    add(w, pattern);
    add_text(w, "-catalogue", o->catalogue);
    add_name(w, "-o", p, ".sift");
    add_name(w, "-csv", p, ".sift.csv");
    add_name(w, "-json", p, ".sift.json");
    add_name(w, "-rejects", p, ".sift.rejects");
    add_limits(w, o, false);
    free(base);
    free(pattern);
}

/* With the mask of the search. */
static void add_fold(struct words *w, const struct psrsearch_plan *p,
                     const struct psrsearch_options *o)
{
    add(w, "gpufold");
    add(w, "-v");
    add_reading(w, o);
    if (!strcmp(o->clean, "mask"))
        add_name(w, "-mask", p, "_rfifind.mask");
    else if (!strcmp(o->clean, "auto"))
        add_name(w, "-mask", p, ".clean.mask");
    add(w, "-json");
    add_limits(w, o, true);
    add_text(w, "-o", p->base);
}

static void make_fold(struct words *w, const struct psrsearch_plan *p,
                      const struct psrsearch_options *o)
{
    add_fold(w, p, o);
    add_flag(w, "-topo", p->topo);
    add_place(w, o);
    add_name(w, "-cands", p, ".sift");
    add_int(w, "-ncands", o->ncands);
    add_inputs(w, o);
}

static void make_par(struct words *w, const struct psrsearch_plan *p,
                     const struct psrsearch_options *o)
{
    add_fold(w, p, o);
    add_text(w, "-par", o->par);
    add_inputs(w, o);
}

static void make_report(struct words *w, const struct psrsearch_plan *p,
                        const struct psrsearch_options *o)
{
    (void)o;
    add(w, "psrreport");
    add(w, p->dir);
}

psr_status psrsearch_commands_make(struct psrsearch_plan *p, const struct psrsearch_options *o,
                                   psr_err *err)
{
    static const struct {
        const char *name, *output;
        void (*make)(struct words *, const struct psrsearch_plan *,
                     const struct psrsearch_options *);
    } row[PSRSEARCH_NSTEP] = {
        [PSRSEARCH_MASK] = {"mask", NULL, make_mask},
        [PSRSEARCH_PLAN] = {"plan", NULL, make_plan},
        [PSRSEARCH_SEARCH] = {"search", NULL, make_search},
        [PSRSEARCH_SIFT] = {"sift", NULL, make_sift},
        [PSRSEARCH_FOLD] = {"fold", ".fold.json", make_fold},
        [PSRSEARCH_PAR] = {"par", ".par.json", make_par},
        [PSRSEARCH_REPORT] = {"report", NULL, make_report},
    };
    psr_status st = PSR_OK;
    for (int k = 0; k < PSRSEARCH_NSTEP && !st; k++) {
        struct words w = {.to = &p->step[k].command, .err = err};
        row[k].make(&w, p, o);
        p->step[k].name = row[k].name;
        p->step[k].output = row[k].output;
        p->step[k].wanted = true;
        st = w.status;
    }
    p->step[PSRSEARCH_FOLD].wanted = o->ncands > 0;
    p->step[PSRSEARCH_PAR].wanted = o->par != NULL;
    return st;
}
