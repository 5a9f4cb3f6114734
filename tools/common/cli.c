/* Parses command lines with a table of options, and prints --help and --version from it. */
#include "cli.h"

#include "base/tool.h"

#include <errno.h>
#include <psrkit/psrkit.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Finds the option that was meant. */

enum { LONGEST = 32 };

static int least_of(int a, int b)
{
    return a < b ? a : b;
}

/* Letters to add, leave out, replace or exchange with the next one (Damerau's distance) to make a word
 * of n letters from one of m, both at most LONGEST. */
static int count_changes(const char *a, size_t n, const char *b, size_t m)
{
    int d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= n; i++)
        for (size_t k = 0; k <= m; k++) {
            d[i][k] = (int)(i ? i : k);
            if (!i || !k)
                continue;
            d[i][k] = least_of(d[i - 1][k] + 1, d[i][k - 1] + 1);
            d[i][k] = least_of(d[i][k], d[i - 1][k - 1] + (a[i - 1] != b[k - 1]));
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                d[i][k] = least_of(d[i][k], d[i - 2][k - 2] + 1);
        }
    return d[n][m];
}

/* Whether one is the other with "no" before it, which is one change, not two. */
static bool are_opposite(const char *a, size_t n, const char *b, size_t m)
{
    return m == n + 2 ? !strncmp(b, "no", 2) && !strncmp(b + 2, a, n)
                      : n == m + 2 && !strncmp(a, "no", 2) && !strncmp(a + 2, b, m);
}

enum { HELP_COLUMN = 26, HELP_WIDTH = 79 };

void cli_usage_error(const struct cli *tool, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char text[8192];
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    psr_make_printable(text);
    fprintf(stderr, "%s: %s (see %s --help)\n", tool->name, text, tool->name);
    exit(CLI_EXIT_USAGE);
}

bool cli_is_run_as(const char *program, const char *name)
{
    const char *slash = strrchr(program, '/');
    return !strcmp(slash ? slash + 1 : program, name);
}

int cli_report(const struct cli *tool, const psr_err *err)
{
    fflush(stdout);
    if (!run_stop_signal())
        fprintf(stderr, "%s: %s\n", tool->name, err->msg);
    return err->code == PSR_EFORMAT || err->code == PSR_EUNSUPPORTED ? CLI_EXIT_DATA
                                                                     : CLI_EXIT_FAILURE;
}

int cli_worse(int a, int b)
{
    return a == CLI_EXIT_FAILURE || b == EXIT_SUCCESS ? a : b;
}

void cli_note(void *ctx, const char *msg)
{
    const struct cli *tool = ctx;
    fprintf(stderr, "%s: %s\n", tool->name, msg);
}

void cli_note_left_out(const struct cli *tool, const psr_err *why)
{
    if (!run_stop_signal())
        fprintf(stderr, "%s: %s\n", tool->name, why->msg);
}

void cli_note_kept(const struct cli *tool, bool quiet, size_t n, size_t all, const char *what)
{
    if (!run_stop_signal() || quiet)
        return;
    if (n)
        fprintf(stderr, "%s: stopped: %zu of %zu %s\n", tool->name, n, all, what);
    else
        fprintf(stderr, "%s: stopped: nothing is kept, and the same command begins again\n",
                tool->name);
}

const char *cli_printable(char *to, size_t room, const char *name)
{
    snprintf(to, room, "%s", name);
    psr_make_printable(to);
    return to;
}

void cli_put_json(void *ctx, const char *bytes, size_t n)
{
    fwrite(bytes, 1, n, ctx);
}

int cli_close_stdout(const struct cli *tool, int code)
{
    bool failed = ferror(stdout);
    errno = 0;
    if (fclose(stdout) == 0 && !failed)
        return code;
    fprintf(stderr, "%s: standard output: %s\n", tool->name,
            errno ? strerror(errno) : "cannot write");
    return CLI_EXIT_FAILURE;
}

int cli_end(const struct cli *tool, psr_status st, const psr_err *err, int code)
{
    run_die_if_stopped();
    if (st != PSR_OK)
        code = cli_worse(code, cli_report(tool, err));
    return cli_close_stdout(tool, code);
}

/* Prints text from a column on, broken at blanks and where it has line ends itself; the cursor
 * stands at column. */
