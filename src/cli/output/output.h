/*
 * output - prints values in the format that --output names.
 */
#ifndef CLI_OUTPUT_OUTPUT_H
#define CLI_OUTPUT_OUTPUT_H

#include "cli/program/clean.h"
#include "cli/program/cli.h"

struct json;

/* Prints the tree as "json" (indented) or "yaml", in kubectl's layout. */
int output_tree(struct cli *cli, const char *format, const struct json *tree, struct error *err);

/* Prints lines. `headed`: the first one has the column names, and is bold on a terminal. */
void output_table(struct cli *cli, struct str lines, bool headed);

#endif
