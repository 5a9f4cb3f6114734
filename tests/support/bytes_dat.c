/* bytes_dat: signed bytes of standard input as the floats of a .dat file, on standard output. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    for (int c; (c = getchar()) != EOF;) {
        float x = (float)(signed char)c;
        fwrite(&x, sizeof x, 1, stdout);
    }
    return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