static void print_wrapped(const char *text, int from, int column)
{
    while (*text) {
        size_t word = strcspn(text, " \n");
        if (column > from && column + 1 + (int)word > HELP_WIDTH) {
            putchar('\n');
            column = 0;
        }
        if (column < from)
            column += printf("%*s", from - column, "");
        else if (column > from)
            column += printf(" ");
        column += printf("%.*s", (int)word, text);
        text += word + strspn(text + word, " ");
        for (; *text == '\n'; text++, column = 0)
            putchar('\n');
    }
    putchar('\n');
}

/* name may be several, "l, loDM": each gets its dash. */
static void print_option(const char *name, const char *arg, const char *help)
{
    int column = printf("  ");
    for (const char *next = name; *next; next++) {
        bool begins = next == name || next[-1] == ' ';
        column += printf("%s%c", begins ? "-" : "", *next);
    }
    column += printf("%s%s", arg ? " " : "", arg ? arg : "");
    if (column > HELP_COLUMN - 2) {
        putchar('\n');
        column = 0;
    }
    print_wrapped(help, HELP_COLUMN, column);
}

static void print_examples(const char *lines)
{
    printf("\nFor example:\n");
    while (*lines) {
        const int n = (int)strcspn(lines, "\n");
        printf("  %.*s\n", n, lines);
        lines += n + (lines[n] == '\n');
    }
}

/* Whether the first n letters of word are one of names, "l, loDM". */
static bool is_named(const char *names, const char *word, size_t n)
{
    while (*names) {
        size_t length = strcspn(names, ",");
        if (length == n && !strncmp(names, word, n))
            return true;
        names += length + strspn(names + length, ", ");
    }
    return false;
}

/* The option that word names, word being without dashes and possibly followed by "=value". */
static const struct cli_option *find_option(const struct cli *tool, const char *word)
{
    size_t n = strcspn(word, "=");
    for (size_t i = 0; i < tool->noptions; i++) {
        const struct cli_option *o = &tool->options[i];
        if (o->type != CLI_HEADING && is_named(o->name, word, n))
            return o;
    }
    return NULL;
}

static void print_help(const struct cli *tool)
{
    printf("Usage: %s %s\n", tool->name, tool->operands);
    print_wrapped(tool->summary, 0, 0);
    if (tool->examples)
        print_examples(tool->examples);
    for (size_t i = 0; i < tool->noptions; i++) {
        const struct cli_option *o = &tool->options[i];
        if (o->type == CLI_HEADING)
            printf("\n%s:\n", o->name);
        else
            print_option(o->name, o->arg, o->help);
    }
    print_option("h, -help", NULL, "Print this and exit.");
    print_option("version", NULL, "Print the version and exit.");
    printf("\nOptions take one dash or two.\n");
    if (find_option(tool, "device"))
        printf("PSRKIT_DEVICE and PSRKIT_MEM, in the environment, set -device and -mem.\n");
}

static void print_version(const struct cli *tool)
{
    printf("%s (psrkit) %s\n"
           "License GPLv3+: GNU GPL version 3 or later <https://gnu.org/licenses/gpl.html>.\n"
           "This is free software: you are free to change and redistribute it.\n"
           "There is NO WARRANTY, to the extent permitted by law.\n",
           tool->name, psr_version());
}

/* The unit of a number, by the word that stands for it in the help; NULL: it has none. */
static const char *unit_of(const struct cli_option *o)
{
    static const char *const units[][2] = {{"SEC", "s"},           {"MS", "ms"},
                                           {"US", "us"},           {"HZ", "Hz"},
                                           {"MHZ", "MHz"},         {"LS", "light-seconds"},
                                           {"DM", "pc cm^-3"},     {"DEG", "degrees"},
                                           {"MB", "MB"},           {"PERCENT", "percent"},
                                           {"SAMPLES", "samples"}, {"PD", "s/s"},
                                           {"PDD", "s/s^2"},       {"FD", "Hz/s"},
                                           {"FDD", "Hz/s^2"},      {"MJD", "days (MJD)"},
                                           {"A", "m/s^2"},         {"H", "hours"},
                                           {"M", "solar masses"},  {"V", "c"},
                                           {"R", "bins"},          {"BINS", "bins"}};
    for (size_t k = 0; k < sizeof units / sizeof *units; k++)
        if (o->arg && !strcmp(o->arg, units[k][0]))
            return units[k][1];
    return NULL;
}

