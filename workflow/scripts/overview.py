"""The page over all observations, the list of all their candidates, their summaries in one file, and a table of those that could not be searched."""
import csv
import json
import os
import subprocess


def read_results(results, inspected):
    """Summaries by name, in the order of the table: of psrsearch, or what search.py wrote, or what inspect.py found."""
    found = {}
    with open(inspected, newline="", encoding="utf-8", errors="replace") as table:
        for row in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["problem"]:
                found[row["name"]] = {"failed": row["problem"]}
                continue
            path = os.path.join(results, row["name"], "search.json")
            with open(path, encoding="utf-8", errors="replace") as result:
                try:
                    found[row["name"]] = dict(json.load(result))
                except (TypeError, ValueError) as error:
                    found[row["name"]] = {"failed": f"{path}: {error}"}
    return found


def main():
    results = snakemake.params.results
    found = read_results(results, snakemake.input.inspected)
    with open(snakemake.output.searches, "w", encoding="utf-8") as to:
        for name, result in found.items():
            print(json.dumps({"name": name, **result}), file=to)
    with open(snakemake.output.failed, "w", encoding="utf-8") as to:
        print("name\tproblem", file=to)
        for name, result in found.items():
            if "failed" in result:
                print(name, " ".join(result["failed"].split()), sep="\t", file=to)
    # From its own folder, so that the links of the page are right wherever that is moved.
    command = ["psrreport", "-q", "-overview", "-o", "report.html", "-csv", "candidates.csv", "-list", "-"]
    with open(snakemake.log[0], "w") as log:
        subprocess.run(command, cwd=results, input="\n".join(found) + "\n", text=True, stderr=log, check=True)


main()
