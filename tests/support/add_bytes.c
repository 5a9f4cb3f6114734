/* add_bytes A B: A with the bytes of B added to its own, on standard output.  The test file with
 * interference is kept as what it has over the one without. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    FILE *a = argc == 3 ? fopen(argv[1], "rb") : NULL, *b = argc == 3 ? fopen(argv[2], "rb") : NULL;
    int x, y;
    if (!a || !b) {
        fprintf(stderr, "usage: add_bytes A B\n");
        return EXIT_FAILURE;
    }
    while ((x = getc(a)) != EOF && (y = getc(b)) != EOF)
        putchar((x + y) & 255);
    fclose(a);
    fclose(b);
    return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
