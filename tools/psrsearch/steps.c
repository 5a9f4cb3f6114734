/* The commands of the steps. */
#include "psrsearch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the words of a command ------------------------------------------------------------------- */

/* The words of a command; the first error stays, and nothing is added after it. */
struct words {
    struct psr_names *to;
    psr_status status;
    psr_err *err;
};

/* NULL: there was no memory for it */
static void words_add(struct words *w, const char *word)
{
    if (!w->status)
        w->status = word ? psr_names_add(w->to, word, w->err)
                         : psr_fail_nomem(w->err, "the command lines", 256);
}

static void words_add_flag(struct words *w, const char *option, bool given)
{
    if (given)
        words_add(w, option);
}

/* unless it is NULL */
static void words_add_text(struct words *w, const char *option, const char *value)
{
    if (value) {
        words_add(w, option);
        words_add(w, value);
    }
}

static void words_add_int(struct words *w, const char *option, int64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)value);
    words_add_text(w, option, digits);
}

static void words_add_double(struct words *w, const char *option, double value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.10g", value);
    words_add_text(w, option, digits);
}

/* A name that begins with base. */
static void words_add_name(struct words *w, const char *option, const char *base, const char *end)
{
    char *name = psrsearch_join(base, end, NULL);
    words_add(w, option);
    words_add(w, name);
    free(name);
}

static void words_add_inputs(struct words *w, const struct psrsearch_options *o)
{
    for (size_t i = 0; i < o->ninput; i++) {
        /* "./-x.fil": a name is no option. */
        char *name = o->input[i][0] == '-' ? psrsearch_join("./", o->input[i], NULL)
                                           : psrsearch_join(o->input[i], NULL);
        words_add(w, name);
        free(name);
    }
}

/* What glob(7) would take for a pattern stands for itself. */
static char *words_literally(const char *name)
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

/* In quotes, for options that hold options; likewise. */
static char *words_quoted(const char *word)
{
    char *to = malloc(5 * strlen(word) + 3), *end = to;
    if (!to)
        return NULL;
    *end++ = '\'';
    for (; *word; word++) {
        if (*word ==
            '\'') { /* the quotes end, it stands in quotes of the other kind, they begin again */
            memcpy(end, "'\"'\"'", 5);
            end += 5;
        } else {
            *end++ = *word;
        }
    }
    memcpy(end, "'", 2);
    return to;
}

/* --- the commands of the steps ---------------------------------------------------------------- */

enum { VIEWS = 20 }; /* as many bursts as psrreport draws */

/* How observations are read. */
static void add_reading(struct words *w, const struct psrsearch_options *o)
{
    words_add_flag(w, "-filterbank", o->filterbank);
    words_add_flag(w, "-psrfits", o->psrfits);
    if (o->if_choice >= 0)
        words_add_int(w, "-if", o->if_choice);
    words_add_text(w, "-state", o->state);
    words_add_flag(w, "-noweights", o->no_weights);
    words_add_flag(w, "-noscales", o->no_scales);
    words_add_flag(w, "-nooffsets", o->no_offsets);
    words_add_flag(w, "-invert", o->invert);
    words_add_text(w, "-ignorechan", o->ignorechan);
}

static void add_limits(struct words *w, const struct psrsearch_options *o, bool memory)
{
    if (o->ncpus)
        words_add_int(w, "-ncpus", o->ncpus);
    if (o->mem_bytes && memory)
        words_add_int(w, "-mem", o->mem_bytes);
}

static void add_place(struct words *w, const struct psrsearch_options *o)
{
    words_add_text(w, "-position", o->position);
    words_add_text(w, "-site", o->site);
}

static void make_mask(struct words *w, const struct psrsearch_plan *p,
                      const struct psrsearch_options *o)
{
    words_add(w, "gpurfifind");
    words_add(w, "-v");
    if (p->mask_s > 0)
        words_add_double(w, "-time", p->mask_s);
    add_reading(w, o);
    add_limits(w, o, true);
#ifdef PSRSEARCH_PICTURES
    words_add_name(w, "-plot", p->base, "_rfifind.png");
#endif
    words_add_text(w, "-o", p->aside);
    words_add_inputs(w, o);
}

static void make_plan(struct words *w, const struct psrsearch_plan *p,
                      const struct psrsearch_options *o)
{
    words_add(w, "ddplan");
    words_add_double(w, "-l", o->lodm);
    words_add_double(w, "-d", p->hidm);
    if (o->res_ms > 0)
        words_add_double(w, "-r", o->res_ms);
    if (o->cohdm > 0)
        words_add_double(w, "-c", o->cohdm);
    words_add_name(w, "-plan", p->aside, ".plan");
    words_add_inputs(w, o);
}

