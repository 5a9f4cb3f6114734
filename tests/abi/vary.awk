# Prints a header as another version of the library has it: structs that carry their size lack their last field
# (-v version=older), or have one more (-v version=newer).
BEGIN { RS = "\001" }

function without_comments(text,    out, at, end)
{
    while ((at = index(text, "/*"))) {
        out = out substr(text, 1, at - 1)
        text = substr(text, at + 2)
        end = index(text, "*/")
        text = substr(text, end + 2)
    }
    return out text
}

function other_version(body,    n, part, k, out)
{
    if (version == "newer")
        return body "long long added[3];\n"
    n = split(body, part, ";")
    for (k = 1; k < n - 1; k++)
        out = out part[k] ";"
    return out "\n"
}

{
    text = without_comments($0)
    while (match(text, /struct psr_[a-z0-9_]+ *\{[^}]*\};/)) {
        printf "%s", substr(text, 1, RSTART - 1)
        struct = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        open = index(struct, "{")
        body = substr(struct, open + 1, length(struct) - open - 2)
        if (body ~ /^[ \n]*size_t size;/)
            body = other_version(body)
        printf "%s%s};", substr(struct, 1, open), body
    }
    printf "%s", text
}
