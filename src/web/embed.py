"""embed.py OUTPUT FILE ..: makes files constants of C, with their type, ETag and gzipped form, as web/web.h has them.

The same files give the same bytes, whenever and wherever they are made.
"""
import hashlib
import os
import sys
import zlib

TYPES = {
    "": "application/json",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def gzipped(data):
    z = zlib.compressobj(9, zlib.DEFLATED, 31)
    return z.compress(data) + z.flush()


def literal(data):
    """String literals of 64 bytes; octal escapes have all their digits, so the next byte cannot join one."""
    lines = []
    for at in range(0, len(data), 64):
        piece = data[at:at + 64]
        lines.append("".join(
            chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else "\\%03o" % b for b in piece))
    return "\n\t".join('"%s"' % line for line in lines) or '""'


def row(path, f):
    name = os.path.basename(path)
    with open(path, "rb") as source:
        data = source.read()
    zipped = gzipped(data)
    f.write('\t{ .name = { "%s", %d },\n' % (name, len(name)))
    f.write('\t  .content_type = "%s",\n' % TYPES[os.path.splitext(name)[1]])
    f.write('\t  .etag = "\\"%s\\"",\n' % hashlib.sha256(data).hexdigest()[:32])
    f.write("\t  .bytes = { %s, %d },\n" % (literal(data), len(data)))
    if len(zipped) < len(data):
        f.write("\t  .zipped = { %s, %d },\n" % (literal(zipped), len(zipped)))
    f.write("\t},\n")


def main(output, *paths):
    with open(output, "w", encoding="ascii") as f:
        f.write("/* Made of the files of the page by embed.py. */\n")
        f.write('#include "web/web_impl.h"\n\n')
        f.write("const struct web_file web_files[] = {\n")
        for path in sorted(paths, key=os.path.basename):
            row(path, f)
        f.write("};\n\nconst size_t web_nfiles = %d;\n" % len(paths))


main(*sys.argv[1:])