/* The list of frequencies to leave out, in quotes; NULL also where none is wanted. */
static char *name_zaplist(const struct psrsearch_plan *p, const struct psrsearch_options *o)
{
    char *own = o->zap ? psrsearch_join(p->aside, "_rfifind.zaplist", NULL) : NULL;
    const char *name = o->zaplist ? o->zaplist : own;
    char *quoted = name ? words_quoted(name) : NULL;
    free(own);
    return quoted;
}

static char *search_words(const struct psrsearch_plan *p, const struct psrsearch_options *o)
{
    char *text = NULL, *zaplist = name_zaplist(p, o);
    size_t n;
    FILE *to = !zaplist && (o->zap || o->zaplist) ? NULL : open_memstream(&text, &n);
    if (!to) {
        free(zaplist);
        return NULL;
    }
    fprintf(to, "-search %s -zmax %lld -numharm %lld", o->search, (long long)o->zmax,
            (long long)o->numharm);
    if (o->wmax)
        fprintf(to, " -wmax %lld", (long long)o->wmax);
    if (o->sigma > 0)
        fprintf(to, " -sigma %.10g", o->sigma);
    if (o->flo_hz > 0)
        fprintf(to, " -flo %.10g", o->flo_hz);
    if (zaplist)
        fprintf(to, " -zaplist %s", zaplist);
    free(zaplist);
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

/* Returned: malloc'd; NULL for lack of memory */
static char *slow_words(const struct psrsearch_plan *p, const struct psrsearch_options *o)
{
    const bool wanted = o->zap || o->zaplist;
    char *zaplist = name_zaplist(p, o), *text = NULL;
    const char *own = strcmp(o->ffa, "auto") != 0 ? o->ffa : "";
    if (!wanted || zaplist)
        text =
            wanted ? psrsearch_join(own, *own ? " " : "", "-zaplist ", zaplist, NULL) : strdup(own);
    free(zaplist);
    return text;
}

static void make_search(struct words *w, const struct psrsearch_plan *p,
                        const struct psrsearch_options *o)
{
    char *search = search_words(p, o);
    words_add(w, "gpudedisp");
    words_add(w, "-v");
    add_reading(w, o);
    if (o->plan)
        words_add_text(w, "-plan", o->plan);
    else
        words_add_name(w, "-plan", p->aside, ".plan");
    if (!strcmp(o->clean, "mask"))
        words_add_name(w, "-mask", p->aside, "_rfifind.mask");
    else
        words_add_text(w, "-clean", o->clean);
    words_add_text(w, "-weights", o->weights);
    words_add_flag(w, "-nobary", p->topo);
    add_place(w, o);
    words_add(w, "-nowrite");
    words_add(w, "-singlepulse");
    words_add(w, "-csv");
    words_add_int(w, "-views", VIEWS);
    if (o->threshold > 0)
        words_add_double(w, "-threshold", o->threshold);
    if (o->maxwidth_s > 0)
        words_add_double(w, "-maxwidth", o->maxwidth_s);
    if (o->nhalve)
        words_add_int(w, "-halve", o->nhalve);
    if (o->nfine > 1)
        words_add_int(w, "-fine", o->nfine);
    words_add(w, "-accelsearch");
    words_add(w, search);
    words_add_flag(w, "-segments", o->segments);
    if (p->slow) {
        char *slow = slow_words(p, o);
        words_add(w, "-ffa");
        words_add(w, slow);
        free(slow);
    }
    words_add_text(w, "-lists", !strcmp(o->lists, "one") ? o->lists : NULL);
    words_add_text(w, "-device", o->device);
    add_limits(w, o, true);
    words_add_text(w, "-o", p->base);
    words_add_inputs(w, o);
    free(search);
}

static void add_sift(struct words *w, const struct psrsearch_plan *p,
                     const struct psrsearch_options *o)
{
    words_add(w, "accelsift");
    words_add(w, "-v");
    /* The lists of all DMs. */
    const bool one = !strcmp(o->lists, "one");
    char *base = one ? NULL : words_literally(p->base);
    char *name = one    ? psrsearch_join(p->base, ".lists", NULL)
                 : base ? psrsearch_join(base, "_DM*_ACCEL_*[0-9]", NULL)
                        : NULL;
    if (!one)
        words_add(w, "-globaccel");
    words_add(w, name);
    free(base);
    free(name);
    if (p->slow) {
        char *slow = psrsearch_join(p->base, "_ffa.csv", NULL);
        words_add(w, slow);
        free(slow);
    }
    words_add_text(w, "-catalogue", o->catalogue);
    words_add_name(w, "-lines", p->aside, "_rfifind.zaplist");
    add_limits(w, o, false);
}

static void make_sift(struct words *w, const struct psrsearch_plan *p,
                      const struct psrsearch_options *o)
{
    add_sift(w, p, o);
    words_add_name(w, "-o", p->base, ".sift");
    words_add_name(w, "-rejects", p->aside, ".sift.rejects");
}

/* The same list by the scores of folds. */
static void make_score(struct words *w, const struct psrsearch_plan *p,
                       const struct psrsearch_options *o)
{
    add_sift(w, p, o);
    if (o->ncands > 0)
        words_add_name(w, "-folds", p->base, ".fold.json");
    words_add_name(w, "-o", p->base, ".sift.csv");
    words_add_name(w, "-o", p->base, ".sift.jsonl");
}

/* The first of several devices: two take longer to fold than one (kernels/NOTES.md). */
static const char *device_of_fold(const struct psrsearch_options *o)
{
    return o->device && (strchr(o->device, ',') || !strcmp(o->device, "all")) ? "cuda" : o->device;
}

static void add_fold(struct words *w, const struct psrsearch_plan *p,
                     const struct psrsearch_options *o)
{
    words_add(w, "gpufold");
    words_add(w, "-v");
    add_reading(w, o);
    words_add(w, "-json");
    words_add_text(w, "-device", device_of_fold(o));
    add_limits(w, o, true);
    words_add_text(w, "-o", p->base);
}

static void make_fold(struct words *w, const struct psrsearch_plan *p,
                      const struct psrsearch_options *o)
{
    add_fold(w, p, o);
    if (!strcmp(o->clean, "mask"))
        words_add_name(w, "-mask", p->aside, "_rfifind.mask");
    else
        words_add_text(w, "-clean", o->clean);
    /* In a fold of a slow pulsar interference at DM 0 is within reach, and stronger: so the DM is only
     * refined, next to that of the search. */
    words_add(w, "-fine");
    words_add(w, "-nodmsearch");
    words_add(w, "-refine");
    words_add(w, "-dmrange");
    /* LO,HI */
    char range[64];
    snprintf(range, sizeof range, "%.12g,%.12g", o->lodm, p->hidm);
    words_add(w, range);
    words_add_text(w, "-stay", "0.3"); /* a search is right to a tenth of it */
    words_add_flag(w, "-harmonics", o->budget_ratios);
    words_add_flag(w, "-topo", p->topo);
    add_place(w, o);
    words_add_name(w, "-cands", p->base, ".sift");
    words_add_int(w, "-ncands", o->ncands);
    words_add(w, "-resume");   /* a step that was stopped or killed */
    words_add(w, "-tolerant"); /* what cannot be folded stays in the list of candidates */
    words_add_inputs(w, o);
}

static void make_par(struct words *w, const struct psrsearch_plan *p,
                     const struct psrsearch_options *o)
{
    add_fold(w, p, o);
    if (strcmp(o->clean, "none") != 0)
        words_add_name(w, "-mask", strcmp(o->clean, "mask") ? p->base : p->aside,
                       strcmp(o->clean, "mask") ? ".clean.mask" : "_rfifind.mask");
    words_add_text(w, "-par", o->par);
    words_add_inputs(w, o);
}

static void make_report(struct words *w, const struct psrsearch_plan *p,
                        const struct psrsearch_options *o)
{
    (void)o;
    words_add(w, "psrreport");
    words_add(w, p->dir);
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
        [PSRSEARCH_SCORE] = {"score", NULL, make_score},
        [PSRSEARCH_PAR] = {"par", ".par.jsonl", make_par},
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
    /* The search needs it for these two, and more threads than the user has said never work. */
    p->beside = !o->zap && strcmp(o->clean, "mask") != 0 && !o->ncpus;
    p->step[PSRSEARCH_MASK].yields = p->beside;
    p->step[PSRSEARCH_PLAN].wanted = o->plan == NULL;
    p->step[PSRSEARCH_FOLD].wanted = o->ncands > 0;
    p->step[PSRSEARCH_PAR].wanted = o->par != NULL;
    return st;
}
