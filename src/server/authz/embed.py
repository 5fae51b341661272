"""embed.py NAME SOURCE OUTPUT [HEADER]: makes a text file a constant of C, declared in HEADER, without its comments."""
import sys


def quoted(line):
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '\\n"'


def main(name, source, output, header="server/authz/policy_table.h"):
    with open(source, encoding="utf-8") as f:
        lines = [line.rstrip("\n") for line in f]
    kept = [line for line in lines if line and not line.startswith("#")]
    with open(output, "w", encoding="utf-8") as f:
        f.write("/* Made of %s. */\n" % source.rsplit("/", 1)[-1])
        f.write('#include "%s"\n\n' % header)
        f.write("const char %s[] =\n\t%s;\n" % (name, "\n\t".join(map(quoted, kept))))


main(*sys.argv[1:])
