/* psrpresto: small programs of PRESTO, by the name under which it runs or by its first operand. */
#include "psrpresto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct program {
    const char *name;
    int (*run)(int argc, char **argv);
} programs[] = {
    {"makezaplist.py", presto_makezaplist},
    {"readfile", presto_readfile},
    {"realfft", presto_realfft},
    {"rednoise", presto_rednoise},
    {"simple_zapbirds", presto_simple_zapbirds},
    {"simple_zapbirds.py", presto_simple_zapbirds},
    {"single_pulse_search.py", presto_singlepulse},
    {"zapbirds", presto_zapbirds},
};

static const struct program *find_program(const char *name)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (cli_is_run_as(name, programs[i].name))
            return &programs[i];
    return NULL;
}

int main(int argc, char **argv)
{
    const struct program *p = find_program(argv[0]);
    if (p)
        return p->run(argc, argv);
    p = argc > 1 ? find_program(argv[1]) : NULL;
    if (p)
        return p->run(argc - 1, argv + 1);
    struct cli_table table = {.n = 0};
    cli_add_heading(&table, "Options");
    struct cli tool = {
        .name = "psrpresto",
        .operands = "PROGRAM [OPTION]... FILE...",
        .examples = "psrpresto readfile obs.fil\n"
                    "psrpresto realfft obs_DM12.00.dat\n"
                    "psrpresto makezaplist.py obs.birds\n",
        .summary = "Run a small program of PRESTO: makezaplist.py, readfile, realfft, rednoise, "
                   "simple_zapbirds.py, single_pulse_search.py or zapbirds. PROGRAM -help lists "
                   "its options. make "
                   "install-aliases installs links of these names, which are the same.",
        .options = table.option,
        .noptions = table.n,
    };
    cli_parse(&tool, argc, argv);
    cli_usage_error(&tool, "%s%s", argc > 1 ? "there is no program " : "no program named",
                    argc > 1 ? argv[1] : "");
}
