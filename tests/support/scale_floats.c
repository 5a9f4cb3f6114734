/* scale_floats BYTES FACTOR: standard input with the little-endian floats behind its first BYTES bytes times FACTOR. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    float x;
    if (argc != 3) {
        fprintf(stderr, "usage: scale_floats BYTES FACTOR\n");
        return EXIT_FAILURE;
    }
    const float factor = strtof(argv[2], NULL);
    for (long left = strtol(argv[1], NULL, 10); left > 0; left--)
        putchar(getchar());
    while (fread(&x, sizeof x, 1, stdin) == 1) {
        x *= factor;
        fwrite(&x, sizeof x, 1, stdout);
    }
    return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
