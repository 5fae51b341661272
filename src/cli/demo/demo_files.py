"""demo_files.py OUTPUT FILE ..: makes text files a table of C, as cli/demo/demo_files.h declares it."""
import os
import sys


def quoted(line):
    return '"' + line.rstrip("\n").replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '\\n"'


def main(output, *sources):
    with open(output, "w", encoding="utf-8") as out:
        out.write('#include "cli/demo/demo_files.h"\n\nconst struct demo_file demo_files[] = {\n')
        for source in sorted(sources, key=os.path.basename):
            with open(source, encoding="utf-8") as f:
                lines = "\n\t  ".join(map(quoted, f))
            out.write('\t{ "%s",\n\t  %s },\n' % (os.path.basename(source), lines))
        out.write("\t{ 0 },\n};\n")


main(*sys.argv[1:])
