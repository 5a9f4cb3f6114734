/* boxed.h: structs with poison behind them, which shows whether a library wrote beyond the version of its caller. */
#ifndef BOXED_H
#define BOXED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POISON 0x5a
enum { NPOISON = 128 };

/* A variable NAME.x of a type; all its bytes are poison. */
#define BOXED(type, name)                                                                          \
    struct {                                                                                       \
        type x;                                                                                    \
        unsigned char behind[NPOISON];                                                             \
    } name;                                                                                        \
    memset(&name, POISON, sizeof name)

static inline void check_behind(const unsigned char *behind, const char *name, int line)
{
    for (int k = 0; k < NPOISON; k++)
        if (behind[k] != POISON) {
            printf("line %d: byte %d behind %s was overwritten\n", line, k, name);
            exit(1);
        }
}
#define CHECK_BEHIND(name) check_behind((name).behind, #name, __LINE__)

#define CHECK(status)                                                                              \
    if (status) {                                                                                  \
        printf("line %d: %s\n", __LINE__, err.msg);                                                \
        exit(1);                                                                                   \
    }

#endif
