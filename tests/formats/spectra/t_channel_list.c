/* lists: ignored channels and trial DMs. */

#include "formats/spectra/header_keys.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

static psr_err err;

/* The mask as text, '.' kept and 'x' ignored. */
static const char *mask_after(const char *text, int ascending)
{
    static char shown[13];
    unsigned char keep[12];
    memset(keep, 1, sizeof keep);
    if (psr_ignore_channels(text, 12, ascending, keep, &err) != PSR_OK)
        return "error";
    for (int c = 0; c < 12; c++)
        shown[c] = keep[c] ? '.' : 'x';
    return shown;
}

/* One comment, whose tail would read as a channel or a DM if lines were cut. */
static void write_long_line(const char *path)
{
    char text[5000];
    memset(text, ' ', sizeof text);
    text[0] = '#';
    strcpy(text + sizeof text - 3, "7\n");
    scratch_write_text(path, text);
}

static void test_channels(const char *path)
{
    ok(!strcmp(mask_after("3", 1), "...x........"), "one channel");
    ok(!strcmp(mask_after("3", 0), "........x..."), "channel 0 is the lowest in frequency");
    ok(!strcmp(mask_after("0,2:4,6:11:5", 1), "x.xxx.x....x"), "ranges and steps");
    ok(!strcmp(mask_after("", 1), "............"), "an empty list");
    ok(!strcmp(mask_after(":2,10:", 1), "xxx.......xx"), "bounds left out");
    ok(!strcmp(mask_after("::5", 1), "x....x....x."), "both, with a step");
    ok(!strcmp(mask_after("99999999999999999999", 1), "error"), "a number beyond all bounds");
    ok(!strcmp(mask_after("1:11:99999999999999999999", 1), ".x.........."),
       "a step beyond all bounds");
    ok(!strcmp(mask_after("12", 1), "error") && strstr(err.msg, "'12'") && strstr(err.msg, "11"),
       "a channel beyond the band: %s", err.msg);
    ok(!strcmp(mask_after("5:3", 1), "error"), "a range backwards");
    ok(!strcmp(mask_after("1:2:0", 1), "error"), "a step of 0");
    ok(!strcmp(mask_after("1:2:3:4", 1), "error"), "too many colons");
    ok(!strcmp(mask_after("/no/such/file", 1), "error") && err.code == PSR_EIO, "no such file");
    scratch_write_text(path, "# bad\n3 , 5:6 # why\n\n10\n");
    ok(!strcmp(mask_after(path, 1), "...x.xx...x."), "a file with comments");
    scratch_write_text(path, "3\nx\n");
    ok(!strcmp(mask_after(path, 1), "error") && err.code == PSR_EFORMAT, "junk in a file");
    write_long_line(path);
    ok(!strcmp(mask_after(path, 1), "error") && err.code == PSR_EFORMAT, "%s", err.msg);
}

/* Of 16 MiB a list is read, which ends in a channel; what is longer is not, whatever is in it. */
static void test_length(const char *path)
{
    enum { MOST = 1 << 24, LINE = 1024 };
    char *text = malloc(MOST + 1);
    memset(text, ' ', MOST + 1);
    for (size_t i = LINE - 1; i < MOST; i += LINE)
        text[i] = '\n';
    text[MOST - LINE] = '3';
    scratch_write(path, text, MOST);
    ok(!strcmp(mask_after(path, 1), "...x........"), "a list of 16 MiB");
    scratch_write(path, text, MOST + 1);
    ok(!strcmp(mask_after(path, 1), "error"), "a byte more: %s", err.msg);
    free(text);
}

static void test_dms(const char *path)
{
    double *dm;
    size_t n;
    scratch_write_text(path, "# DMs\n10.5 a pulsar\n\n3\n475.25,x\n");
    ok(psr_dms_read(path, &dm, &n, &err) == PSR_OK && n == 3 && dm[0] == 10.5 && dm[1] == 3 &&
           dm[2] == 475.25,
       "DMs from a file, in its order");
    free(dm);
    scratch_write_text(path, "10\n-3\n");
    ok(psr_dms_read(path, &dm, &n, &err) == PSR_EFORMAT && strstr(err.msg, "line 2") && !dm,
       "a negative DM: %s", err.msg);
    scratch_write_text(path, "10 pulsar 1\n20, 30\n");
    ok(psr_dms_read(path, &dm, &n, &err) == PSR_EFORMAT && !dm &&
           strstr(err.msg, "line 2: DM: 30 follows 20, must be one DM a line"),
       "two DMs in a line: %s", err.msg);
    scratch_write_text(path, "# none\n");
    ok(psr_dms_read(path, &dm, &n, &err) == PSR_EFORMAT, "no DMs at all");
    write_long_line(path);
    ok(psr_dms_read(path, &dm, &n, &err) == PSR_EFORMAT && strstr(err.msg, "longer than"), "%s",
       err.msg);
    ok(psr_dms_read("/no/such/file", &dm, &n, &err) == PSR_EIO, "no such file");
    ok(psr_dms_grid(40, 7, 3, &dm, &err) == PSR_OK && dm[2] == 54, "an even grid");
    free(dm);
}

int main(void)
{
    scratch_make();
    test_channels(scratch("list"));
    test_length(scratch("list"));
    test_dms(scratch("list"));
    return done_testing();
}
