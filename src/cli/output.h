/*
 * output - values printed in the format that --output names.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "cli/cli.h"

struct json;

/* Prints the tree as "json" (indented) or "yaml", as kubectl lays them out. */
int output_tree(struct cli *cli, const char *format, const struct json *tree, struct error *err);

/* Prints lines; `headed`: the first one names columns, and is bold on a terminal. */
void output_table(struct cli *cli, struct str lines, bool headed);

/*
 * Appends text of somebody else's so that a terminal does nothing but show it. A control character
 * (C0, DEL, and C1 in UTF-8, which some terminals obey) becomes a space, the escape "^["; a byte
 * that is no UTF-8 becomes U+FFFD. Of tab and newline those stay that are in `keep`.
 */
void output_clean_text(struct buf *out, struct str text, const char *keep);

/* The same as one line: what follows a line's end is left out, and said so by "...". */
void output_clean(struct buf *out, struct str text);

#endif
