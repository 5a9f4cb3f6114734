#include "spare.h"

#include <stddef.h>
#include <sys/stat.h>

bool spare_same(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return a && b && stat(a, &of_a) == 0 && S_ISREG(of_a.st_mode) && stat(b, &of_b) == 0 &&
           of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

psr_status spare_input(const char *output, const char *input, psr_err *err)
{
    if (!spare_same(output, input))
        return PSR_OK;
    return psr_fail(err, PSR_EINVAL, "%.200s: is the input %.200s, which it would replace", output,
                    input);
}
