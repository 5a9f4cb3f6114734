/* No output is an input, and no two outputs are one file. */
#include "tests/support/scratch.h"
#include "tests/support/tap.h"
#include <fcntl.h>
#include <psrkit/experimental/outfile.h>

static struct psr_overwrite_check check;
static psr_err err;

static void begin(void)
{
    psr_overwrite_check_clear(&check);
    err.msg[0] = '\0';
}

static bool input(const char *path)
{
    return psr_overwrite_check_input(&check, path, &err) == PSR_OK;
}

static bool output(const char *path)
{
    return psr_overwrite_check_output(&check, path, NULL, &err) == PSR_OK;
}

static bool says(const char *part)
{
    bool there = strstr(err.msg, part) != NULL;
    if (!there)
        diag("said: %s", err.msg);
    return there;
}

/* a is there and is also hard and soft; sub/way leads to the folder; gone is nowhere. */
static void make_files(void)
{
    scratch_write_text("a", "a");
    scratch_write_text("b", "b");
    mkdir("sub", 0777);
    if (link("a", "hard") || symlink("a", "soft") || symlink("soft", "softer") ||
        symlink("..", "sub/way") || symlink("gone", "loose") || symlink("/dev/null", "null") ||
        symlink("me", "me") || mkfifo("fifo", 0600))
        exit(EXIT_FAILURE);
}

static void test_inputs(void)
{
    static const char *const same[] = {"a",    "./a",  "sub/../a", "sub/way/a",
                                       "hard", "soft", "softer",   "sub/way/hard"};
    for (size_t k = 0; k < sizeof same / sizeof *same; k++) {
        begin();
        ok(input("b") && input("a") && !output(same[k]) && says("would be written over a, which"),
           "%s is no output where a is read", same[k]);
        begin();
        ok(output(strstr(same[k], "soft") ? "a" : same[k]) && !input("a") && says("which is read"),
           "nor is a read where %s is written", same[k]);
    }
    begin();
    ok(input("a") && input("hard") && input("soft") && input("a"), "inputs may be one file");
    ok(input("gone") && output("gone"), "what is not there is not read");
    ok(input(NULL) && output(NULL) && output("b"), "nothing is no file");
}

static void test_outputs(void)
{
    begin();
    ok(output("a") && !output("hard") && says("a and hard are one file, and would both be written"),
       "%s", err.msg);
    ok(!output("sub/../a") && says("one file"), "another way to the same");
    ok(!output("a") && says("a would be written twice"), "%s", err.msg);
    begin();
    ok(output("new") && !output("./new") && !output("sub/way/new") && says("one file"),
       "one that is not there yet, by its folder");
    ok(output("sub/new") && output("new2") && output("ne"), "others are others");
    ok(!output("sub/way/sub/new"), "and that too");
    ok(output("none/x") && output("none/x"), "what cannot be there is no file");
    begin();
    ok(psr_overwrite_check_output(&check, "list", "p.fft", &err) == PSR_OK &&
           psr_overwrite_check_output(&check, "list", "p.dat", &err) == PSR_EIO &&
           says("list would be written of p.fft and of p.dat"),
       "%s", err.msg);
    ok(psr_overwrite_check_output(&check, "./list", "p.fft", &err) == PSR_EIO &&
           says("p.fft: given twice"),
       "%s", err.msg);
}

static void test_links(void)
{
    begin();
    ok(!output("soft") && says("soft: is a link"), "%s", err.msg);
    ok(!output("loose") && says("loose: is a link") && says("name gone"), "%s", err.msg);
    ok(output("null") && output("/dev/null") && output("null") && input("/dev/null"),
       "/dev/null takes all");
    ok(output("me"), "a circle fails when it is opened");
}

/* Runs with descriptor fd being path. */
static void with_descriptor(int fd, const char *path, int flags, void (*run)(void))
{
    fflush(stdout);
    int kept = dup(fd), other = open(path, flags);
    if (kept < 0 || other < 0 || dup2(other, fd) < 0)
        exit(EXIT_FAILURE);
    close(other);
    run();
    dup2(kept, fd);
    close(kept);
}

static bool passed[8];

static void try_stdin(void)
{
    begin();
    passed[0] = input("-") && !output("hard") && says("hard would be written over standard input");
    begin();
    passed[1] = output("a") && !input("-");
    begin();
    passed[2] = input("-") && input("a") && output("b");
}

static void try_stdout(void)
{
    begin();
    passed[3] =
        input("a") && !output("-") && strstr(err.msg, "standard output would be written over");
    begin();
    passed[4] =
        output("-") && !output("a") && strstr(err.msg, "standard output and a are one file");
    begin();
    passed[5] = output("/dev/stdout") && !output("-") && output("b") && !output("/dev/fd/1");
}

static void try_fifo(void)
{
    begin();
    passed[6] = input("-") && !output("fifo");
    begin();
    passed[7] = output("fifo") && !output("fifo");
}

static void test_descriptors(void)
{
    with_descriptor(STDIN_FILENO, "a", O_RDONLY, try_stdin);
    with_descriptor(STDOUT_FILENO, "a", O_WRONLY | O_APPEND, try_stdout);
    with_descriptor(STDIN_FILENO, "fifo", O_RDWR, try_fifo);
    ok(passed[0] && passed[1], "standard input is a file too");
    ok(passed[2], "and may be read twice");
    ok(passed[3], "so is standard output, as >> leaves it");
    ok(passed[4], "and it is no other output");
    ok(passed[5], "under any name");
    ok(passed[6] && passed[7], "a pipe with a name has one end of each kind");
}

/* As many as a large run has, against a list that is looked through. */
static void test_many(uint64_t *seed)
{
    enum { N = 3000, NAMES = 2000 };
    char *seen = tap_take(NAMES, 2), name[32];
    int bad = 0;
    begin();
    for (int k = 0; k < N; k++) {
        int i = (int)tap_between(seed, 0, NAMES - 1);
        bool read = tap_uniform(seed) < 0.3, there = i % 3 == 0;
        snprintf(name, sizeof name, "many/%s%d", tap_uniform(seed) < 0.5 ? "" : "./", i);
        bool want = read ? !there || !seen[2 * i + 1] : !seen[2 * i] && !seen[2 * i + 1];
        bad += (read ? input(name) : output(name)) != want;
        if (want && (!read || there))
            seen[2 * i + !read] = 1;
    }
    ok(bad == 0, "%d of %d names wrong", bad, N);
    free(seen);
}

/* A ring is known by its key. */
static void test_rings(void)
{
    begin();
    ok(input("dada://dada") && !output("dada://0xDADA") && says("which is read"),
       "a ring that is read is not written: %s", err.msg);
    ok(output("dada://dadc") && !output("dada://DADC") && says("one file"), "nor written twice");
    ok(input("dada://dade") && input("dada://dade"), "others are others");
}

static void make_many(void)
{
    char name[32];
    mkdir("many", 0777);
    for (int i = 0; i < 2000; i += 3) {
        snprintf(name, sizeof name, "many/%d", i);
        scratch_write_text(name, "");
    }
}

int main(void)
{
    uint64_t seed = tap_seed();
    scratch_make();
    if (chdir(scratch_dir))
        return EXIT_FAILURE;
    make_files();
    make_many();
    test_inputs();
    test_outputs();
    test_links();
    test_descriptors();
    test_rings();
    test_many(&seed);
    psr_overwrite_check_clear(&check);
    ok(psr_same_file("a", "softer") && !psr_same_file("a", "b") && !psr_same_file("gone", "gone"),
       "two names of one file");
    return done_testing();
}
