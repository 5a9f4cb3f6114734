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