static void take_value(const struct cli *tool, const struct cli_option *o, const char *what,
                       const char *text)
{
    psr_err err;
    psr_status st = PSR_OK;
    switch (o->type) {
    case CLI_INT:
        st = psr_parse_int(what, text, (int64_t)o->min, (int64_t)o->max, o->value, &err);
        break;
    case CLI_DOUBLE:
        st = psr_parse_double(what, text, o->min, o->max, o->value, &err);
        break;
    case CLI_SIZE:
        st = psr_parse_size(what, text, o->value, &err);
        break;
    case CLI_TEXT: {
        /* Names that begin with a folder alone would be "_DM0.00.dat" in it. */
        const size_t n = strlen(text);
        if (o->arg && !strcmp(o->arg, "ROOT") && (!n || text[n - 1] == '/'))
            cli_usage_error(tool,
                            "%s: '%s' is %s: give the start of the names of files, such as %sobs",
                            what, text, n ? "a folder" : "empty", text);
    }
        *(const char **)o->value = text;
        break;
    case CLI_LIST: {
        struct cli_list *list = o->value;
        const char **grown = realloc(list->text, (list->n + 1) * sizeof *grown);
        if (!grown)
            cli_usage_error(tool, "no memory for the command line");
        list->text = grown;
        list->text[list->n++] = text;
    } break;
    case CLI_FLAG:
    case CLI_HEADING:
        break;
    }
    const char *unit = o->type == CLI_DOUBLE ? unit_of(o) : NULL;
    if (st && unit)
        cli_usage_error(tool, "%s %s%s", err.msg, strstr(err.msg, "is not") ? "of " : "", unit);
    if (st)
        cli_usage_error(tool, "%s", err.msg);
}

/* Takes the option in argv[i]; returns the index of the last word it used. */
static int take_option(const struct cli *tool, int argc, char **argv, int i)
{
    const char *word = argv[i] + (argv[i][1] == '-' ? 2 : 1);
    if (!strcmp(word, "help") || !strcmp(word, "h")) {
        print_help(tool);
        exit(cli_close_stdout(tool, EXIT_SUCCESS));
    }
    if (!strcmp(word, "version")) {
        print_version(tool);
        exit(cli_close_stdout(tool, EXIT_SUCCESS));
    }
    const struct cli_option *o = find_option(tool, word);
    if (!o) {
        const char *given = argv[i];
        size_t n = 0;
        for (const struct cli_elsewhere *e = tool->elsewhere; e && e->names; e++)
            if (is_named(e->names, word, strcspn(word, "=")))
                cli_usage_error(tool, "%s is not here: %s", given, e->instead);
        /* The name of the option that is nearest to a word without dashes that names none, [*n] letters in
         * the table; NULL: none is near. */
        const size_t length = strcspn(word, "=");
        int least = length < 3 ? 1 : length < 6 ? 2 : 3; /* more is another word */
        const char *nearest = NULL;
        for (size_t j = 0; j < tool->noptions && length <= LONGEST; j++) {
            const char *at = tool->options[j].name;
            while (*at && tool->options[j].type != CLI_HEADING) {
                const size_t m = strcspn(at, ",");
                const int changes = m > LONGEST ? LONGEST
                                    : are_opposite(word, length, at, m)
                                        ? 1
                                        : count_changes(word, length, at, m);
                if (changes < least + !nearest && changes < (int)m) {
                    least = changes;
                    nearest = at;
                    n = m;
                }
                at += m + strspn(at + m, ", ");
            }
        }
        if (nearest)
            cli_usage_error(tool, "unknown option '%s': is it -%.*s?", given, (int)n, nearest);
        cli_usage_error(tool, "unknown option '%s'", given);
    }
    const char *equals = strchr(word, '=');
    if (o->type == CLI_FLAG) {
        if (equals)
            cli_usage_error(tool, "-%.*s takes no value", (int)(equals - word), word);
        *(bool *)o->value = true;
        return i;
    }
    if (!equals && i + 1 >= argc)
        cli_usage_error(tool, "-%s needs a value (%s)", word, o->arg);
    char what[80];
    snprintf(what, sizeof what, "-%.*s", (int)strcspn(word, "="), word);
    take_value(tool, o, what, equals ? equals + 1 : argv[i + 1]);
    return equals ? i : i + 1;
}

