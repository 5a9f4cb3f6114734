/* Builds tables of options from parts. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

void cli_table_add(struct cli_table *table, const struct cli_option *option, size_t n)
{
    if (n > CLI_TABLE_MAX - table->n)
        abort();
    memcpy(table->option + table->n, option, n * sizeof *option);
    table->n += n;
}

void cli_add_heading(struct cli_table *table, const char *name)
{
    cli_table_add(table, &(const struct cli_option){.name = name, .type = CLI_HEADING}, 1);
}

void cli_add_limits(struct cli_table *table, int64_t *ncpus, int64_t *mem_bytes)
{
    const struct cli_option options[] = {
        {"ncpus", CLI_INT, ncpus, "N", "Threads (default: all cores).", 1, 4096},
        {"mem", CLI_SIZE, mem_bytes, "SIZE",
         "Memory limit, e.g. 512M or 4G (default: a quarter of the machine's).", 0, 0},
    };
    cli_table_add(table, options, mem_bytes ? 2 : 1);
}

void cli_add_verbosity(struct cli_table *table, bool *quiet, bool *verbose)
{
    const struct cli_option options[] = {
        {"q", CLI_FLAG, quiet, NULL, "No notes, no progress.", 0, 0},
        {"v", CLI_FLAG, verbose, NULL, "Report what is done and the time it took.", 0, 0},
    };
    CLI_ADD(table, options);
}
