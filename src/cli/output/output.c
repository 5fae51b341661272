/*
 * One tree, several formats. Everything is formatted before anything is written, so that a failure
 * leaves no partial output.
 */
#include "cli/output/output.h"

#include "base/core/limits.h"
#include "base/json/json.h"
#include "base/yaml/yaml.h"

/* More than any list of our clusters. */
#define OUTPUT_MAX (1024UL * MIB)

static int json_text(struct buf *text, const struct json *tree, struct error *err)
{
	static const struct json_style style = { .indent = 4 };

	(void)json_print(text, tree, &style);
	(void)buf_addc(text, '\n');
	if (text->overflow)
		return error_set(err, ERR_TOO_LARGE, "the output exceeds %lu MiB",
				 OUTPUT_MAX / MIB);
	return 0;
}

int output_tree(struct cli *cli, const char *format, const struct json *tree, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OUTPUT_MAX);
	int r;

	if (strcmp(format, "yaml") == 0)
		r = yaml_print(&text, tree, NULL, err);
	else
		r = json_text(&text, tree, err);
	if (r < 0)
		return r;
	(void)fwrite(text.p, 1, text.n, cli->out);
	return 0;
}

void output_table(struct cli *cli, struct str lines, bool headed)
{
	if (headed && cli->out_colour) {
		size_t n = (size_t)str_chr(lines, '\n');

		(void)fprintf(cli->out, "\033[1m%.*s\033[0m", (int)n, lines.p);
		lines = str_skip(lines, n);
	}
	(void)fwrite(lines.p, 1, lines.n, cli->out);
}