/* "-" is standard input and "-1.5" a number, unless the tool has an option of that name. */
static bool is_option(const struct cli *tool, const char *word)
{
    if (word[0] != '-' || !word[1])
        return false;
    bool number = strchr("0123456789.", word[1]) != NULL;
    return !number || find_option(tool, word + 1);
}

int cli_parse(struct cli *tool, int argc, char **argv)
{
    int noperands = 0;
    bool options_ended = false;
    run_hold_descriptors();
    /* Defaults from the environment, which an option overrides. */
    static const char *const variables[][2] = {{"PSRKIT_DEVICE", "device"}, {"PSRKIT_MEM", "mem"}};
    for (size_t k = 0; k < sizeof variables / sizeof *variables; k++) {
        const char *text = getenv(variables[k][0]);
        const struct cli_option *o = find_option(tool, variables[k][1]);
        if (o && text && *text && (o->type == CLI_TEXT || o->type == CLI_SIZE))
            take_value(tool, o, variables[k][0], text);
    }
    for (int i = 1; i < argc; i++) {
        if (options_ended || !is_option(tool, argv[i]))
            argv[++noperands] = argv[i];
        else if (!strcmp(argv[i], "--"))
            options_ended = true;
        else
            i = take_option(tool, argc, argv, i);
    }
    tool->options = NULL;
    tool->noptions = 0;
    return noperands;
}

/* Builds tables of options from parts. */

void cli_table_add(struct cli_table *table, const struct cli_option *option, size_t n)
{
    if (n > CLI_TABLE_MAX - table->n)
        abort();
    memcpy(table->option + table->n, option, n * sizeof *option);
    table->n += n;
}

void cli_table_fill(struct cli_table *table, const struct cli_option *option, size_t n, void *base)
{
    for (size_t i = 0; i < n; i++) {
        struct cli_option row = option[i];
        row.value = (char *)base + (uintptr_t)row.value;
        cli_table_add(table, &row, 1);
    }
}

void cli_add_heading(struct cli_table *table, const char *name)
{
    cli_table_add(table, &(const struct cli_option){.name = name, .type = CLI_HEADING}, 1);
}

void cli_add_limits(struct cli_table *table, int64_t *ncpus, int64_t *mem_bytes)
{
    const struct cli_option options[] = {
        {"ncpus", CLI_INT, ncpus, "N", 1, 4096, "Threads (default: all cores)."},
        {"mem", CLI_SIZE, mem_bytes, "SIZE", 0, 0,
         "Memory limit, e.g. 512M or 4G (default: a quarter of the machine's)."},
    };
    cli_table_add(table, options, mem_bytes ? 2 : 1);
}

void cli_add_verbosity(struct cli_table *table, bool *quiet, bool *verbose)
{
    const struct cli_option options[] = {
        {"q", CLI_FLAG, quiet, NULL, 0, 0, "No notes, no progress."},
        {"v", CLI_FLAG, verbose, NULL, 0, 0, "Report what is done and the time it took."},
    };
    CLI_ADD(table, options);
}

/* Parses options that are one word of a command line. */

/* The next word of *text, which moves behind it; NULL: there is none.  The word ends with it. */
static char *next_word(char **text)
{
    char *from = *text + strspn(*text, " \t\n"), *to = from, quote = 0;
    char *const word = from;
    if (!*from)
        return NULL;
    for (; *from && (quote || !strchr(" \t\n", *from)); from++)
        if (quote ? *from == quote : *from == '"' || *from == '\'')
            quote = quote ? 0 : *from;
        else
            *to++ = *from;
    *text = from + (*from != 0);
    *to = 0;
    return word;
}

char *cli_parse_words(struct cli *inner, const struct cli *tool, const char *option,
                      const char *text)
{
    char *words = NULL, *rest;
    char **argv = calloc(strlen(text) / 2 + 3, sizeof *argv);
    int argc = 1;
    if (!argv || asprintf(&words, "%s %s%c%s", tool->name, option, '\0', text) < 0)
        cli_usage_error(tool, "%s: out of memory", option);
    argv[0] = words;
    rest = words + strlen(words) + 1;
    while ((argv[argc] = next_word(&rest)))
        argc++;
    inner->name = words;
    inner->operands = "\"[OPTION]...\"";
    if (cli_parse(inner, argc, argv) > 0)
        cli_usage_error(inner, "'%s' is no option: the series are the input", argv[1]);
    free(argv);
    return words;
}
