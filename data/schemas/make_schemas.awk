# Makes FOLDER/LIST.schema.json, a JSON Schema of a row, for each list of columns.txt.
# Usage: awk -v folder=FOLDER -f make_schemas.awk columns.txt
BEGIN {
    FS = " *[|] *"
    json["text"] = "\"string\""; json["texts"] = "\"array\", \"items\": {\"type\": \"string\"}"
    json["number"] = "\"number\""; json["integer"] = json["flag"] = "\"integer\""
    json["object"] = "\"object\""; json["objects"] = "\"array\", \"items\": {\"type\": \"object\"}"
}
/^#/ { next }
/^[a-z.]+ = / {
    name = $0; sub(/ = .*/, "", name)
    about[name] = $0; sub(/^[^=]*= /, "", about[name])
    next
}
{
    type = $3; empty = sub(/[?]$/, "", type)
    if (!(type in json) || NF != 5) { print FILENAME ": line " FNR ": not a column" > "/dev/stderr"; exit 1 }
    kind = json[type]
    if (empty) sub(/^"[a-z]+"/, "[&, \"null\"]", kind)
    if (type == "flag") kind = kind ", \"enum\": [0, 1]"
    row = "    \"" $2 "\": {\"type\": " kind ($4 == "" ? "" : ", \"unit\": \"" $4 "\"") ", \"description\": \"" $5 "\"}"
    n = split($1, lists, " ")
    for (i = 1; i <= n; i++) {
        optional = sub(/[*]$/, "", lists[i])
        name = lists[i]
        if (!(name in about)) { print FILENAME ": line " FNR ": no list " name > "/dev/stderr"; exit 1 }
        rows[name] = rows[name] (name in rows && rows[name] != "" ? ",\n" : "") row
        if (!optional) needed[name] = needed[name] (needed[name] == "" ? "" : ", ") "\"" $2 "\""
    }
}
END {
    for (name in rows) {
        file = folder "/" name ".schema.json"
        printf "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n  \"title\": \"%s\",\n  \"description\": \"%s\",\n" \
               "  \"type\": \"object\",\n  \"required\": [%s],\n  \"properties\": {\n%s\n  }\n}\n", name, about[name], needed[name], rows[name] > file
        close(file)
    }
}
