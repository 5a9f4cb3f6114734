/* Builds the output names of an input. */
#include "gpuaccel-pulscan.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

char *accel_output_root(const struct accel_job *j, const char *path)
{
    const struct accel_options *o = &j->opt;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char *root = NULL;
    if (o->root && !accel_has_table(o))
        return strdup(o->root);
    const char *dot = strrchr(base, '.');
    int stem = (int)(dot ? dot - base : (ptrdiff_t)strlen(base));
    int failed = o->outdir ? asprintf(&root, "%s/%.*s", o->outdir, stem, base)
                           : asprintf(&root, "%.*s%.*s", (int)(base - path), path, stem, base);
    return failed < 0 ? NULL : root;
}

bool accel_suffix(const struct accel_options *o, int k, char text[ACCEL_SUFFIX])
{
    static const char *const list[] = {"", ".cand", ".txtcand"};
    if (k > (o->pulscan ? 0 : ACCEL_TXTCAND))
        return false;
    if (o->matched && o->wmax > 0)
        snprintf(text, ACCEL_SUFFIX, "_ACCEL_%lld_JERK_%lld%s", (long long)o->zmax,
                 (long long)o->wmax, list[k]);
    else if (o->pulscan)
        snprintf(text, ACCEL_SUFFIX, "_ZMAX_%lld_NUMHARM_%lld_TURBO_%lld.pulscand",
                 (long long)o->zmax, (long long)o->numharm, (long long)o->turbo);
    else
        snprintf(text, ACCEL_SUFFIX, "_ACCEL_%lld%s", (long long)o->zmax, list[k]);
    return true;
}

void accel_mark(const struct accel_options *o, char line[ACCEL_SUFFIX])
{
    snprintf(line, ACCEL_SUFFIX, "# -search %s%s\n", o->search, o->confirm ? " -confirm" : "");
}
