/* Writes a plan as a shell script of gpudedisp or prepsubband. */
#include "ddplan.h"

#include "tools/common/quote.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Prints a name as a word.  One that begins with a dash would be an option; "-" alone is standard
 * input. */
static void print_name(const char *name)
{
    char path[PATH_MAX + 2];
    snprintf(path, sizeof path, "%s%s", name[0] == '-' && name[1] ? "./" : "", name);
    quote_print(stdout, path);
}

/* The start of output names: the first file's, without its folder and suffix. */
static void print_root(const char *file)
{
    char root[PATH_MAX];
    const char *slash = strrchr(file, '/');
    snprintf(root, sizeof root, "%s", slash ? slash + 1 : file);
    char *dot = strrchr(root, '.');
    if (dot && dot != root)
        *dot = 0;
    print_name(strcmp(root, "-") != 0 ? root : "ddplan");
}

/* The command is one line, whatever was given: a comment ends with it. */
static void print_head(const struct ddplan_options *o)
{
    printf("#!/bin/sh\n# %s\n", o->command);
    if (o->files.n == 0) {
        printf("# Usage: sh SCRIPT FILE...\n"
               "set -e\n"
               "test $# -gt 0 || { echo \"usage: $0 FILE...\" >&2; exit 2; }\n"
               "root=$(basename -- \"$1\")\nroot=${root%%.*}\n");
        return;
    }
    printf("set -e\nset --");
    for (size_t i = 0; i < o->files.n; i++) {
        putchar(' ');
        print_name(o->files.text[i]);
    }
    printf("\nroot=");
    print_root(o->files.text[0]);
    printf("\n");
}

/* gpudedisp takes the whole plan; standard input may be the data. */
static void print_gpudedisp(const struct psr_ddplan *plan)
{
    printf("gpudedisp %s-plan /dev/fd/3 -o \"$root\" \"$@\" 3<<'END'\n"
           "# lodm dmstep ndms downsamp nsub\n",
           plan->desc->nsub ? "-algo subband " : "");
    for (int i = 0; i < plan->nline; i++) {
        const struct psr_ddplan_line *l = &plan->line[i];
        printf("%.10g %.10g %lld %lld %lld\n", l->lodm, l->dmstep, (long long)l->ndm,
               (long long)l->downsamp, (long long)plan->desc->nsub);
    }
    printf("END\n");
}

/* prepsubband takes a call's worth, for its sub-bands are made at one DM. */
static void print_prepsubband(const struct psr_ddplan *plan)
{
    for (int i = 0; i < plan->nline; i++) {
        const struct psr_ddplan_line *l = &plan->line[i];
        double span = (double)l->dms_per_call * l->dmstep;
        for (int64_t call = 0; call < l->ndm / l->dms_per_call; call++)
            printf("prepsubband -nsub %lld -lodm %.2f -dmstep %.2f -numdms %lld -downsamp %lld "
                   "-o \"$root\" \"$@\"\n",
                   (long long)plan->desc->nsub, l->lodm + (double)call * span, l->dmstep,
                   (long long)l->dms_per_call, (long long)l->downsamp);
    }
}

void ddplan_print_script(const struct ddplan_options *o, const struct psr_ddplan *plan)
{
    print_head(o);
    if (!strcmp(o->script_for, "gpudedisp"))
        print_gpudedisp(plan);
    else
        print_prepsubband(plan);
}
